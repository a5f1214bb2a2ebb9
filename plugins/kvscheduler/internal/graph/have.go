package graph

import (
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// AsItIs is what exists of a value, with the derived values that exist, and without
// relations. What is derived may not be what the message says: a change of it can have
// failed.
func (n *Node) AsItIs() *registry.Value {
	v := &registry.Value{Msg: n.Have.Msg, Assembled: true}
	for child := range n.Derived {
		if child.Have != nil {
			v.Derived = append(v.Derived, registry.Derived{Key: child.Key, Desc: child.Desc, Value: child.Have})
		}
	}
	slices.SortFunc(v.Derived, func(a, b registry.Derived) int { return strings.Compare(a.Key, b.Key) })
	return v
}

// AsFound is AsItIs of a value that belongs to others, with what is derived from it.
func (n *Node) AsFound() *registry.Value {
	v := n.AsItIs()
	v.FromSB = true
	for i := range v.Derived {
		v.Derived[i].Value = &registry.Value{Msg: v.Derived[i].Value.Msg, FromSB: true}
	}
	return v
}

// Terminating reports whether the value exists only because it, or a dependent of it, could
// not be removed yet: it is no longer desired. Nothing new is to depend on it.
func (n *Node) Terminating() bool {
	if n.Base != nil && n.Base.Terminating() {
		return true
	}
	return n.Want == nil && n.Have != nil && n.Err != nil
}
