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

// ownerPolicies applies the ownership policies to values that the scheduler did not
// create. It belongs to the worker.
type ownerPolicies struct{ *shared }

// byPolicy applies the ownership policy to a change. It returns true if it replaced the
// desired value.
func (o *ownerPolicies) byPolicy(change *plan.Change) bool {
	v := change.Want
	switch o.opts.Policies.Of(change.Desc, change.Key) {
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

// noBusiness reports whether the ownership policy forbids the scheduler to change the
// value.
func (o *ownerPolicies) noBusiness(n *graph.Node) bool {
	p := o.opts.Policies.Of(n.Desc, n.Key)
	return p == registry.Observe || p == registry.Ignore
}

// giveUp returns the change for a value that is no longer desired. Adopted and observed
// values stay as foreign ones, and so do values that only had invalid desired states.
func (o *ownerPolicies) giveUp(n *graph.Node) plan.Change {
	change := plan.Change{Key: n.Key, Node: n, Desc: n.Desc}
	switch {
	case n.Have == nil:
	case n.Owner == graph.Adopted || n.Want.KeepsFound():
		change.Want = o.asItIs(n)
	case !n.Ours():
		change.Want = n.Have
	}
	return change
}

// instead adds the actual state to an invalid desired state of a value that was found;
// that state stays in force. The value is foreign if it was adopted or has no record.
func (o *ownerPolicies) instead(v *registry.Value, n *graph.Node) *registry.Value {
	if v.Invalid != nil && (n.Owner == graph.Adopted || n.Ours() && !o.journal.recorded(n)) {
		return v.Instead(o.asItIs(n))
	}
	return v.Instead(n.Have)
}

// asItIs returns the actual value as a foreign one. It has the properties of the value
// that was read last, since properties need only their base.
func (o *ownerPolicies) asItIs(n *graph.Node) *registry.Value {
	v := n.AsItIs()
	v.FromSB = true
	property := func(dv registry.Derived) bool { return dv.Desc.IsProperty() }
	if read, err := o.state.registry.Load().Read(n.Key, n.Desc, v.Msg); err == nil {
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

// leave updates a foreign value, with its derived values, that was given back before a
// callback of it returned.
func (o *ownerPolicies) leave(key string) {
	o.state.mu.Lock()
	defer o.state.mu.Unlock()
	n := o.state.graph.Node(key)
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

// setForeign makes a value foreign; nil: it does not exist.
func (o *ownerPolicies) setForeign(n *graph.Node, v *registry.Value) {
	o.state.graph.SetWant(n, v)
	if v == nil {
		o.state.graph.Remove(n, graph.Lost)
	} else {
		_ = o.state.graph.SetHave(n, v, n.Meta, graph.GivenBack) // the metadata is known to be valid
	}
	o.state.graph.Forget(n)
}

// adopt marks the values that the transaction will adopt.
func (o *ownerPolicies) adopt(changes []plan.Change) {
	o.own(changes, graph.Adopt, func(_ *graph.Node, change *plan.Change) bool { return change.Adopt })
}

// giveBack unmarks values that were given back, or that were not adopted after all.
func (o *ownerPolicies) giveBack(changes []plan.Change) {
	o.own(changes, graph.GivenBack, func(n *graph.Node, _ *plan.Change) bool { return n.Owner == graph.Adopted && n.Desired() == nil })
}

// own applies an event to the owners of the changed values that it happens to.
func (o *ownerPolicies) own(changes []plan.Change, event graph.Event, happens func(*graph.Node, *plan.Change) bool) {
	if o.opts.Policies == nil {
		return
	}
	o.state.mu.Lock()
	defer o.state.mu.Unlock()
	for i := range changes {
		if n := o.state.graph.Node(changes[i].Key); n != nil && happens(n, &changes[i]) {
			o.state.graph.Own(n, event)
		}
	}
}
