package plan

import (
	"cmp"
	"maps"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Hold is why a value stays as it is.
type Hold struct {
	// By is the key of a value standing on it that cannot be removed; its own key if it
	// was adopted; Unsure.
	By string
	// Lacks is what its change needs, or the value itself, and does not have; it may be empty.
	Lacks string
}

// changesInPlace: what exists need not be removed to become the target.
func (p *planner) changesInPlace(n *node) bool {
	return n.target == n.have || n.desc.Equivalent(n.key, n.have.Msg, n.target.Msg) ||
		!n.desc.NeedsRecreate(n.key, n.have.Msg, n.target.Msg, n.node.Meta)
}

// stay makes a value that has to stay stay as it is if its target lacks something.
func (p *planner) stay(n *node) {
	dep := p.unmet(n, n.target)
	if dep == nil {
		return
	}
	n.target = n.have
	p.lacking(n, name(dep))
	if n.derived && n.holder == n.key {
		p.left = append(p.left, n)
	}
}

// lacking notes what a held value lacks.
func (p *planner) lacking(n *node, what string) {
	if p.lacks == nil {
		p.lacks = map[*node]string{}
	}
	p.lacks[n] = what
}

// leaving is the request with the adopted values that turned out to lack
// something for their change: what is derived from them stays as well, so that
// has to be planned for from the start.
func (p *planner) leaving(req Request) Request {
	req.left = maps.Clone(req.left)
	if req.left == nil {
		req.left = map[string]string{}
	}
	for _, n := range p.left {
		req.left[n.key] = p.lacks[n]
	}
	return req
}

// name is what people recognise a dependency by.
func name(dep *api.Dependency) string {
	if dep.Key != "" {
		return dep.Key
	}
	return cmp.Or(strings.Join(dep.AnyOf.KeyPrefixes, "* or "), dep.Label, "any of several values") + "*"
}

// relent finds the adopted values that were left as they are although, now that
// others are as well, nothing is missing for their change. It returns the request
// that does not leave them; false if there are none. That is tried once, with all of
// them. Those that lack something again, which the change of one of them takes away, are
// knots.
func (p *planner) relent(req Request) (Request, bool) {
	again := maps.Clone(req.left)
	maps.DeleteFunc(again, func(key, _ string) bool { return !p.lacksNothing(key, req.relented) })
	if len(again) == 0 || req.relented {
		return req, false
	}
	req.left, req.relented = maps.Clone(req.left), true
	maps.DeleteFunc(req.left, func(key, _ string) bool { return again[key] != "" })
	return req, true
}

// lacksNothing reports whether nothing is missing for the change of a value that is left;
// knot notes that it is left all the same.
func (p *planner) lacksNothing(key string, knot bool) bool {
	gn := p.g.Node(key)
	if gn == nil {
		return false
	}
	n := p.of(gn)
	if n == nil || !n.exists() || n.aim() == nil || !p.metAll(n, n.aim()) {
		return false
	}
	n.knot = knot
	return true
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
