package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// watched is a life with a quarantine.
func watched(t *testing.T, w *world, journal engine.Journal, after int) *life {
	t.Helper()
	l := begin(t, w, engine.Options{Clock: &manualClock{}, Journal: journal, QuarantineAfter: after})
	l.c.SouthboundUp("s", 1)
	return l
}

// dies lets the southbound die of a value.
func (l *life) dies(w *world, key string) {
	l.t.Helper()
	w.kill, w.killOnly = func() { l.c.SouthboundDown("s", errInjected) }, key
	_, _ = l.c.StartNBTransaction().SetValue(key, &model.Item{Value: 1}).Commit(l.t.Context())
	l.c.TransactionBarrier()
	if !w.injured() {
		l.t.Fatalf("the southbound did not die of %s", key)
	}
	w.revive()
}

func suspected(c *engine.Engine) string {
	var list []string
	for _, s := range c.Suspects() {
		list = append(list, fmt.Sprint(s.Key, " ", len(s.Crashes), " ", s.Quarantined))
	}
	return fmt.Sprint(list)
}

// What a record of the quarantine says that cannot be read is done without, and
// is gone afterwards; the others count.
func TestADamagedRecordOfTheQuarantine(t *testing.T) {
	t.Parallel()
	w, journal := newWorld(), kvstest.NewJournal()
	l := watched(t, w, journal, 1)
	l.dies(w, "c/0")
	l.stop()
	kept, err := journal.LoadState("quarantine")
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	damaged := map[string][]byte{
		"c/1": []byte("{"), "c/2": kept["c/0"], "c/3": nil, "c/4": []byte(`{"Key":"c/4","Wish":7}`), "c/5": []byte("null"),
	}
	if err := journal.SaveState("quarantine", damaged, false); err != nil {
		t.Fatal(err)
	}
	l = watched(t, w, journal, 1)
	if got := suspected(l.c); got != "[c/0 1 true]" {
		t.Errorf("after a restart %s", got)
	}
	if kept, _ := journal.LoadState("quarantine"); len(kept) != 1 {
		t.Errorf("on record are %q", slices.Sorted(maps.Keys(kept)))
	}
	l.stop()
	l = watched(t, w, journal, 0) // it was switched off
	if kept, _ := journal.LoadState("quarantine"); suspected(l.c) != "[]" || len(kept) > 0 {
		t.Errorf("without a quarantine %s, on record are %q", suspected(l.c), slices.Sorted(maps.Keys(kept)))
	}
}

// While nothing can be written the quarantine holds; it is on record as soon as
// something can.
func TestAQuarantineThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	w, journal := newWorld(), kvstest.NewJournal()
	l := watched(t, w, journal, 1)
	l.dies(w, "c/0")
	journal.Fail(errors.New("disk full"))
	l.c.SouthboundUp("s", 2)
	l.dies(w, "c/1")
	if kept, _ := journal.LoadState("quarantine"); len(kept) != 1 || suspected(l.c) != "[c/0 1 true c/1 1 true]" {
		t.Errorf("%s, on record are %q", suspected(l.c), slices.Sorted(maps.Keys(kept)))
	}
	l.clock.fire()
	l.c.TransactionBarrier()
	journal.Fail(nil)
	l.clock.fire()
	l.c.TransactionBarrier()
	if kept, _ := journal.LoadState("quarantine"); len(kept) != 2 {
		t.Errorf("on record are %q", slices.Sorted(maps.Keys(kept)))
	}
}

// A value in quarantine from an earlier run is dropped by the first resync if it is not
// desired, and tried if its desired state changed. Both may be released before.
func TestQuarantineOfEarlierRun(t *testing.T) {
	t.Parallel()
	for _, asked := range []struct {
		what, want string
		values     map[string]*model.Item
		release    bool
	}{
		{what: "the same", values: map[string]*model.Item{"c/0": {Value: 1}}, want: "[c/0 1 true] "},
		{what: "the same, released", values: map[string]*model.Item{"c/0": {Value: 1}}, release: true, want: "[] create c/0"},
		{what: "another value", values: map[string]*model.Item{"c/0": {Value: 2}}, want: "[] create c/0"},
		{what: "nothing", want: "[] "},
		{what: "nothing, released", release: true, want: "[] "},
	} {
		w, journal := newWorld(), kvstest.NewJournal()
		l := watched(t, w, journal, 1)
		l.dies(w, "c/0")
		l.stop()
		w.ops = nil
		l = watched(t, w, journal, 1)
		if asked.release {
			if err := l.c.ReleaseQuarantined(t.Context(), "c/0"); err != nil {
				t.Error(err)
			}
		}
		l.c.TransactionBarrier()
		if got := suspected(l.c); asked.release != (got == "[c/0 0 false]") {
			t.Errorf("%s: before it is asked for %s", asked.what, got)
		}
		err := l.full(asked.values)
		for range 3 {
			l.c.TransactionBarrier()
		}
		got := suspected(l.c) + " "
		for _, op := range w.ops {
			got += op
		}
		var q *api.QuarantineError
		if got != asked.want || errors.As(err, &q) != (asked.what == "the same") {
			t.Errorf("%s: %s, expected %s; %v", asked.what, got, asked.want, err)
		}
	}
}

// A crash of an earlier run counts for an hour at most, also if it is in the
// future because the clock was set back since.
func TestCrashesWhileTheClockJumps(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	for _, test := range []struct {
		what             string
		jump             time.Duration // between the runs
		again, long, end string        // at once, after an hour, and after one more crash
	}{
		{"not at all", 0, "[c/0 2 false]", "[c/0 1 false]", "[c/0 2 false]"},
		{"back", -year, "[c/0 2 false]", "[c/0 1 false]", "[c/0 2 false]"},
		{"forward", year, "[c/0 1 false]", "[c/0 1 false]", "[c/0 2 false]"},
	} {
		w, journal, start := newWorld(), kvstest.NewJournal(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		clock := &manualClock{now: start}
		another := func() *life {
			l := begin(t, w, engine.Options{Clock: clock, Journal: journal, QuarantineAfter: 3})
			l.c.SouthboundUp("s", 1)
			return l
		}
		expect := func(l *life, when, want string) {
			t.Helper()
			l.dies(w, "c/0")
			if got := suspected(l.c); got != want {
				t.Errorf("the clock is set %s: %s %s, want %s", test.what, when, got, want)
			}
		}
		l := another()
		expect(l, "the first crash", "[c/0 1 false]")
		l.stop()
		clock.now = clock.now.Add(test.jump)
		l = another()
		expect(l, "at once", test.again)
		for i, want := range []string{test.long, test.end} {
			clock.advance(time.Duration(1-i) * 61 * time.Minute)
			l.c.SouthboundUp("s", uint64(i+2))
			expect(l, fmt.Sprint("crash ", i+3), want)
		}
		l.stop()
	}
}
