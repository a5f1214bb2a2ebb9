package plan

import "maps"

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
