package restapi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

var start = time.Date(2026, 11, 21, 0, 37, 28, 0, time.UTC)

// TestMain makes the answers independent of the time zone of the machine.
func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// fake is a scheduler at rest: a bridge domain with a binding that waits for
// its interface, after three transactions.
type fake struct {
	api.DriftDetector
	api.OrphanFinder
	api.Inspector
	api.Browser
	api.Watcher
	history []*api.RecordedTxn
	// released are the keys of every request to release some.
	released [][]string
	commit   func(opts api.TxnOptions) (uint64, error)
}

func item(value int64) proto.Message { return &model.Item{Value: value} }

func newFake() *fake {
	op := func(o api.TxnOperation, key string, from, to proto.Message, before, after api.ValueState) api.RecordedTxnOp {
		rec := api.RecordedTxnOp{Operation: o, Key: key, PrevValue: from, NewValue: to, PrevState: before, NewState: after,
			NOOP: after == pb.ValueState_PENDING}
		rec.Ran(start, start.Add(2*time.Millisecond))
		return rec
	}
	const none, configured = pb.ValueState_NONEXISTENT, pb.ValueState_CONFIGURED
	txn := func(seq uint64, ops ...api.RecordedTxnOp) *api.RecordedTxn {
		return &api.RecordedTxn{SeqNum: seq, TxnType: api.NBTransaction, Start: at(10 * int(seq)), Stop: at(10*int(seq) + 1), Executed: ops}
	}
	return &fake{history: []*api.RecordedTxn{
		txn(0, op(pb.TxnOperation_CREATE, "bd/1", nil, item(1), none, configured),
			op(pb.TxnOperation_CREATE, "bd/1/if", nil, item(0), none, pb.ValueState_PENDING)),
		txn(1, op(pb.TxnOperation_CREATE, "gone", nil, item(7), none, configured)),
		txn(2, op(pb.TxnOperation_UPDATE, "bd/1", item(1), item(2), configured, configured),
			op(pb.TxnOperation_DELETE, "gone", item(7), nil, configured, pb.ValueState_REMOVED)),
	}}
}

// timed is a transaction with operations that wait for each other: an
// interface, two of three routes at once, and a failure.
func timed() *api.RecordedTxn {
	ms := func(n int) time.Time { return start.Add(time.Duration(n) * time.Millisecond) }
	op := func(key string, from, to int, after int32, why api.OpWait) api.RecordedTxnOp {
		rec := api.RecordedTxnOp{Operation: pb.TxnOperation_CREATE, Key: key, NewState: pb.ValueState_CONFIGURED,
			After: after, Waited: why}
		rec.Ran(ms(from), ms(to))
		return rec
	}
	failed := op("route/2", 60, 80, 3, api.OpWaitSlot)
	failed.NewState, failed.NewErrMsg = pb.ValueState_FAILED, "no such gateway"
	waits := api.RecordedTxnOp{Operation: pb.TxnOperation_CREATE, Key: "route/9", NewState: pb.ValueState_PENDING, NOOP: true}
	return &api.RecordedTxn{
		SeqNum: 3, TxnType: api.NBTransaction, Description: "three routes",
		Came: ms(-20), Turn: ms(-8), Queued: ms(0), Taken: ms(5), Prepared: ms(6), Start: ms(8), Begun: ms(9), Stop: ms(100),
		Executed: []api.RecordedTxnOp{
			op("if/1", 10, 30, 0, api.OpWaitNone), op("route/0", 31, 50, 1, api.OpWaitDependency), op("route/1", 31, 60, 1, api.OpWaitDependency),
			failed, waits, op("last", 90, 95, 4, api.OpWaitReplan), op("other", 12, 14, 0, api.OpWaitNone),
		},
	}
}

func (f *fake) Queue() api.QueueStatus {
	return api.QueueStatus{Length: 3, Capacity: 200, OldestAge: api.Seconds(1500 * time.Millisecond),
		Waiting: map[string]int{api.QueueNorthbound: 2, api.QueueNotifications: 1, api.QueueRetries: 0},
		Running: &api.RunningTxn{Class: api.QueueNorthbound, Description: "PUT /configuration", For: api.Seconds(2 * time.Second)},
		Changes: &api.ChangesStatus{Capacity: 100, Waiting: 3, Clients: 2, Sources: map[string]int{"grpc": 2, "filedb": 1}, OldestAge: api.Seconds(time.Second), Most: "10.0.0.7:999", MostWaiting: 2,
			Running: &api.RunningChange{Source: "grpc", What: "PUT /configuration", For: api.Seconds(3 * time.Second)}, Refused: 7, Canceled: 1}}
}

func (f *fake) ValueTimes() map[string]time.Time { return map[string]time.Time{"bd/1": at(20)} }

func (f *fake) GraphSnapshot() []api.GraphNode {
	return []api.GraphNode{
		{Key: "bd/1", Label: "1", Descriptor: "bd", State: pb.ValueState_CONFIGURED, Exists: true, Value: item(2), LastTxn: 2,
			Origin: api.FromNB, Metadata: struct {
				Index int
				IPs   []string
			}{1, []string{"10.0.0.1/24"}},
			Targets: []api.GraphEdge{{Relation: api.RelationDerives, Label: "bd/1/if", Keys: []string{"bd/1/if"}, Satisfied: true}}},
		{Key: "bd/1/if", Label: "bd/1/if", Descriptor: "bd-if", Base: "bd/1", State: pb.ValueState_PENDING, Value: item(0),
			Targets: []api.GraphEdge{{Relation: api.RelationDependsOn, Label: "interface-exists", Keys: []string{"if/1"}}}},
	}
}

func (f *fake) ListDescriptors() []*api.KVDescriptor {
	return []*api.KVDescriptor{
		{Name: "bd", NBKeyPrefix: "bd/", KeySelector: func(k string) bool { return strings.Count(k, "/") == 1 },
			KeyLabel: func(k string) string { return strings.TrimPrefix(k, "bd/") },
			Retrieve: func([]api.KVWithMetadata) ([]api.KVWithMetadata, error) { return nil, nil },
			DerivedValues: func(k string, _ proto.Message) []api.KeyValuePair {
				return []api.KeyValuePair{{Key: k + "/if", Value: item(0)}}
			}},
		{Name: "bd-if", KeySelector: func(k string) bool { return strings.HasSuffix(k, "/if") },
			Dependencies: func(string, proto.Message) []api.Dependency {
				return []api.Dependency{{Label: "interface-exists", Key: "if/1"}}
			}},
	}
}

func (f *fake) GetTransactionHistory(since, until time.Time) (found []*api.RecordedTxn) {
	for _, txn := range f.history {
		if !txn.Start.Before(since) && (until.IsZero() || !txn.Start.After(until)) {
			found = append(found, txn)
		}
	}
	return found
}

func (f *fake) GetRecordedTransaction(seq uint64) *api.RecordedTxn {
	for _, txn := range append(slices.Clone(f.history), timed(), &api.RecordedTxn{SeqNum: 4, PreRecord: true}) {
		if txn.SeqNum == seq {
			return txn
		}
	}
	return nil
}

func (f *fake) statuses() []*api.BaseValueStatus {
	return []*api.BaseValueStatus{{
		Value: &api.ValueStatus{Key: "bd/1", State: pb.ValueState_CONFIGURED, LastOperation: pb.TxnOperation_CREATE},
		DerivedValues: []*api.ValueStatus{{Key: "bd/1/if", State: pb.ValueState_PENDING,
			LastOperation: pb.TxnOperation_CREATE, Details: []string{"interface-exists"}}},
	}}
}

func (f *fake) GetValueStatus(key string) *api.BaseValueStatus {
	if key == "bd/1" {
		return f.statuses()[0]
	}
	return &api.BaseValueStatus{Value: &api.ValueStatus{Key: key}}
}

func (f *fake) ListValueStatus(prefix string) []*api.BaseValueStatus {
	if strings.HasPrefix("bd/1", prefix) {
		return f.statuses()
	}
	return nil
}

func (f *fake) SummarizeValues(_ api.ValueFilter, worst int) api.StateSummary {
	pending := []*api.ValueStatus{f.statuses()[0].DerivedValues[0]}
	return api.StateSummary{
		Counts:   map[api.ValueState]int{pb.ValueState_CONFIGURED: 1, pb.ValueState_PENDING: 1},
		Troubles: 1, Worst: pending[:min(1, worst)],
	}
}

func (f *fake) DumpValuesByDescriptor(name string, view api.View) ([]api.KVWithMetadata, error) {
	if view == api.NBView {
		return nil, errors.New("dump failed")
	}
	return []api.KVWithMetadata{{Key: "bd/1", Value: item(2), Origin: api.FromNB, Metadata: map[string]int{"Index": 1}}}, nil
}

func (f *fake) DumpValuesByKeyPrefix(prefix string, view api.View) ([]api.KVWithMetadata, error) {
	return f.DumpValuesByDescriptor("bd", view)
}

func (f *fake) Explain(key string) *api.Explanation {
	if key != "bd/1/if" {
		return nil
	}
	return &api.Explanation{Key: key, State: pb.ValueState_PENDING, Since: at(1), Reason: "waits for interface-exists",
		Children: []*api.Explanation{{Key: "if/1", Label: "interface-exists"}}}
}

func (f *fake) StartNBTransaction() api.Txn { return fakeTxn{f} }

func (f *fake) Apply(context.Context, *api.Plan, ...api.TxnOption) (uint64, error) { return 0, nil }

type fakeTxn struct{ f *fake }

func (t fakeTxn) SetValue(string, proto.Message) api.Txn { return t }
func (t fakeTxn) Commit(_ context.Context, opts ...api.TxnOption) (uint64, error) {
	return t.f.commit(api.ApplyTxnOptions(opts))
}
func (t fakeTxn) Plan(context.Context, ...api.TxnOption) (*api.Plan, error) { return nil, nil }

func (f *fake) Suspects() []api.Suspect {
	return []api.Suspect{{Key: "tap/1", Southbound: "vpp", Operation: "Create", Crashes: []time.Time{at(1), at(2), at(3)}, Quarantined: true}}
}

func (f *fake) ReleaseQuarantined(_ context.Context, keys ...string) error {
	f.released = append(f.released, keys)
	if len(keys) > 0 && keys[0] != "tap/1" {
		return fmt.Errorf("%s: %w", keys[0], api.ErrNotQuarantined)
	}
	return nil
}

func (f *fake) Stats() record.Stats { return record.StatsOf(f.history) }
