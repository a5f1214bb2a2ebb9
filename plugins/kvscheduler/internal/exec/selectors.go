package exec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// SelectorError is the failure of a value of which it is not known whether a
// dependency on any of several values is met, because its selector panics.
type SelectorError struct {
	Descriptor, Label string
	Problem           string
	of                graph.Choice
}

// Error names the descriptor, the dependency, and the key that the selector panics
// for.
func (e *SelectorError) Error() string {
	return fmt.Sprintf("descriptor %q: dependency %q: %s", e.Descriptor, e.Label, e.Problem)
}

// Is makes the panic a permanent failure: selectors are pure.
func (e *SelectorError) Is(target error) bool { return target == api.ErrPermanent }

// selectorsFail fails the values that lack what a selector panics for, and takes the
// failures back that are over; true if there are new ones. While selectors panic each
// transaction looks at those who depend on them.
func (r *run) selectorsFail() bool {
	if !r.Graph.AnyPanics() {
		return false
	}
	var failed []string
	r.Lock.Lock()
	defer r.Lock.Unlock()
	met := map[graph.Choice]bool{}
	for _, p := range r.Graph.Panics() {
		for n := range p.Dependents {
			var known *SelectorError
			switch err := r.selectorError(n, &p, met); {
			case errors.As(n.Err, &known) && known.of != p.Of || n.Err != nil && known == nil: // of another kind
			case err == nil && known != nil:
				n.Err = nil
				r.res.Changed = append(r.res.Changed, n.Root().Key)
			case err != nil && known == nil:
				r.fail(&plan.Op{Key: n.Key, Desc: n.Desc}, n, err)
				r.res.Changed = append(r.res.Changed, n.Root().Key)
				failed = append(failed, n.Key)
			}
		}
	}
	slices.Sort(failed)
	r.recordFailed(failed)
	return len(failed) > 0
}

// selectorError is the failure of a value that waits for what a selector panics for;
// nil if it has none.
func (r *run) selectorError(n *graph.Node, p *graph.Panic, met map[graph.Choice]bool) error {
	v := n.Want
	if p.Problem == "" || v == nil || n.Have != nil || v.FromSB || v.Invalid != nil || v.Observed ||
		n.Base != nil && n.Base.Have == nil || r.txn.Request.Closed[n.Desc.Session()] {
		return nil
	}
	for i := range v.Deps {
		dep := &v.Deps[i]
		if dep.Key != "" {
			continue
		}
		concerned, lacks := false, true
		for _, prefix := range graph.Prefixes(dep) {
			of := graph.NewChoice(prefix, dep.AnyOf.KeySelector)
			concerned = concerned || of == p.Of
			exists, known := met[of]
			if !known {
				exists = r.Graph.Witness(&api.Dependency{AnyOf: api.AnyOfDependency{KeyPrefixes: []string{prefix}, KeySelector: dep.AnyOf.KeySelector}}) != nil
				met[of] = exists
			}
			lacks = lacks && !exists
		}
		if concerned && lacks {
			return &SelectorError{Descriptor: n.Desc.Name, Label: dep.Label, Problem: p.Problem, of: p.Of}
		}
	}
	return nil
}

// recordFailed brings failures into the history that no operation told.
func (r *run) recordFailed(sorted []string) {
	last := map[string]int{}
	for i := range r.res.Executed {
		if _, failed := slices.BinarySearch(sorted, r.res.Executed[i].Key); failed && r.res.Executed[i].NOOP {
			last[r.res.Executed[i].Key] = i
		}
	}
	for _, key := range sorted {
		n := r.Graph.Node(key)
		at, told := last[key]
		if !told {
			at = len(r.res.Executed)
			r.res.Executed = append(r.res.Executed, api.RecordedTxnOp{
				Operation: kvscheduler.TxnOperation_UPDATE, Key: key, PrevState: kvscheduler.ValueState_PENDING,
				PrevValue: n.Want.Msg, NewValue: n.Want.Msg, NOOP: true, IsDerived: n.IsDerived(), IsRevert: r.reverted,
			})
		}
		r.res.Executed[at].NewState, r.res.Executed[at].NewErrMsg = plan.State(n), n.Err.Error()
	}
}
