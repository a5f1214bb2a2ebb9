package plan

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
)

// terminating: n exists in the target only because it, or its base, cannot be removed
// now; see graph.Node.Terminating.
func (n *node) terminating() bool {
	if n.want == nil && n.in && (n.pinned || n.holder != "" && n.holder != n.key) {
		return true
	}
	return n.base != nil && n.base.want == nil && n.base.terminating()
}

// provides reports whether something else may stand on n in the target.
func (n *node) provides() bool { return n.in && !n.terminating() }

// restored: n was terminating, and is wanted again.
func (n *node) restored() bool {
	return n.want != nil && n.node != nil && (n.base == nil || n.base.want != nil) && n.node.Terminating()
}

// undermined: something that an unwanted value stands on is about to go. What
// such a value lacked when it was found is no reason to remove it.
func (p *planner) undermined(n *node) (goes bool) {
	p.lacks(n, n.target, func(why graph.Reason, _ *api.Dependency) bool {
		goes = why == graph.Leaving
		return !goes
	})
	return goes
}
