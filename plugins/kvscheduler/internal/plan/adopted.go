package plan

import (
	"maps"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// changesInPlace: what exists need not be removed to become the target.
func (p *planner) changesInPlace(n *node) bool {
	return n.target == n.have || n.desc.Equivalent(n.key, n.have.Msg, n.target.Msg) ||
		!n.desc.NeedsRecreate(n.key, n.have.Msg, n.target.Msg, n.node.Meta)
}

// leaving is the request with the adopted values that turned out to lack
// something for their change: what is derived from them stays as well, so that
// has to be planned for from the start.
func (p *planner) leaving(req Request) Request {
	req.left = maps.Clone(req.left)
	if req.left == nil {
		req.left = map[string]bool{}
	}
	for _, key := range p.left {
		req.left[key] = true
	}
	return req
}

// relent finds the adopted values that were left as they are although, now that
// others are as well, nothing is missing for their change. It returns the request
// that does not leave them; false if there are none. They are tried together, and
// after that each by itself: two may lack something each of what the other one
// gives up. What remains is a knot.
func (p *planner) relent(req Request) (Request, bool) {
	var again, alone []string
	for _, key := range slices.Sorted(maps.Keys(req.left)) {
		var n *node
		if gn := p.g.Node(key); gn != nil {
			n = p.of(gn)
		}
		if n == nil || !n.exists() || n.aim() == nil || !p.metAll(n, n.aim()) {
			continue
		}
		switch req.relented[key] {
		case 0:
			again = append(again, key)
		case 1:
			alone = append(alone, key)
		default:
			n.knot = true
		}
	}
	if len(again) == 0 {
		again = alone[:min(1, len(alone))]
	}
	if len(again) == 0 {
		return req, false
	}
	req.left, req.relented = maps.Clone(req.left), maps.Clone(req.relented)
	if req.relented == nil {
		req.relented = map[string]int{}
	}
	for _, key := range again {
		delete(req.left, key)
		req.relented[key]++
	}
	return req, true
}

// aim is what an existing value would be if nothing held it.
func (n *node) aim() *registry.Value {
	switch {
	case n.want == nil || n.want.Invalid == nil || n.want.Last == nil:
		return n.want
	case n.want.Last.FromSB && n.have.FromSB:
		return n.have
	}
	return n.want.Last
}
