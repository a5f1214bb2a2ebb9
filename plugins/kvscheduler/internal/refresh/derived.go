package refresh

import (
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// completed tells that the scheduler made values that are derived from one of the
// southbound.
func completed(n *graph.Node) bool {
	for child := range n.Derived {
		if child.Have != nil && !child.Have.FromSB {
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

// derived makes the derived values exist as their base was found. Where the
// base is what it was believed to be, derived values that wait for something
// are not there.
func (r *Refresher) derived(n *graph.Node, same bool) {
	exists := make(map[string]bool, len(n.Have.Derived))
	mirror := n.Want == nil || n.Want.FromSB || n.Want == n.Have || n.Want.Observed ||
		n.Want.Last == n.Have && n.Have.FromSB // others' values stay in force, whatever they are
	for i := range n.Have.Derived {
		dv := &n.Have.Derived[i]
		child := n.Child(i, dv.Key)
		if child == nil {
			child = r.Graph.Node(dv.Key)
		}
		if child != nil && child.Base != n {
			continue
		}
		if same && child != nil && child.Have == nil && child.Want != nil && child.Err == nil {
			exists[dv.Key] = true
			continue
		}
		if child == nil {
			child = r.Graph.Ensure(dv.Key, dv.Desc, n)
		}
		exists[dv.Key] = true
		have := dv.Value
		if (n.Have.FromSB || n.Adopted) && !have.FromSB && (child.Have == nil || child.Have.FromSB) { // it was not made here either
			have = &registry.Value{Msg: have.Msg, FromSB: true}
		}
		if child.Want != nil && child.Want.FromSB == have.FromSB && proto.Equal(child.Want.Msg, have.Msg) {
			have = child.Want
		}
		switch {
		case mirror && n.Adopted && n.Want == n.Have:
			r.Graph.SetWant(child, dv.Value)
		case mirror || child.Want == nil:
			r.Graph.SetWant(child, have)
		}
		if child.Have == nil || child.Have.FromSB != have.FromSB || !proto.Equal(child.Have.Msg, have.Msg) {
			_ = r.Graph.SetHave(child, have, nil) // derived values have no metadata
		}
		child.Missing = false
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
