package docs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/examples/tutorials/05_kv-scheduler/descriptor/adapter"
	"github.com/tenuto-dev/tenuto/examples/tutorials/05_kv-scheduler/model"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Options of transactions, attached to the context as the predecessor has it, are those
// of Commit.
func TestContextWrappers(t *testing.T) {
	t.Parallel()
	s := kvscheduler.NewPlugin(kvscheduler.UseOutput(t.Output()))
	agenttest.Start(t, s)
	const good, bad = "/interface/good", "/interface/if1"
	err := s.RegisterKVDescriptor(adapter.NewInterfaceDescriptor(&adapter.InterfaceDescriptor{
		Name: "if", NBKeyPrefix: "/interface/", WithMetadata: true,
		KeySelector: func(key string) bool { return strings.HasPrefix(key, "/interface/") },
		Create: func(key string, value *model.Interface) (any, error) {
			if key == bad {
				return nil, errors.New("refused")
			}
			return value.Name, nil
		},
		Delete: func(string, *model.Interface, any) error { return nil },
	}))
	if err != nil {
		t.Fatal(err)
	}
	commit := func(ctx context.Context, keys ...string) (*kvs.RecordedTxn, error) {
		txn := s.StartNBTransaction()
		for _, key := range keys {
			txn.SetValue(key, &model.Interface{Name: key})
		}
		seq, err := txn.Commit(ctx)
		s.TransactionBarrier()
		return s.GetRecordedTransaction(seq), err
	}

	ctx := kvscheduler.WithDescription(kvscheduler.WithSimulation(kvscheduler.WithRevert(t.Context())), "example transaction")
	txn, err := commit(ctx, good, bad)
	if err == nil || txn == nil || !txn.Reverted || txn.Description != "example transaction" || !txn.WithSimulation {
		t.Fatalf("WithRevert, WithDescription, WithSimulation: %v, %+v", err, txn)
	}

	ctx = kvscheduler.WithRetry(t.Context(), time.Hour, 3, true) // the documents' order of arguments
	for name, ctx := range map[string]context.Context{
		"WithRetry": ctx, "WithRetryDefault": kvscheduler.WithRetryDefault(t.Context()), "WithRetryMaxCount": kvscheduler.WithRetryMaxCount(t.Context(), 2),
	} {
		if _, err := commit(ctx, bad); err == nil {
			t.Errorf("%s: no error", name)
		}
		if state := s.GetValueStatus(bad).GetValue().GetState(); state != pb.ValueState_RETRYING {
			t.Errorf("%s: the value is %v, expected RETRYING", name, state)
		}
	}
	if _, err := commit(kvscheduler.WithoutBlocking(t.Context()), bad); err != nil {
		t.Errorf("WithoutBlocking: %v", err)
	}
	txn, err = commit(kvscheduler.WithResync(t.Context(), kvs.FullResync, true), good)
	if err != nil || txn == nil || txn.ResyncType != kvs.FullResync {
		t.Errorf("WithResync: %v, %+v", err, txn)
	}
}
