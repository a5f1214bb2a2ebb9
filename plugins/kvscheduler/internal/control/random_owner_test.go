package control_test

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
)

// ownerChanged checks each change of owner: it must be one of graph.Transitions, and the
// value must be one that such an owner can have.
func (w *world) ownerChanged(n *graph.Node, from graph.Owner, by graph.Event) {
	problem := ""
	switch owner := n.Owner(); {
	case !by.Allowed(from):
		problem = "which is no transition"
	case (owner == graph.None) != (n.Have == nil):
		problem = fmt.Sprintf("and exists: %t", n.Have != nil)
	case n.Have != nil && n.Have.FromSB && owner == graph.Ours, n.Have != nil && !n.Have.FromSB && owner > graph.Adopted:
		problem = fmt.Sprintf("and from the southbound: %t", n.Have.FromSB)
	case owner == graph.Adopted && n.IsDerived():
		problem = "and derived"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.transitions[fmt.Sprintf("%v: %v -> %v", by, from, n.Owner())]++
	if problem != "" {
		w.broken("owner of %s: %v -> %v by %q, %s", n.Key, from, n.Owner(), by, problem)
	}
}
