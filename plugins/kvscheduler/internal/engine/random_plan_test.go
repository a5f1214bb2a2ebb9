package engine_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// drawChange is what a transaction asks for.
func (s *simulation) drawChange() map[string]*model.Item {
	values := map[string]*model.Item{}
	for range rapid.IntRange(1, 5).Draw(s.T, "changes") {
		key := rapid.SampledFrom(baseKeys).Draw(s.T, "key")
		if rapid.IntRange(0, 3).Draw(s.T, "delete") == 0 {
			values[key] = nil
		} else {
			values[key] = drawItem(s.T, key)
		}
	}
	s.drawIdentities(values)
	return values
}

// planOf makes a plan of values in some order, which does nothing.
func (s *simulation) planOf(values map[string]*model.Item, keys []string) *api.Plan {
	txn := s.c.StartNBTransaction()
	for _, key := range keys {
		if it := values[key]; it != nil {
			txn.SetValue(key, it)
		} else {
			txn.SetValue(key, nil)
		}
	}
	s.barrier()
	mark, status := s.w.mark(), s.c.Revision()
	var pl *api.Plan
	var err error
	s.await(func() { pl, err = txn.Plan(context.Background()) })
	var txnErr *api.TransactionError
	if pl == nil || err != nil && !errors.As(err, &txnErr) {
		s.fatal("no plan: %v", err)
	}
	if did := s.w.since(mark); len(did) > 0 || s.c.Revision() != status {
		s.fatal("a plan does something: %q", did)
	}
	return pl
}

// plan makes a plan, perhaps something else meanwhile, and applies the plan:
// it is executed as it is, or refused because it would be another one now.
func (s *simulation) plan() {
	s.release() // nothing shall end by itself between the plan and its execution
	values := s.drawChange()
	keys := slices.Sorted(maps.Keys(values))
	pl := s.planOf(values, keys)
	s.rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	if other := s.planOf(values, keys); !slices.EqualFunc(pl.Operations, other.Operations, sameOperation) {
		s.fatal("the order of the changes matters: %s\nand %s", operations(pl.Operations), operations(other.Operations))
	}
	s.log("plan %s", operations(pl.Operations))
	switch rapid.SampledFrom([]string{"", "", "change", "notify", "converge"}).Draw(s.T, "meanwhile") {
	case "change":
		s.change()
	case "notify":
		s.notify()
	case "converge":
		s.converge()
	}
	s.release()
	if s.clash(values) {
		return
	}
	again := s.planOf(values, slices.Sorted(maps.Keys(values)))
	s.apply(values, pl, s.moved(pl, again))
}

// moved reports whether two plans differ. Only with policies may one plan contain a
// value that the other omits, because a plan may visit an unchanged adopted value
// without an operation. Such a value counts if the first plan contains it.
func (s *simulation) moved(pl, again *api.Plan) bool {
	if !slices.EqualFunc(pl.Operations, again.Operations, sameOperation) {
		return true
	}
	if len(s.w.rules) == 0 {
		return !slices.Equal(pl.Base, again.Base)
	}
	return slices.ContainsFunc(pl.Base, func(b api.PlanBase) bool {
		return !slices.Contains(again.Base, b) && !slices.Contains(s.planOf(nil, []string{b.Key}).Base, b)
	})
}

func (s *simulation) apply(values map[string]*model.Item, pl *api.Plan, moved bool) {
	for key, it := range values {
		if it != nil {
			s.reach.add(key, it)
		}
		s.log("  apply %s {%v}", key, it)
	}
	defer s.asking(values)()
	mark, faults := s.w.mark(), s.w.injected()
	s.settled = false
	var seq uint64
	var err error
	s.await(func() { seq, err = s.c.Apply(context.Background(), pl, api.WithRetryMaxCount(0)) })
	did := s.w.since(mark)
	s.log("  ops %q err %v", did, err)
	if stale := errors.Is(err, api.ErrPlanStale); stale != moved {
		s.fatal("the plan has moved: %v, but: %v", moved, err)
	} else if stale {
		if len(did) > 0 {
			s.fatal("a stale plan is executed: %q", did)
		}
		return
	}
	s.want(values)
	if rec := s.c.GetRecordedTransaction(seq); s.w.injected() == faults && !slices.EqualFunc(pl.Operations, rec.Executed, sameOperation) {
		s.fatal("planned was   %s\nexecuted was %s", operations(pl.Operations), operations(rec.Executed))
	}
}

// faultless checks a transaction during which nothing failed: it executed the
// plan, and no more than the change makes necessary, unless there was more to
// do already.
func (s *simulation) faultless(seq uint64, values map[string]*model.Item, ops []string, more bool) {
	rec := s.c.GetRecordedTransaction(seq)
	if rec == nil {
		return // refused
	}
	if !slices.EqualFunc(rec.Planned, rec.Executed, sameOperation) {
		s.fatal("planned was   %s\nexecuted was %s", operations(rec.Planned), operations(rec.Executed))
	}
	var recorded []string
	for i := range rec.Executed {
		if op := &rec.Executed[i]; !op.NOOP && !op.IsProperty {
			recorded = append(recorded, strings.ToLower(op.Operation.String())+" "+op.Key)
		}
	}
	done := slices.Sorted(slices.Values(ops))
	if slices.Sort(recorded); !slices.Equal(recorded, done) {
		s.fatal("recorded is %q\ndone was    %q", recorded, done)
	}
	if more {
		return
	}
	times := map[string]int{}
	for _, op := range ops {
		_, key, _ := strings.Cut(op, " ")
		if times[key]++; times[key] > 2 {
			s.fatal("more than two operations of %s: %q", key, ops)
		}
		if !s.reach.any(key, values) {
			s.fatal("%s does not depend on anything of %q: %q", key, slices.Sorted(maps.Keys(values)), ops)
		}
	}
}

// any reports whether a key is one of the values, or whether it or a value derived from
// it depends on one, directly or indirectly.
func (r *reach) any(start string, values map[string]*model.Item) bool {
	seen := map[string]bool{}
	var visit func(key string) bool
	all := func(prefix string) bool {
		for key := range r.edges {
			if strings.HasPrefix(key, prefix) && visit(key) {
				return true
			}
		}
		return false
	}
	visit = func(key string) bool {
		if _, ok := values[key]; ok || seen[key] {
			return ok
		}
		seen[key] = true
		for to := range r.edges[key] {
			prefix, some := strings.CutSuffix(to, "*")
			if !some && visit(to) || some && (prefixed(prefix, values) || all(prefix)) {
				return true
			}
		}
		return all("d/" + key + "/")
	}
	return visit(start)
}

func prefixed(prefix string, values map[string]*model.Item) bool {
	for key := range values {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

func sameOperation(a, b api.RecordedTxnOp) bool {
	return a.Operation == b.Operation && a.Key == b.Key && a.NOOP == b.NOOP && a.IsRecreate == b.IsRecreate &&
		a.PrevState == b.PrevState && a.NewState == b.NewState && proto.Equal(a.NewValue, b.NewValue)
}

func operations(ops []api.RecordedTxnOp) string {
	var list []string
	for i := range ops {
		text := strings.ToLower(ops[i].Operation.String()) + " " + ops[i].Key
		if ops[i].NOOP {
			text += " (noop)"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}
