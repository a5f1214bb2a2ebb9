package plan

import (
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// linkAll notes the dependencies of all new wishes. Most plans take no
// assumption back, and need none of it.
func (p *planner) linkAll() {
	p.linked = true
	for _, n := range p.list {
		if n.want != nil && n.want != n.oldWant && n.want != n.have {
			p.link(n, n.want)
		}
	}
}

func (p *planner) link(n *node, v *registry.Value) {
	for i := range v.Deps {
		dep := &v.Deps[i]
		switch {
		case dep.Key != "":
			p.exact[dep.Key] = append(p.exact[dep.Key], n)
		case len(dep.AnyOf.KeyPrefixes) == 0:
			p.selected = append(p.selected, n)
		default:
			for _, prefix := range dep.AnyOf.KeyPrefixes {
				p.prefixes[prefix] = append(p.prefixes[prefix], n)
				p.lengths[len(prefix)] = true
			}
		}
	}
}

// dependents iterates over the values that may depend on the key: all of
// those in the graph, touched or not, and the new ones.
func (p *planner) dependents(key string, yield func(*graph.Node, *node)) {
	if !p.linked {
		p.linkAll()
	}
	p.g.Dependents(key, func(gn *graph.Node) { yield(gn, p.of(gn)) })
	for _, n := range p.exact[key] {
		yield(n.node, n)
	}
	for length := range p.lengths {
		if length <= len(key) {
			for _, n := range p.prefixes[key[:length]] {
				yield(n.node, n)
			}
		}
	}
	for _, n := range p.selected {
		yield(n.node, n)
	}
}

// matches iterates over all known keys that meet the dependency, until yield
// returns false. Keys that were not touched are given with their graph node.
func (p *planner) matches(dep *api.Dependency, yield func(*graph.Node, *node) bool) {
	if dep.Key != "" {
		if n := p.fresh[dep.Key]; n != nil {
			yield(nil, n)
		} else if gn := p.g.Node(dep.Key); gn != nil {
			yield(gn, p.of(gn))
		}
		return
	}
	prefixes := dep.AnyOf.KeyPrefixes
	if len(prefixes) == 0 {
		if dep.AnyOf.KeySelector == nil {
			return
		}
		prefixes = []string{""}
	}
	sel := dep.AnyOf.KeySelector
	more := true
	for _, prefix := range prefixes {
		p.g.Ascend(prefix, func(gn *graph.Node) bool {
			if sel == nil || sel(gn.Key) {
				more = yield(gn, p.of(gn))
			}
			return more
		})
		if !more {
			return
		}
		p.sorted.AscendGreaterOrEqual(&node{key: prefix}, func(n *node) bool {
			if !strings.HasPrefix(n.key, prefix) {
				return false
			}
			if sel == nil || sel(n.key) {
				more = yield(nil, n)
			}
			return more
		})
		if !more {
			return
		}
	}
}
