package orchestrator_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

// A change that waits for confirmation keeps its ID over a restart. Only this ID confirms,
// extends or cancels it.
func TestCommitID(t *testing.T) {
	t.Parallel()
	m := &memory{}
	w := again(t, nil, m)
	w.waitSynced()
	w.push(orchestrator.GRPC, iface("a", 1))
	w.applyPlan(w.plan(items(iface("a", 2), iface("new", 1))), orchestrator.ApplyOptions{ConfirmTimeout: time.Hour, CommitID: "x"})
	w.stop()
	w = again(t, w.sb, m)
	w.waitSynced()
	if _, err := w.ConfirmCommit("y"); !errors.Is(err, orchestrator.ErrOtherCommit) {
		t.Errorf("confirm another: %v", err)
	}
	if err := w.CancelCommit(t.Context(), "y"); !errors.Is(err, orchestrator.ErrOtherCommit) {
		t.Errorf("cancel another: %v", err)
	}
	if err := w.ExtendCommit("X", time.Hour); !errors.Is(err, orchestrator.ErrOtherCommit) {
		t.Errorf("extend another: %v", err)
	}
	if err := w.ExtendCommit("x", 2*time.Hour); err != nil {
		t.Errorf("extend: %v", err)
	}
	w.stop()
	w = again(t, w.sb, m) // the extended one is persistent, too
	w.waitSynced()
	w.wantMTU("a", 2)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.CancelCommit(gone, "x"); err == nil {
		t.Error("canceled for a client that has disconnected")
	}
	w.wantMTU("a", 2)
	if err := w.CancelCommit(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	w.wantMTU("a", 1)
	w.wantMTU("new", -1)
	for _, err := range []error{w.CancelCommit(t.Context(), "x"), w.ExtendCommit("x", time.Hour)} {
		if !errors.Is(err, orchestrator.ErrNothingToConfirm) {
			t.Errorf("canceled: %v", err)
		}
	}
	w.applyPlan(w.plan(items(iface("a", 3))), orchestrator.ApplyOptions{ConfirmTimeout: time.Hour, CommitID: "z"})
	if _, err := w.ConfirmCommit("z"); err != nil {
		t.Errorf("confirm: %v", err)
	}
	w.applyPlan(w.plan(items(iface("a", 4))), orchestrator.ApplyOptions{ConfirmTimeout: time.Hour, CommitID: "z"})
	if err := w.ExtendCommit("z", time.Millisecond); err != nil {
		t.Errorf("shorten: %v", err)
	}
	until(t, "a is taken back", func() bool { return w.mtu("a") == 3 })
}

// A watch of items reports the keys of all changes, also of those that are undone.
func TestWatchItems(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.waitSynced()
	watch := w.WatchItems()
	key := func(m proto.Message) string {
		k, err := w.Models().KeyOf(m)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	taken := func(what string, names ...string) {
		t.Helper()
		<-watch.Changed()
		var want []string
		for _, name := range names {
			want = append(want, key(iface(name, 0).Val))
		}
		if got := watch.Take(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	w.push(orchestrator.GRPC, iface("b", 1))
	w.push(orchestrator.GRPC, iface("a", 1))
	w.push(orchestrator.GRPC, iface("b", 2))
	taken("three changes", "a", "b")
	if _, err := w.PushData(t.Context(), orchestrator.GRPC, items(iface("a", 1), iface("c", 1)), orchestrator.WithResync()); err != nil {
		t.Fatal(err)
	}
	taken("replaced", "b", "c")
	w.applyPlan(w.plan(items(iface("d", 1))), orchestrator.ApplyOptions{ConfirmTimeout: time.Hour, CommitID: "x"})
	taken("planned", "d")
	if err := w.CancelCommit(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	taken("canceled", "d")
	watch.Close()
	w.push(orchestrator.GRPC, iface("e", 1))
	if got := watch.Take(); len(got) > 0 {
		t.Errorf("closed: %v", got)
	}
}
