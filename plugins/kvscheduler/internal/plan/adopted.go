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

// relent finds an adopted value that was left as it is although, now that others
// are as well, nothing is missing for its change. It returns the request that
// does not leave it; false if there is none. Each is tried once: two may lack
// something each of what the other one gives up.
func (p *planner) relent(req Request) (Request, bool) {
	for _, key := range slices.Sorted(maps.Keys(req.left)) {
		var n *node
		if gn := p.g.Node(key); gn != nil {
			n = p.of(gn)
		}
		if req.relented[key] || n == nil || !n.exists() || n.aim() == nil || !p.metAll(n, n.aim()) {
			continue
		}
		req.left, req.relented = maps.Clone(req.left), maps.Clone(req.relented)
		if req.relented == nil {
			req.relented = map[string]bool{}
		}
		delete(req.left, key)
		req.relented[key] = true
		return req, true
	}
	return req, false
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
