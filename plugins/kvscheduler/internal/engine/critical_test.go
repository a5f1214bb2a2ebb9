package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// causes is "KEY SECONDS<CAUSE REASON" of the latest transaction: when the
// operation began, and after which one.
func causesOf(c *engine.Engine) string {
	history := c.GetTransactionHistory(time.Time{}, time.Time{})
	txn := history[len(history)-1]
	var list []string
	for _, op := range txn.Executed {
		if op.NOOP {
			continue
		}
		text := fmt.Sprintf("%s %.0f", op.Key, op.Start().Sub(txn.Start).Seconds())
		if op.After > 0 {
			why, _ := op.Waited.MarshalText()
			text += fmt.Sprintf("<%s %s", txn.Executed[op.After-1].Key, why)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// What every operation waited for is recorded. They take a second or more, so that
// no two end at once.
func TestCauses(t *testing.T) {
	t.Parallel()
	item := func(deps ...string) *model.Item { return &model.Item{Deps: deps} }
	for _, c := range []struct {
		name   string
		first  []any // exists before
		values []any
		want   string
	}{
		{"one at a time", nil, []any{"serial/1", item(), "serial/2", item("serial/1"), "serial/3", item()},
			"serial/1 0, serial/2 1<serial/1 dependency, serial/3 2<serial/2 turn"},
		{"two at once", nil, []any{"two/1", item(), "two/2", item(), "two/3", item(), "two/4", item("two/3")},
			"two/1 0, two/2 0, two/3 1<two/1 slot, two/4 2<two/3 dependency"},
		{"dependency in another lane", nil, []any{"two/1", item(), "many/1", item("two/1"), "many/2", item("two/1"), "many/3", item()},
			"many/3 0, two/1 0, many/1 1<two/1 dependency, many/2 1<two/1 dependency"},
		{"through what has no callback", []any{"many/1", item("two/1", "two/0"), "many/2", item("two/1")}, []any{"two/1", item()},
			"two/1 0, many/2 1<two/1 dependency"},
		{"removals first", []any{"many/1", item(), "two/1", item()}, []any{"many/0", item(), "many/1", (*model.Item)(nil), "two/1", (*model.Item)(nil)},
			"many/1 0, two/1 0, many/0 1<two/1 removals"},
		{"held up by one at a time", nil, []any{"long/1", item(), "two/1", item(), "two/2", item("two/1"), "long/2", item("two/2")},
			"long/1 0, two/1 0, two/2 2<long/1 turn, long/2 3<two/2 dependency"},
	} {
		s := &slow{more: map[string]time.Duration{"two/1": 200 * time.Millisecond, "two/2": 400 * time.Millisecond, "long/1": time.Second}}
		ds := []*api.KVDescriptor{s.descriptor("serial", 0), s.descriptor("long", 0), s.descriptor("two", 2), s.descriptor("many", 100)}
		inBubble(t, ds, func(t *testing.T, ctl *engine.Engine) {
			set(t, ctl, c.first...)
			set(t, ctl, c.values...)
			if got := causesOf(ctl); got != c.want {
				t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
			}
		})
	}
}

// A failure lets the rest be planned again.
func TestCauseAfterFailure(t *testing.T) {
	t.Parallel()
	s := &slow{}
	inBubble(t, []*api.KVDescriptor{s.descriptor("serial", 0), s.descriptor("many", 100)}, func(t *testing.T, c *engine.Engine) {
		set(t, c, "serial/1", &model.Item{})
		txn := c.StartNBTransaction()
		for i := range 3 {
			txn.SetValue(fmt.Sprintf("serial/%d", i+2), &model.Item{})
		}
		if _, err := txn.Commit(t.Context(), api.WithRevert(), api.WithTimeout(1500*time.Millisecond)); err == nil {
			t.Fatal("expected an error")
		}
		want := "serial/2 0, serial/3 1<serial/2 turn, serial/2 2<serial/3 replan, serial/3 3<serial/2 turn"
		if got := causesOf(c); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// The path explains all of the time, the queue included.
func TestCriticalPathOfTransaction(t *testing.T) {
	t.Parallel()
	s := &slow{more: map[string]time.Duration{"route/1": 500 * time.Millisecond}}
	inBubble(t, []*api.KVDescriptor{s.descriptor("if", 1), s.descriptor("route", 2)}, func(t *testing.T, c *engine.Engine) {
		if _, err := c.StartNBTransaction().SetValue("if/0", &model.Item{}).Commit(t.Context(), api.WithoutBlocking()); err != nil {
			t.Fatal(err)
		}
		values := []any{"if/1", &model.Item{}}
		for i := range 3 {
			values = append(values, fmt.Sprintf("route/%d", i), &model.Item{Deps: []string{"if/1"}})
		}
		synctest.Wait() // the first one is under way
		set(t, c, values...)
		path := record.Critical(c.GetRecordedTransaction(1), 0)
		var text strings.Builder
		for _, phase := range path.Phases {
			fmt.Fprintf(&text, "%s %.3f, ", phase.Name, phase.Took)
		}
		for _, step := range path.Steps {
			fmt.Fprintf(&text, "%s %.0f+%.0f, ", step.Key, step.Waited, step.Ran)
		}
		want := "queue 1.000, prepare 0.000, plan 0.000, record 0.000, execute 3.000, finish 0.000, if/1 0+1, route/0 0+1, route/2 0+1, "
		if text.String() != want || path.Operations != 4 || path.Total != 4 {
			t.Errorf("%+v:\ngot  %s\nwant %s", path, text.String(), want)
		}
	})
}
