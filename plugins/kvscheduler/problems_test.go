package kvscheduler_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Values that are not in effect degrade the health of the agent, with their
// number, the first key and its error.
func TestProblemsAreDegraded(t *testing.T) {
	t.Parallel()
	reports := told{last: map[string]string{}}
	clock := kvstest.NewClock()
	s := kvscheduler.NewPlugin(kvscheduler.UseOutput(&bytes.Buffer{}), kvscheduler.UseClock(clock),
		kvscheduler.UseDeps(func(d *kvscheduler.Deps) { d.Health = reports }))
	agenttest.Start(t, s)
	sb := kvstest.NewMockSB()
	if err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/")); err != nil {
		t.Fatal(err)
	}
	expect := func(when, want string) {
		t.Helper()
		s.TransactionBarrier()
		if got := reports.last[kvscheduler.HealthValues]; got != want {
			t.Errorf("%s: got %q, expected %q", when, got, want)
		}
	}
	set := func(opts []api.TxnOption, items map[string]*model.Item) {
		t.Helper()
		txn := s.StartNBTransaction()
		for key, it := range items {
			if it == nil {
				txn.SetValue(key, nil)
			} else {
				txn.SetValue(key, it)
			}
		}
		_, _ = txn.Commit(t.Context(), opts...) // the health reports the failures
	}
	items := map[string]*model.Item{}
	for i := range 200 {
		items[fmt.Sprintf("tap/%03d", i)] = &model.Item{Value: 1}
		sb.Inject(kvstest.Fault{Key: fmt.Sprintf("tap/%03d", i), Op: pb.TxnOperation_CREATE, Times: 1})
	}
	items["tap/ok"] = &model.Item{}
	set(nil, items)
	expect("200 failed", "values with problems: 200 FAILED: the first is tap/000: injected failure of create tap/000")

	set([]api.TxnOption{api.WithRetryDefault()}, map[string]*model.Item{"tap/000": {Value: 1}})
	expect("one was fixed", "values with problems: 199 FAILED: the first is tap/001: injected failure of create tap/001")

	delete(items, "tap/ok")
	delete(items, "tap/007")
	for key := range items {
		items[key] = nil
	}
	set(nil, items)
	expect("one is left", "1 value is FAILED: tap/007: injected failure of create tap/007")

	set(nil, map[string]*model.Item{"other/1": {}, "tap/bad": {Invalid: true}})
	expect("others were added", "values with problems: 1 FAILED, 1 INVALID, 1 UNIMPLEMENTED: the first is tap/007: injected failure of create tap/007")
	set(nil, map[string]*model.Item{"other/1": nil, "tap/bad": nil, "tap/007": nil})
	expect("all were removed", "no value has a problem")
}

// A value is retried for as long as it is desired, at most a minute apart.
func TestRetriesDoNotEnd(t *testing.T) {
	t.Parallel()
	clock, sb, s := ticking(t)
	const failures = 50
	sb.Inject(kvstest.Fault{Key: "tap/1", Op: pb.TxnOperation_CREATE, Times: failures})
	txn := s.StartNBTransaction().SetValue("tap/1", &model.Item{Value: 1})
	if _, err := txn.Commit(t.Context(), api.WithRetryDefault()); err == nil {
		t.Fatal("no failure")
	}
	for i := 1; i <= failures; i++ {
		if got := s.GetValueStatus("tap/1").GetValue().GetState(); got != pb.ValueState_RETRYING {
			t.Fatalf("after %d retries: %v", i-1, got)
		}
		if ran := clock.Advance(time.Minute, s.TransactionBarrier); ran == 0 {
			t.Fatalf("no retry %d within a minute", i)
		}
		if got := s.GetValueStatus("tap/1").GetValue().GetState(); got == pb.ValueState_CONFIGURED {
			return // several retries fit into the first minutes
		}
	}
	t.Error("the value is not configured")
}

// A value that contradicts what it depends on is invalid, and tried again when that changes.
func TestContradictionIsInvalid(t *testing.T) {
	t.Parallel()
	clock, sb, s := ticking(t)
	sb.Inject(kvstest.Fault{
		Key: "tap/use", Op: pb.TxnOperation_CREATE, Times: 1,
		Err: api.Invalid(api.NewInvalidValueError(errors.New("tap/1 is of another kind"), "deps")),
	})
	set := func(key string, item *model.Item) error {
		_, err := s.StartNBTransaction().SetValue(key, item).Commit(t.Context(), api.WithRetryDefault())
		return err
	}
	for key, item := range map[string]*model.Item{"tap/use": {Deps: []string{"tap/1"}}, "tap/2": {}} {
		if err := set(key, item); err != nil {
			t.Fatal(err)
		}
	}
	if err := set("tap/1", &model.Item{Value: 1, Recreate: true}); err == nil {
		t.Fatal("no failure")
	}
	clock.Advance(time.Hour, s.TransactionBarrier)
	got := s.GetValueStatus("tap/use").GetValue()
	if got.GetState() != pb.ValueState_INVALID || got.GetError() != "deps: tap/1 is of another kind" || !slices.Equal(got.GetDetails(), []string{"deps"}) {
		t.Errorf("status %v", got)
	}
	if err := set("tap/1", &model.Item{Value: 2, Recreate: true}); err != nil {
		t.Fatal(err)
	}
	if got := s.GetValueStatus("tap/use").GetValue(); got.GetState() != pb.ValueState_CONFIGURED {
		t.Errorf("after the change of what it depends on: %v", got)
	}
}

// A limit that a client asks for is honored.
func TestRetriesEndAtTheLimit(t *testing.T) {
	t.Parallel()
	clock, sb, s := ticking(t)
	sb.Inject(kvstest.Fault{Key: "tap/1", Op: pb.TxnOperation_CREATE})
	txn := s.StartNBTransaction().SetValue("tap/1", &model.Item{Value: 1})
	if _, err := txn.Commit(t.Context(), api.WithRetryMaxCount(2)); err == nil {
		t.Fatal("no failure")
	}
	clock.Advance(time.Hour, s.TransactionBarrier)
	if got := s.GetValueStatus("tap/1").GetValue().GetState(); got != pb.ValueState_FAILED {
		t.Errorf("after the last retry: %v", got)
	}
}
