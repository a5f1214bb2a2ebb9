package kvscheduler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// stuck is a scheduler with a transaction that hangs in Create of slow/1 until
// release is called.
func stuck(t *testing.T) (s api.KVScheduler, sb *kvstest.MockSB, release func()) {
	t.Helper()
	sb = kvstest.NewMockSB()
	s, _ = kvstest.NewScheduler(t, kvstest.NewClock())
	entered, gate := make(chan struct{}), make(chan struct{})
	slow := sb.Descriptor("slow", "slow/")
	create := slow.Create
	slow.Create = func(key string, v proto.Message) (api.Metadata, error) {
		close(entered)
		<-gate
		return create(key, v)
	}
	if err := s.RegisterKVDescriptor(slow, sb.Descriptor("tap", "tap/"), sb.Descriptor("link", "link/", kvstest.Obtained())); err != nil {
		t.Fatal(err)
	}
	if err := commit(t, s, map[string]*model.Item{"tap/1": {Value: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := commit(t, s, map[string]*model.Item{"slow/1": {}, "tap/2": {Value: 2}}, api.WithoutBlocking()); err != nil {
		t.Fatal(err)
	}
	<-entered
	release = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(release)
	return s, sb, release
}

// Trap: looking at the state must not wait for the running transaction, let
// alone deadlock with it.
func TestReadsDuringTransaction(t *testing.T) {
	t.Parallel()
	s, _, release := stuck(t)
	if got := s.GetValueStatus("tap/1").GetValue().GetState().String(); got != "CONFIGURED" {
		t.Errorf("status of tap/1 is %s", got)
	}
	if len(s.ListValueStatus("")) == 0 || len(s.GraphSnapshot()) == 0 || s.Explain("tap/1") == nil {
		t.Error("nothing to see")
	}
	for _, view := range []api.View{api.NBView, api.CachedView} {
		if kvs, err := s.DumpValuesByDescriptor("tap", view); err != nil || len(kvs) == 0 {
			t.Errorf("dump %s: %v, %v", view, kvs, err)
		}
	}
	if txn := s.GetRecordedTransaction(1); txn == nil || !txn.PreRecord || len(txn.Planned) != 2 {
		t.Errorf("the running transaction is not in the history with its plan: %+v", txn)
	}
	if err := s.ValidateSemantically([]proto.Message{&model.Item{Invalid: true}}); err == nil {
		t.Error("an invalid message was found valid")
	}
	if err := s.PushSBNotification(api.KVWithMetadata{Key: "link/1", Value: &model.Item{}}); err != nil {
		t.Errorf("notification: %v", err)
	}
	release()
	s.TransactionBarrier()
	if got := s.GetValueStatus("link/1").GetValue().GetState().String(); got != "OBTAINED" {
		t.Errorf("status of link/1 is %s", got)
	}
}

// Trap: the barrier covers notifications that were queued before it.
func TestBarrierCoversNotifications(t *testing.T) {
	t.Parallel()
	s, _, release := stuck(t)
	for i := range 200 {
		if err := s.PushSBNotification(api.KVWithMetadata{Key: fmt.Sprint("link/", i), Value: &model.Item{}}); err != nil {
			t.Fatal(err)
		}
	}
	release()
	s.TransactionBarrier()
	if n := len(s.ListValueStatus("link/")); n != 200 {
		t.Errorf("%d of 200 notifications were processed before the barrier", n)
	}
}

// Canceled in the queue, nothing of a transaction happens, and its place in
// the queue is free.
func TestCanceledInQueue(t *testing.T) {
	t.Parallel()
	s, sb, release := stuck(t)
	reason := errors.New("changed my mind")
	for range 1000 { // more than fit into the queue
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Microsecond, func() { cancel(reason) })
		seq, err := s.StartNBTransaction().SetValue("tap/3", &model.Item{}).Commit(ctx)
		if !errors.Is(err, api.ErrTxnCanceled) || !errors.Is(err, reason) || seq != api.NoSeqNum {
			t.Fatalf("got %v, %v", seq, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.StartNBTransaction().SetValue("tap/3", &model.Item{}).Plan(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a plan that no client waits for: %v", err)
	}
	release()
	s.TransactionBarrier()
	if sb.Get("tap/3") != nil || len(s.GetTransactionHistory(time.Time{}, time.Time{})) != 2 {
		t.Error("the transaction was executed")
	}
}

// Once a transaction runs the caller's context ends the waiting only.
func TestCanceledWaiting(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	s, _ := kvstest.NewScheduler(t, kvstest.NewClock())
	entered, gate := make(chan struct{}), make(chan struct{})
	tap := sb.Descriptor("tap", "tap/")
	create := tap.Create
	tap.Create = func(key string, v proto.Message) (api.Metadata, error) {
		close(entered)
		<-gate
		return create(key, v)
	}
	if err := s.RegisterKVDescriptor(tap); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	_, err := s.StartNBTransaction().SetValue("tap/1", &model.Item{}).Commit(ctx)
	if !errors.Is(err, api.ErrTxnWaitCanceled) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err != nil && strings.Contains(err.Error(), "not started") {
		t.Errorf("the error says that nothing was started: %v", err)
	}
	close(gate)
	s.TransactionBarrier()
	if sb.Get("tap/1") == nil {
		t.Error("the transaction was not executed")
	}
}

// The queue is bounded: without blocking a commit is refused, and nothing is
// dropped.
func TestFullQueue(t *testing.T) {
	t.Parallel()
	s, _, release := stuck(t)
	accepted := 0
	var err error
	for i := range 10_000 {
		if err = commit(t, s, map[string]*model.Item{fmt.Sprint("tap/q", i): {}}, api.WithoutBlocking()); err != nil {
			break
		}
		accepted++
	}
	if !errors.Is(err, api.ErrTxnQueueFull) {
		t.Errorf("got %v after %d transactions", err, accepted)
	}
	release()
	s.TransactionBarrier()
	if n := len(s.ListValueStatus("tap/q")); n != accepted {
		t.Errorf("%d of %d transactions were executed", n, accepted)
	}
}

func TestClosedScheduler(t *testing.T) {
	t.Parallel()
	s, stop := kvstest.NewScheduler(t, nil)
	stop()
	err := commit(t, s, map[string]*model.Item{"tap/1": {}})
	var txnErr *api.TransactionError
	if !errors.As(err, &txnErr) || !errors.Is(txnErr.GetTxnInitError(), api.ErrClosedScheduler) {
		t.Errorf("commit: %v", err)
	}
	if err := s.PushSBNotification(api.KVWithMetadata{Key: "link/1"}); !errors.Is(err, api.ErrClosedScheduler) {
		t.Errorf("notification: %v", err)
	}
	s.TransactionBarrier() // returns
}

// The plan is printed before it is executed, so that it survives a crash.
func TestPlanIsPrintedFirst(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	scheduler := kvscheduler.NewPlugin(kvscheduler.UseOutput(&out))
	agenttest.Start(t, scheduler)
	sb := kvstest.NewMockSB()
	d := sb.Descriptor("tap", "tap/")
	var before string
	d.Create = func(string, proto.Message) (api.Metadata, error) {
		before = out.String()
		return nil, nil
	}
	if err := scheduler.RegisterKVDescriptor(d); err != nil {
		t.Fatal(err)
	}
	if err := commit(t, scheduler, map[string]*model.Item{"tap/1": {Value: 7}}, api.WithSimulation(), api.WithDescription("printed")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| Transaction #0 ", "- Description: printed", "* planned operations:", "1. CREATE:", "{ value:7 }"} {
		if !strings.Contains(before, want) {
			t.Errorf("before the operation the log lacks %q:\n%s", want, before)
		}
	}
	if strings.Contains(before, "executed") || !strings.Contains(out.String(), "* executed operations (") {
		t.Errorf("the result is not printed after the operation:\n%s", &out)
	}
}

// Two agents in one process have schedulers of their own.
func TestTwoAgents(t *testing.T) {
	t.Parallel()
	var schedulers [2]*kvscheduler.Scheduler
	for i := range schedulers {
		schedulers[i] = kvscheduler.NewPlugin(kvscheduler.UseOutput(&bytes.Buffer{}))
		agenttest.Start(t, schedulers[i])
		if err := schedulers[i].RegisterKVDescriptor(kvstest.NewMockSB().Descriptor("tap", "tap/")); err != nil {
			t.Fatal(err)
		}
	}
	if err := commit(t, schedulers[0], map[string]*model.Item{"tap/1": {}}); err != nil {
		t.Fatal(err)
	}
	if n := len(schedulers[1].ListValueStatus("")); n != 0 {
		t.Errorf("the other scheduler has %d values", n)
	}
}

// A descriptor that is broken is refused with a reason for its author, and the
// good ones of the same call are registered.
func TestRegistrationRefusals(t *testing.T) {
	t.Parallel()
	s, _ := kvstest.NewScheduler(t, nil)
	sb := kvstest.NewMockSB()
	noDelete, overlap, cycle := sb.Descriptor("no-delete", "a/"), sb.Descriptor("overlap", "good/"), sb.Descriptor("self", "c/", kvstest.After("self"))
	noDelete.Delete = nil
	err := s.RegisterKVDescriptor(sb.Descriptor("good", "good/"), noDelete, overlap, cycle, &api.KVDescriptor{}, nil)
	for _, want := range []string{`"no-delete": Create without Delete`, "overlap", "good/", `"self": RetrieveDependencies name the descriptor itself`,
		"without a Name", "is nil"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	if got := s.GetRegisteredNBKeyPrefixes(); len(got) != 1 || got[0] != "good/" {
		t.Errorf("registered prefixes %q", got)
	}
	if err := s.RegisterKVDescriptor(sb.Descriptor("good", "x/")); !errors.Is(err, api.ErrDescriptorExists) {
		t.Errorf("the same name again: %v", err)
	}
	watch, err := s.WatchNBKeyPrefixRegistration("late/")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RegisterKVDescriptor(sb.Descriptor("late", "late/")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-watch:
	case <-time.After(2 * time.Minute):
		t.Error("the registration was not told")
	}
	if _, err := s.WatchNBKeyPrefixRegistration("late/"); !errors.Is(err, api.ErrDescriptorExists) {
		t.Errorf("watch of a registered prefix: %v", err)
	}
}

// Trap: a property that is removed and made again waits for nothing.
func TestPlanOfMovingProperty(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	s, _ := kvstest.NewScheduler(t, kvstest.NewClock())
	if err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/"), sb.Descriptor("has", "has-", kvstest.Property()), sb.Descriptor("address", "address/", kvstest.Derived())); err != nil {
		t.Fatal(err)
	}
	tap := func(address string) *model.Item {
		return &model.Item{Derived: []*model.Derived{
			{Key: "address/" + address, Item: &model.Item{}},
			{Key: "has-address", Item: &model.Item{AnyOf: []string{"address/"}}},
		}}
	}
	if err := commit(t, s, map[string]*model.Item{"tap/1": tap("1"), "tap/2": {Deps: []string{"has-address"}}}); err != nil {
		t.Fatal(err)
	}
	plan, err := s.StartNBTransaction().SetValue("tap/1", tap("2")).Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Changes()) == 0 || len(plan.Reasons) > 0 {
		t.Errorf("changes %v, reasons %v", plan.Changes(), plan.Reasons)
	}
}

// A plan names the changed fields that force the re-creation of a value, and no field of a
// value that follows another one.
func TestPlanNamesForcingFields(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	s, _ := kvstest.NewScheduler(t, kvstest.NewClock())
	if err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/"), sb.Descriptor("bd", "bd/", kvstest.WithoutUpdate())); err != nil {
		t.Fatal(err)
	}
	if err := commit(t, s, map[string]*model.Item{"tap/1": {Value: 1}, "tap/2": {Value: 1}, "bd/1": {Value: 1}, "tap/3": {Deps: []string{"bd/1"}}}); err != nil {
		t.Fatal(err)
	}
	plan, err := s.StartNBTransaction().SetValue("tap/1", &model.Item{Value: 2, Recreate: true, Note: "x"}).
		SetValue("tap/2", &model.Item{Value: 2}).SetValue("bd/1", &model.Item{Value: 2, Note: "x"}).Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(plan.Forced); got != "map[bd/1:[note value] tap/1:[recreate]]" {
		t.Errorf("forced %s", got)
	}
	plan.Steps(func(step api.PlanStep) {
		if recreate := step.Kind == api.StepRecreate; step.Forces("value") != (step.Op.Key == "bd/1") || recreate != (step.Op.Key == "bd/1" || step.Op.Key == "tap/1") {
			t.Errorf("%s %s forced by %q", step.Kind, step.Op.Key, step.Forced)
		}
	}, func(api.PlanReason) {})
}
