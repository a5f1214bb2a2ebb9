package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// drawItem makes a value whose relations stay within a small world.
func drawItem(t *rapid.T, key string) *model.Item {
	it := &model.Item{
		Value:    int64(rapid.IntRange(0, 3).Draw(t, "value")),
		Recreate: rapid.IntRange(0, 5).Draw(t, "recreate") == 0,
		Invalid:  rapid.IntRange(0, 9).Draw(t, "invalid") == 0,
		Note:     rapid.SampledFrom([]string{"", "", "x"}).Draw(t, "note"),
	}
	drawRelations(t, it)
	for i := range rapid.IntRange(0, 2).Draw(t, "derived") {
		d := &model.Derived{Key: fmt.Sprintf("d/%s/%d", key, i), Item: &model.Item{
			Value: int64(rapid.IntRange(0, 2).Draw(t, "dvalue")), Recreate: rapid.IntRange(0, 5).Draw(t, "drecreate") == 0,
		}}
		drawRelations(t, d.Item)
		it.Derived = append(it.Derived, d)
	}
	if rapid.IntRange(0, 3).Draw(t, "property") == 0 {
		it.Derived = append(it.Derived, &model.Derived{Key: "p/" + key, Item: &model.Item{}})
	}
	return it
}

var baseKeys = []string{"a/0", "a/1", "a/2", "b/0", "b/1", "b/2", "c/0", "c/1", "c/2"}

func drawRelations(t *rapid.T, it *model.Item) {
	targets := append([]string{"n/0", "n/1", "p/a/0", "p/b/1", "d/a/0/0", "d/b/0/1"}, baseKeys...)
	for range rapid.SampledFrom([]int{0, 0, 1, 1, 2}).Draw(t, "deps") {
		it.Deps = append(it.Deps, rapid.SampledFrom(targets).Draw(t, "dep"))
	}
	slices.Sort(it.Deps)
	it.Deps = slices.Compact(it.Deps)
	if rapid.IntRange(0, 5).Draw(t, "any") == 0 {
		it.AnyOf = []string{rapid.SampledFrom([]string{"a/", "n/", "d/a/", "d/b/0/"}).Draw(t, "prefix")}
	}
}

func (s *simulation) commit(values map[string]*model.Item, opts ...api.TxnOption) error {
	txn := s.c.StartNBTransaction()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if it := values[key]; it != nil {
			s.reach.add(key, it)
			txn.SetValue(key, it)
			s.log("  set %s {%v}", key, it)
		} else {
			txn.SetValue(key, nil)
			s.log("  del %s", key)
		}
	}
	defer s.asking(values, opts...)()
	mark, faults := s.w.mark(), s.w.injected()
	refused := len(s.w.refused)
	settled, suspects := s.settled, len(s.c.Suspects())
	s.settled = false
	var seq uint64
	var err error
	s.await(func() { seq, err = txn.Commit(context.Background(), opts...) })
	did := s.w.since(mark)
	unharmed := settled && !s.w.loose && !s.hangs && s.w.injected() == faults && suspects == 0
	if unharmed && len(s.w.refused) > refused {
		s.fatal("refused: %q", s.w.refused[refused:])
	}
	s.log("  ops %q err %v", did, err)
	if err == nil && !s.w.loose && s.w.injected() == faults && (settled || !s.hangs) && suspects == 0 { // what hung may end now
		s.faultless(seq, values, did, !settled || api.ApplyTxnOptions(opts).Resync != api.NotResync)
	}
	return err
}

// want follows what the northbound asks for in the oracle.
func (s *simulation) want(values map[string]*model.Item) {
	s.takeOver(values)
	for key, it := range values {
		old := s.o.wanted[key]
		switch {
		case it == nil:
			delete(s.o.wanted, key)
			delete(s.o.kept, key)
			continue
		case !it.Invalid:
			delete(s.o.kept, key)
		case old != nil && !old.Invalid:
			s.o.kept[key] = old
		}
		s.o.wanted[key] = it
	}
}

func (s *simulation) change() {
	values := s.drawChange()
	if rapid.IntRange(0, 3).Draw(s.T, "revert") == 0 {
		s.revert(values)
		return
	}
	s.log("change")
	err := s.commit(values, append(s.deadline(), api.WithRetryMaxCount(0))...)
	var txnErr *api.TransactionError
	if errors.As(err, &txnErr) && txnErr.GetTxnInitError() != nil { // too late
		return
	}
	s.want(values)
	s.waits(txnErr)
}

// deadline is one that passes while the transaction is executed, or none. The
// clock moves when it is looked at.
func (s *simulation) deadline() []api.TxnOption {
	if n := rapid.IntRange(-60, 40).Draw(s.T, "deadline"); n > 0 {
		return []api.TxnOption{api.WithTimeout(time.Duration(n) * time.Microsecond)}
	}
	return nil
}

func (s *simulation) revert(values map[string]*model.Item) {
	s.converge()
	exists := s.restorable()
	before := exists()
	s.log("change with revert")
	rate := s.rate
	s.rate = 0
	failures := 0
	fail := s.w.fail
	s.w.fail = func(op, key string) string { // fails at most once: the way back must work
		if failures == 0 && s.rng.Float64() < 0.2 {
			failures++
			return rapidMode(s.rng)
		}
		return ""
	}
	deadline := s.deadline()
	if deadline != nil {
		s.w.fail = func(string, string) string { return "" }
	}
	err := s.commit(values, append(deadline, api.WithRevert(), api.WithRetryMaxCount(0))...)
	s.w.fail, s.rate = fail, rate
	var txnErr *api.TransactionError
	refused := errors.As(err, &txnErr) && (txnErr.Reverted() || txnErr.GetTxnInitError() != nil) // invalid values, too late
	if failures == 0 && !refused {
		s.want(values)
		return
	}
	if err == nil {
		s.fatal("a failure was not reported")
	}
	if after := exists(); !maps.Equal(before, after) {
		s.fatal("revert is not exact:\nbefore %v\nafter  %v", before, after)
	}
}

func rapidMode(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return "before"
	}
	return "after"
}

func (s *simulation) notify() {
	key := rapid.SampledFrom([]string{"n/0", "n/1"}).Draw(s.T, "notified")
	it := &model.Item{Value: 7}
	if rapid.Bool().Draw(s.T, "gone") {
		it = nil
	}
	s.report(key, it)
}

// report notifies the scheduler of a value of the southbound; nil: it is gone.
func (s *simulation) report(key string, it *model.Item) {
	s.digest()
	s.w.mu.Lock()
	if it == nil {
		delete(s.w.notified, key)
		delete(s.o.notified, key)
	} else {
		s.w.notified[key], s.o.notified[key] = it, it
	}
	s.w.mu.Unlock()
	s.settled = false
	mark := len(s.w.ops)
	kv := api.KVWithMetadata{Key: key}
	if it != nil {
		kv.Value = it
	}
	if err := s.c.PushSBNotification(kv); err != nil {
		s.Fatal(err)
	}
	s.barrier()
	s.log("notify %s %v\n  ops %q", key, it, s.w.ops[mark:])
}

// victim draws a value that exists; false if there is none.
func (s *simulation) victim() (key string, ok bool) {
	s.w.mu.Lock()
	keys := slices.Sorted(maps.Keys(s.w.exists))
	s.w.mu.Unlock()
	if len(keys) == 0 {
		return "", false
	}
	return rapid.SampledFrom(keys).Draw(s.T, "victim"), true
}

// foreign is a hand that takes something away behind the scheduler's back.
func (s *simulation) foreign() {
	key, ok := s.victim()
	if !ok {
		return
	}
	others := s.w.others(key)
	s.w.mu.Lock()
	s.w.removeAll(key)
	s.log("foreign delete %s", key)
	s.w.faults["value deleted by a foreign hand"]++
	s.w.mu.Unlock()
	s.tell(key, others)
}

func (s *simulation) resync(typ api.ResyncType) {
	s.log("%v", typ)
	values := map[string]*model.Item{}
	if typ != api.DownstreamResync {
		maps.Copy(values, s.o.wanted)
	}
	_ = s.commit(values, api.WithResync(typ, false), api.WithRetryMaxCount(0))
}

// jump sets the clock by hours, forward or backward.
func (s *simulation) jump() {
	d := time.Duration(rapid.IntRange(-24, 24).Draw(s.T, "hours")) * time.Hour
	s.log("the clock is set by %v", d)
	s.w.fault("clock set")
	s.clock.jump(d)
}
