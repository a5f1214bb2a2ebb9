package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// life is one process lifetime of a scheduler over a southbound that does not report
// which process created a value.
type life struct {
	t     *testing.T
	c     *engine.Engine
	clock *manualClock
	stop  func()
}

func live(t *testing.T, w *world, journal engine.Journal) *life {
	t.Helper()
	return begin(t, w, engine.Options{Clock: &manualClock{now: time.Unix(1e9, 0)}, Record: true, Journal: journal})
}

// begin starts a life with these options; opts.Clock must be a manualClock.
func begin(t *testing.T, w *world, opts engine.Options) *life {
	t.Helper()
	l := &life{t: t, clock: opts.Clock.(*manualClock), c: engine.New(opts)}
	if err := l.c.RegisterKVDescriptor(w.descriptors()...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); l.c.Run(ctx) }()
	l.stop = func() { cancel(); <-done }
	t.Cleanup(l.stop)
	return l
}

func (l *life) full(values map[string]*model.Item) error {
	txn := l.c.StartNBTransaction()
	for key, it := range values {
		txn.SetValue(key, it)
	}
	_, err := txn.Commit(context.Background(), api.WithResync(api.FullResync, false))
	return err
}

func (l *life) set(key string, it *model.Item) {
	l.t.Helper()
	txn := l.c.StartNBTransaction()
	if it == nil {
		txn.SetValue(key, nil)
	} else {
		txn.SetValue(key, it)
	}
	if _, err := txn.Commit(context.Background()); err != nil {
		l.t.Fatal(err)
	}
}

// Abandoned at every operation, before and after its effect, the scheduler is
// followed by one that ends the work, touches nothing else, and leaves nothing
// behind.
func TestDeathAtEveryOperation(t *testing.T) {
	t.Parallel()
	before := map[string]*model.Item{
		"a/0": {Value: 1}, "a/1": {Value: 1, Deps: []string{"a/0"}}, "b/0": {Value: 1, Recreate: true}, "b/1": {Value: 3},
	}
	after := map[string]*model.Item{
		"a/0": {Value: 2}, "a/2": {Value: 1, Deps: []string{"b/0"}}, "b/0": {Value: 2}, "b/1": {Value: 3}, "b/2": {Value: 4},
	}
	calls := 0
	for _, marks := range []bool{true, false} {
		for _, asked := range []map[string]*model.Item{before, after} {
			for _, mode := range []string{"before", "after"} {
				for at := 1; dieAndLive(t, before, after, asked, at, mode, marks); at++ {
					calls++
				}
			}
		}
	}
	if calls < 40 {
		t.Errorf("the scheduler died %d times only", calls)
	}
}

// dieAndLive changes before to after, dies at an operation, and lives again to
// be asked for one of them.
func dieAndLive(t *testing.T, before, after, asked map[string]*model.Item, at int, mode string, marks bool) (died bool) {
	t.Helper()
	w, journal := newWorld(), kvstest.NewJournal()
	w.addForeign()
	w.mum = !marks
	one := live(t, w, journal)
	if err := one.full(before); err != nil {
		t.Fatal(err)
	}
	w.deathMode, w.dieAt, w.died = mode, at, journal.Freeze
	_ = one.full(after) // a dead process reports nothing
	one.stop()
	died, w.dieAt, w.dead = w.dead, 0, false
	journal.Thaw()
	w.ops = nil
	left := w.snapshot()
	two := live(t, w, journal)
	if err := two.full(asked); err != nil {
		t.Errorf("%s operation %d: %v", mode, at, err)
	}
	what := fmt.Sprintf("%s operation %d, asked for %v: left was %v", mode, at, asked, left)
	for _, problem := range w.problems {
		t.Errorf("%s: %s", what, problem)
	}
	for _, op := range w.ops {
		if strings.HasSuffix(op, "b/1") { // the same all the time
			t.Errorf("%s: %s", what, op)
		}
	}
	want := []string{"b/x", "c/x"}
	for key := range asked {
		want = append(want, key)
	}
	slices.Sort(want)
	got := w.snapshot()
	for _, key := range want {
		if _, ok := got[key]; !ok {
			t.Errorf("%s: %s is missing", what, key)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d values, expected %q", what, len(got), want)
	}
	w.ops = nil
	if err := two.full(asked); err != nil || len(w.ops) > 0 {
		t.Errorf("%s: second resync: %q, %v", what, w.ops, err)
	}
	return died
}

// Two writes for a transaction that makes something, one for one that only
// removes, none for one that does nothing.
func TestWritesOfATransaction(t *testing.T) {
	t.Parallel()
	w, journal := newWorld(), kvstest.NewJournal()
	l := live(t, w, journal)
	for _, step := range []struct {
		what   string
		do     func()
		writes int
	}{
		{"create", func() { l.set("a/0", &model.Item{Value: 1}) }, 2},
		{"the same", func() { l.set("a/0", &model.Item{Value: 1}) }, 0},
		{"an equivalent one", func() { l.set("a/0", &model.Item{Value: 1, Note: "x"}) }, 1},
		{"update", func() { l.set("a/0", &model.Item{Value: 2}) }, 2},
		{"re-create", func() { l.set("a/0", &model.Item{Value: 2, Recreate: true}) }, 2},
		{"pending", func() { l.set("a/1", &model.Item{Deps: []string{"n/0"}}) }, 0},
		{"invalid", func() { l.set("a/2", &model.Item{Value: 9}); l.fails("a/2", &model.Item{Invalid: true}) }, 2},
		{"delete", func() { l.set("a/0", nil) }, 2},
		{"resync", func() {
			if err := l.full(map[string]*model.Item{"a/2": {Value: 9}}); err != nil {
				t.Error(err)
			}
		}, 0},
	} {
		mark := journal.Writes()
		step.do()
		if got := journal.Writes() - mark; got != step.writes {
			t.Errorf("%s: %d writes, expected %d", step.what, got, step.writes)
		}
	}
}

func (l *life) fails(key string, it *model.Item) {
	l.t.Helper()
	txn := l.c.StartNBTransaction()
	if _, err := txn.SetValue(key, it).Commit(context.Background()); err == nil {
		l.t.Errorf("%s: expected an error", key)
	}
}

// While nothing can be written the scheduler works on; what it made meanwhile is
// on record as soon as something can.
func TestAJournalThatFails(t *testing.T) {
	t.Parallel()
	for _, next := range []string{"a transaction", "the timer"} {
		w, journal := newWorld(), kvstest.NewJournal()
		w.addForeign()
		l := live(t, w, journal)
		l.set("a/0", &model.Item{Value: 1})
		journal.Fail(errors.New("disk full"))
		l.set("a/1", &model.Item{Value: 1})
		l.set("a/0", nil)
		if got := journal.Keys(); !slices.Equal(got, []string{"a/0"}) {
			t.Errorf("while it fails %q are on record", got)
		}
		l.clock.fire()
		l.c.TransactionBarrier()
		journal.Fail(nil)
		want := []string{"a/1"}
		if next == "a transaction" {
			l.set("a/2", &model.Item{Value: 1})
			want = append(want, "a/2")
		} else {
			l.clock.fire()
			l.c.TransactionBarrier()
		}
		if got := journal.Keys(); !slices.Equal(got, want) {
			t.Errorf("after %s %q are on record, expected %q", next, got, want)
		}
		if l.clock.fire(); len(w.problems) > 0 {
			t.Error(w.problems)
		}
	}
}

// Of a plan so large that what it intends is written in parts, all is on record
// before it begins, and in the end also where a part could not be written.
func TestIntentsOfALargePlan(t *testing.T) {
	t.Parallel()
	const many = 1<<14 + 1000
	for _, part := range []int{0, 1, 2} { // that cannot be written
		w, journal := newWorld(), kvstest.NewJournal()
		l := live(t, w, &partly{Journal: journal, fails: part})
		values := make(map[string]*model.Item, many)
		for i := range many {
			values[fmt.Sprintf("a/%d", i)] = &model.Item{Value: 1}
		}
		before := -1
		w.fail = func(string, string) string {
			if before < 0 {
				before = len(journal.Keys())
			}
			return ""
		}
		if err := l.full(values); err != nil {
			t.Fatal(err)
		}
		if want := map[int]int{0: many, 1: 0, 2: 1 << 14}[part]; before != want {
			t.Errorf("part %d fails: %d on record when the plan began, expected %d", part, before, want)
		}
		l.clock.fire() // what failed is tried again
		l.c.TransactionBarrier()
		if got := len(journal.Keys()); got != many {
			t.Errorf("part %d fails: %d on record in the end, expected %d", part, got, many)
		}
	}
}

// partly is a journal that cannot execute one batch.
type partly struct {
	*kvstest.Journal
	fails, writes int
}

func (p *partly) Write(b *ownership.Batch) error {
	if p.writes++; p.writes == p.fails {
		return errors.New("disk full")
	}
	return p.Journal.Write(b)
}

// What was taken over, because it was asked for, is on record and is removed by
// the next life that does not want it. What is only there is not.
func TestWhatIsTakenOverIsOnRecord(t *testing.T) {
	t.Parallel()
	w, journal := newWorld(), kvstest.NewJournal()
	w.addForeign()
	w.exists["a/0"], w.meta["a/0"] = &model.Item{Value: 1}, 5
	one := live(t, w, journal)
	if err := one.full(map[string]*model.Item{"a/0": {Value: 1}}); err != nil {
		t.Fatal(err)
	}
	one.stop()
	if len(w.ops) > 0 || !slices.Equal(journal.Keys(), []string{"a/0"}) {
		t.Errorf("operations %q, on record %q", w.ops, journal.Keys())
	}
	two := live(t, w, journal)
	if err := two.full(nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{"delete a/0"}; !slices.Equal(w.ops, want) || len(journal.Keys()) > 0 {
		t.Errorf("operations %q, expected %q; on record %q", w.ops, want, journal.Keys())
	}
}

// A value is deleted while its southbound, which keeps its state, is disconnected.
// After the reconnect the value is removed.
func TestDeleteWhileDisconnected(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.addForeign()
	l := live(t, w, nil)
	l.c.SouthboundUp("s", 1)
	if err := l.full(map[string]*model.Item{"c/0": {Value: 1}, "c/1": {Value: 1}}); err != nil {
		t.Fatal(err)
	}
	l.c.SouthboundDown("s", errors.New("away"))
	l.set("c/0", nil)
	w.ops = nil
	l.c.SouthboundUp("s", 2)
	l.c.TransactionBarrier()
	if want := []string{"delete c/0"}; !slices.Equal(w.ops, want) || len(w.problems) > 0 {
		t.Errorf("operations %q, expected %q; %q", w.ops, want, w.problems)
	}
}
