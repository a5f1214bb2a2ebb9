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
	p.noteUnmet(n, name(dep))
	if len(n.children) > 0 && n.holder == n.key {
		p.left = append(p.left, n)
	}
}

// noteUnmet notes what a held value lacks.
func (p *planner) noteUnmet(n *node, what string) {
	if p.lackOf == nil {
		p.lackOf = map[*node]string{}
	}
	p.lackOf[n] = what
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
		req.left[n.key] = p.lackOf[n]
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

// held reports whether something is desired of an existing value that it cannot have,
// because another one holds it or it was adopted.
func (n *node) held() bool {
	return n.exists() && n.holder != "" && (n.aim() != n.have || n.unmetHeld)
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
