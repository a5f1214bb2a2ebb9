package record_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; got:\n%s\nwant:\n%s", file, got, want)
	}
}

var start = time.Date(2026, 11, 21, 0, 37, 28, 383_000_000, time.UTC)

const (
	bdKey      = "config/vpp/l2/v2/bridge-domain/bd1"
	bindingKey = "vpp/bd/bd1/interface/if1"
	fibKey     = "config/vpp/l2/v2/fib/bd1/mac/62:89:C6:A3:6D:5C"
)

func bd() proto.Message {
	return &l2.BridgeDomain{Name: "bd1", Interfaces: []*l2.BridgeDomain_Interface{{Name: "if1"}}}
}

func fib() proto.Message {
	return &l2.FIBEntry{PhysAddress: "62:89:C6:A3:6D:5C", BridgeDomain: "bd1", OutgoingInterface: "if1"}
}

// bdTxn is transaction 4 of the samples: a bridge domain whose interface is
// missing.
func bdTxn() *api.RecordedTxn {
	ops := []api.RecordedTxnOp{
		{Operation: pb.TxnOperation_CREATE, Key: bdKey, NewValue: bd(), NewState: pb.ValueState_CONFIGURED},
		{Operation: pb.TxnOperation_CREATE, Key: bindingKey, NewValue: &l2.BridgeDomain_Interface{Name: "if1"},
			NewState: pb.ValueState_PENDING, NOOP: true, IsDerived: true},
	}
	return &api.RecordedTxn{
		Start: start, Stop: start.Add(17 * time.Millisecond), SeqNum: 4, TxnType: api.NBTransaction,
		Values:  []api.RecordedKVPair{{Key: bdKey, Value: bd(), Origin: api.FromNB}},
		Planned: ops, Executed: ops,
	}
}

// failedTxn holds every kind of line: a resync with a description, a change, a
// deletion, errors, a revert.
func failedTxn() *api.RecordedTxn {
	longer := &l2.BridgeDomain{Name: "bd1", MacAge: 5}
	return &api.RecordedTxn{
		Start: start, Stop: start.Add(1234567 * time.Nanosecond), SeqNum: 12, TxnType: api.NBTransaction,
		ResyncType: api.FullResync, Description: "example\ntransaction", WithSimulation: true, Reverted: true,
		Values: []api.RecordedKVPair{
			{Key: bdKey, Value: longer}, {Key: "vpp/interface/if1/link-state/UP", Value: &emptypb.Empty{}}, {Key: fibKey},
		},
		Planned: []api.RecordedTxnOp{{Operation: pb.TxnOperation_UPDATE, Key: bdKey,
			PrevValue: bd(), PrevState: pb.ValueState_CONFIGURED, NewValue: longer, NewState: pb.ValueState_CONFIGURED}},
		Executed: []api.RecordedTxnOp{
			{Operation: pb.TxnOperation_UPDATE, Key: bdKey, PrevValue: bd(), PrevState: pb.ValueState_FAILED,
				PrevErrMsg: "timeout", NewValue: longer, NewState: pb.ValueState_CONFIGURED},
			{Operation: pb.TxnOperation_DELETE, Key: fibKey, PrevValue: fib(), PrevState: pb.ValueState_CONFIGURED,
				NewState: pb.ValueState_FAILED, NewErrMsg: "no such entry\nno such domain"},
			{Operation: pb.TxnOperation_CREATE, Key: bdKey, NewValue: bd(), PrevState: pb.ValueState_CONFIGURED,
				NewState: pb.ValueState_CONFIGURED, IsRevert: true, IsRecreate: true},
		},
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	retry := &api.RecordedTxn{SeqNum: 13, TxnType: api.RetryFailedOps, RetryForTxn: 12, RetryAttempt: 2,
		Start: start, Stop: start.Add(2 * time.Second)}
	running := bdTxn()
	running.PreRecord, running.Executed = true, nil
	for name, tc := range map[string]struct {
		txn  *api.RecordedTxn
		opts record.FormatOptions
	}{
		"plain.txt":   {bdTxn(), record.FormatOptions{}},
		"box.txt":     {failedTxn(), record.FormatOptions{Box: true}},
		"cut.txt":     {failedTxn(), record.FormatOptions{Box: true, MaxItems: 1}},
		"retry.txt":   {retry, record.FormatOptions{Box: true}},
		"running.txt": {running, record.FormatOptions{Planned: true}},
	} {
		var b bytes.Buffer
		if err := record.Format(&b, tc.txn, tc.opts); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

// Printing in two steps has the same output as printing at once.
func TestFormatInParts(t *testing.T) {
	t.Parallel()
	for _, txn := range []*api.RecordedTxn{bdTxn(), failedTxn()} {
		var whole, parts bytes.Buffer
		if err := record.Format(&whole, txn, record.FormatOptions{Box: true}); err != nil {
			t.Fatal(err)
		}
		for _, part := range []record.Part{record.PartPlan, record.PartResult} {
			if err := record.Format(&parts, txn, record.FormatOptions{Part: part, Box: true}); err != nil {
				t.Fatal(err)
			}
		}
		if whole.String() != parts.String() {
			t.Errorf("whole:\n%s\nparts:\n%s", &whole, &parts)
		}
	}
}

func TestValueText(t *testing.T) {
	t.Parallel()
	var typedNil *l2.FIBEntry
	for want, v := range map[string]proto.Message{
		"<NIL>":   typedNil,
		"<EMPTY>": &l2.FIBEntry{},
		`{ name:"a  b\"  c" interfaces:{name:"x"} interfaces:{name:"y"} }`: &l2.BridgeDomain{
			Name: `a  b"  c`, Interfaces: []*l2.BridgeDomain_Interface{{Name: "x"}, {Name: "y"}}},
	} {
		if got := record.ValueText(v); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// The history keeps the JSON form that clients of the predecessor read.
func TestJSON(t *testing.T) {
	t.Parallel()
	txn := &api.RecordedTxn{
		Start: start, Stop: start.Add(time.Millisecond), SeqNum: 3, TxnType: api.NBTransaction,
		Values: []api.RecordedKVPair{{Key: fibKey, Value: fib(), Origin: api.FromNB}},
		Executed: []api.RecordedTxnOp{{Operation: pb.TxnOperation_CREATE, Key: fibKey, NewValue: fib(),
			NewState: pb.ValueState_PENDING, NOOP: true}},
	}
	got, err := json.MarshalIndent(txn, "", "    ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "txn.json", append(got, '\n'))
}

func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	for _, txn := range []*api.RecordedTxn{bdTxn(), failedTxn()} {
		data, err := json.Marshal(txn)
		if err != nil {
			t.Fatal(err)
		}
		var back api.RecordedTxn
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		var want, got bytes.Buffer
		for b, txn := range map[*bytes.Buffer]*api.RecordedTxn{&want: txn, &got: &back} {
			if err := record.Format(b, txn, record.FormatOptions{Planned: true}); err != nil {
				t.Fatal(err)
			}
		}
		if want.String() != got.String() {
			t.Errorf("got:\n%s\nwant:\n%s", &got, &want)
		}
	}
	var v api.JSONValue
	if err := v.UnmarshalJSON([]byte(`{"ProtoMsgName":"no.such.Type","ProtoMsgData":{"a":1}}`)); err != nil {
		t.Error(err)
	}
	if got := record.ValueText(v.Message); got != `{ fields:{key:"a" value:{number_value:1}} }` {
		t.Errorf("unknown type: %s", got)
	}
}
