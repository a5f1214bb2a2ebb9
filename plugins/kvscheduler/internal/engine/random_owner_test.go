package engine_test

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
)

// ownerChanged checks each change of owner: it must be one of graph.Transitions, and the
// value must be one that such an owner can have. What is given back while an operation on
// it hangs becomes one when that returns.
func (w *world) ownerChanged(n *graph.Node, from graph.Owner, by graph.Event) {
	problem := ""
	switch owner := n.Owner; {
	case !by.Allowed(from):
		problem = "which is no transition"
	case (owner == graph.None) != (n.Have == nil):
		problem = fmt.Sprintf("and exists: %t", n.Have != nil)
	case owner == graph.Adopted && n.IsDerived():
		problem = "and derived"
	case n.Have == nil || owner == graph.Adopted || by == graph.GivenBack:
	case n.Have.FromSB == (owner == graph.Ours):
		problem = fmt.Sprintf("and from the southbound: %t", n.Have.FromSB)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.transitions[fmt.Sprintf("%v: %v -> %v", by, from, n.Owner)]++
	if problem != "" {
		w.broken("owner of %s: %v -> %v by %q, %s", n.Key, from, n.Owner, by, problem)
	}
}
