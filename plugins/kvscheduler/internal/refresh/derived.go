package refresh

import (
	"hash/maphash"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// completed reports whether the scheduler made values that are derived from one of the
// southbound.
func completed(n *graph.Node) bool {
	for child := range n.Derived {
		if child.Ours() {
			return true
		}
	}
	return false
}

// waiting lists the derived values of a value that wait for something.
func (r *Refresher) waiting(n *graph.Node) (keys []string) {
	if n.Desc.Without == nil {
		return nil
	}
	for child := range n.Derived {
		if child.Have == nil && child.Want != nil && child.Err == nil {
			keys = append(keys, child.Key)
		}
	}
	return keys
}

// mirrors reports whether the derived values of a found value are desired as they were
// found.
func mirrors(n *graph.Node) bool {
	if v := n.Desired(); v == nil || v == n.Have || v.Observed {
		return true
	}
	return n.Want.KeepsFound() && n.Want.Last == n.Have // others' values stay in force, whatever they are
}

// derivedFound is how reading a derived value changes who it belongs to: its base decides
// that.
func derivedFound(n *graph.Node, have *registry.Value) graph.Event {
	switch {
	case have.FromSB:
		return graph.Found
	case n.Owner == graph.Foreign:
		return graph.TakenOver
	}
	return graph.FoundRecorded
}

// derived makes the derived values exist as their base was found. Where the
// base is what it was believed to be, derived values that wait for something
// are not there.
func (r *Refresher) derived(n *graph.Node, same bool) {
	exists := make(map[string]bool, len(n.Have.Derived))
	mirror := mirrors(n)
	for i := range n.Have.Derived {
		dv := &n.Have.Derived[i]
		child := n.Child(i, dv.Key)
		if child == nil {
			child = r.Graph.Node(dv.Key)
		}
		if child != nil && child.Base != n {
			continue
		}
		exists[dv.Key] = true
		waits := child != nil && child.Have == nil && child.Want != nil && child.Err == nil
		if !same || !waits {
			r.derivedValue(n, child, dv, mirror)
		}
	}
	var gone []*graph.Node
	for child := range n.Derived {
		if !exists[child.Key] {
			gone = append(gone, child)
		}
	}
	for _, child := range gone {
		if mirror {
			r.Graph.SetWant(child, nil)
		}
		r.absent(child)
	}
}

// derivedValue makes one derived value exist as its base was found. child may be nil.
func (r *Refresher) derivedValue(n, child *graph.Node, dv *registry.Derived, mirror bool) {
	if child == nil {
		child = r.Graph.Ensure(dv.Key, dv.Desc, n)
	}
	have := actualDerived(n, child, dv)
	switch {
	case mirror && n.Owner == graph.Adopted && n.Want == n.Have:
		r.Graph.SetWant(child, dv.Value)
	case mirror || child.Want == nil:
		r.Graph.SetWant(child, have)
	}
	if child.Have == nil || child.Have.FromSB != have.FromSB || !proto.Equal(child.Have.Msg, have.Msg) {
		_ = r.Graph.SetHave(child, have, nil, derivedFound(child, have)) // derived values have no metadata
	}
	child.Missing = false
}

// actualDerived describes a derived value of a base that was found, and reuses the desired
// value if it is the same.
func actualDerived(n, child *graph.Node, dv *registry.Derived) *registry.Value {
	have := dv.Value
	if !n.Ours() && !have.FromSB && !child.Ours() { // it was not made here either
		have = &registry.Value{Msg: have.Msg, FromSB: true}
	}
	if child.Want != nil && child.Want.FromSB == have.FromSB && proto.Equal(child.Want.Msg, have.Msg) {
		return child.Want
	}
	return have
}

// appearance is what the status of a value with its derived ones depends on,
// as far as a refresh changes it.
type appearance struct {
	itself  uint64
	derived uint64 // a sum over the derived values, in no order
}

func look(n *graph.Node) appearance {
	a := appearance{itself: facts(n)}
	for child := range n.Derived {
		a.derived += maphash.String(seed, child.Key) * (facts(child) + 1)
	}
	return a
}

// facts are the facts about one value, a bit for each.
func facts(n *graph.Node) (bits uint64) {
	for i, is := range [...]bool{n.Want != nil, n.Obtained(), n.Have != nil, n.Missing, n.Err != nil, n.Retrying} {
		if is {
			bits |= 1 << i
		}
	}
	return bits
}

// seed is the seed of sums over derived values.
var seed = maphash.MakeSeed()

// compare reports a value that does not look as before.
func (r *Refresher) compare(n *graph.Node, before appearance) {
	if look(n) != before {
		r.Observer.Changed(n.Key)
	}
}
