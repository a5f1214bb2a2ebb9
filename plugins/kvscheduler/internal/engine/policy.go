package engine

import (
	"errors"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

var errIgnored = errors.New(`the ownership policy for it is "ignore": this agent neither makes nor reads such values`)

// ownerPolicies decides what the scheduler may do with values that it did not create. It
// belongs to the worker.
type ownerPolicies struct {
	*state
	recorded func(n *graph.Node) bool // see journal.recorded
}

// byPolicy makes a wish what its policy allows; false: it is as it was.
func (o *ownerPolicies) byPolicy(change *plan.Change) bool {
	v := change.Want
	switch o.policies.Of(change.Desc, change.Key) {
	case registry.Ignore:
		change.Want = &registry.Value{Msg: v.Msg, Invalid: errIgnored}
		return true
	case registry.Observe:
		change.Want = &registry.Value{Msg: v.Msg, Observed: true}
		return true
	case registry.Adopt:
		n := change.Node
		change.Adopt = n != nil && n.Have != nil && !n.Ours()
	}
	return false
}

// noBusiness: what exists under the key is never as the scheduler made it.
func (st *state) noBusiness(n *graph.Node) bool {
	p := st.policies.Of(n.Desc, n.Key)
	return p == registry.Observe || p == registry.Ignore
}

// giveUp ends a wish. What was adopted or only observed is left in place, as
// something of the southbound, and so is what was never wanted validly.
func (o *ownerPolicies) giveUp(n *graph.Node) plan.Change {
	change := plan.Change{Key: n.Key, Node: n, Desc: n.Desc}
	switch {
	case n.Have == nil:
	case n.Owner() == graph.Adopted || n.Want.KeepsFound():
		change.Want = o.asItIs(n)
	case !n.Ours():
		change.Want = n.Have
	}
	return change
}

// instead gives an invalid wish for a value that was found what stays in force:
// as another agent's if it was adopted, or is not on record.
func (o *ownerPolicies) instead(v *registry.Value, n *graph.Node) *registry.Value {
	if v.Invalid != nil && (n.Owner() == graph.Adopted || n.Ours() && !o.recorded(n)) {
		return v.Instead(o.asItIs(n))
	}
	return v.Instead(n.Have)
}

// asItIs is what exists as something of the southbound. Its properties are those of
// the value as it was read last: they need nothing but their base.
func (o *ownerPolicies) asItIs(n *graph.Node) *registry.Value {
	v := n.AsItIs()
	v.FromSB = true
	property := func(dv registry.Derived) bool { return dv.Desc.IsProperty() }
	if read, err := o.registry.Load().Read(n.Key, n.Desc, v.Msg); err == nil {
		v.Derived = slices.DeleteFunc(v.Derived, property)
		for _, dv := range read.Derived {
			if property(dv) {
				v.Derived = append(v.Derived, dv)
			}
		}
		slices.SortFunc(v.Derived, func(a, b registry.Derived) int { return strings.Compare(a.Key, b.Key) })
	}
	for i := range v.Derived {
		v.Derived[i].Value = &registry.Value{Msg: v.Derived[i].Value.Msg, FromSB: true}
	}
	return v
}

// leave makes a value of others that was given back before a callback of it
// returned what it is now, with what is derived from it.
func (o *ownerPolicies) leave(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.graph.Node(key)
	if n == nil {
		return
	}
	if n = n.Root(); !n.Obtained() {
		return
	}
	var v *registry.Value
	pieces := map[string]*registry.Value{}
	if n.Have != nil {
		v = o.asItIs(n)
		for i := range v.Derived {
			pieces[v.Derived[i].Key] = v.Derived[i].Value
		}
	}
	for _, child := range slices.Collect(n.Derived) {
		o.setForeign(child, pieces[child.Key])
	}
	o.setForeign(n, v)
}

// setForeign makes a value one of others; nil: it does not exist.
func (o *ownerPolicies) setForeign(n *graph.Node, v *registry.Value) {
	o.graph.SetWant(n, v)
	if v == nil {
		o.graph.Remove(n, graph.Lost)
	} else {
		_ = o.graph.SetHave(n, v, n.Meta, graph.GivenBack) // its metadata is known to be usable
	}
	o.graph.Forget(n)
}

// adopt notes what is about to be taken over.
func (o *ownerPolicies) adopt(changes []plan.Change) {
	if o.policies == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range changes {
		if n := o.graph.Node(changes[i].Key); n != nil && changes[i].Adopt {
			o.graph.Own(n, graph.Adopt)
		}
	}
}

// giveBack notes what was given back, or was not taken over after all.
func (o *ownerPolicies) giveBack(changes []plan.Change) {
	if o.policies == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range changes {
		if n := o.graph.Node(changes[i].Key); n != nil && n.Owner() == graph.Adopted && n.Desired() == nil {
			o.graph.Own(n, graph.GivenBack)
		}
	}
}
