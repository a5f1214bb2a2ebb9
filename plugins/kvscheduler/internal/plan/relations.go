package plan

import (
	"strings"

	"github.com/google/btree"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// newDependents are the values that get dependencies which the graph does not have
// yet, by what they depend on.
type newDependents struct {
	complete  bool // else there are none yet; see linkAll
	exact     map[string][]*node
	byPattern map[graph.KeyPattern]*newcomers
	byPrefix  map[string][]*newcomers
	lengths   map[int]bool // of the prefixes
}

// newcomers are values that are not in the graph yet, with the same pattern.
type newcomers struct {
	of    graph.KeyPattern
	nodes []*node
}

// add adds n by the dependencies of its new value.
func (d *newDependents) add(n *node, v *registry.Value) {
	for i := range v.Deps {
		dep := &v.Deps[i]
		if dep.Key != "" {
			d.exact[dep.Key] = append(d.exact[dep.Key], n)
			continue
		}
		for _, prefix := range graph.Prefixes(dep) {
			d.addTo(graph.NewKeyPattern(prefix, dep.AnyOf.KeySelector), n)
		}
	}
}

func (d *newDependents) addTo(of graph.KeyPattern, n *node) {
	c := d.byPattern[of]
	if c == nil {
		c = &newcomers{of: of}
		d.byPattern[of] = c
		d.byPrefix[of.Prefix] = append(d.byPrefix[of.Prefix], c)
		d.lengths[len(of.Prefix)] = true
	}
	c.nodes = append(c.nodes, n)
}

// of iterates over the values with a dependency that the key may meet. affected
// reports whether the key matches a pattern, and those with it have to be looked at.
func (d *newDependents) of(key string, affected func(graph.KeyPattern) bool, yield func(*graph.Node, *node)) {
	all := func(list []*node) {
		for _, n := range list {
			yield(n.node, n)
		}
	}
	all(d.exact[key])
	for length := range d.lengths {
		if length > len(key) {
			continue
		}
		for _, c := range d.byPrefix[key[:length]] {
			if affected(c.of) {
				all(c.nodes)
			}
		}
	}
}

// linkAll notes the dependencies of all new wishes. Most plans take no
// assumption back, and need none of it.
func (p *planner) linkAll() {
	p.added = newDependents{
		complete: true,
		exact:    map[string][]*node{}, byPattern: map[graph.KeyPattern]*newcomers{},
		byPrefix: map[string][]*newcomers{}, lengths: map[int]bool{},
	}
	for _, n := range p.list {
		if n.want != nil && n.want != n.oldWant && n.want != n.have {
			p.added.add(n, n.want)
		}
	}
}

// dependents iterates over the values that may depend on the key of d, which is
// not in the target: all of those in the graph, touched or not, and the new
// ones; without those for which another one is.
func (p *planner) dependents(d *node, yield func(*graph.Node, *node)) {
	if !p.added.complete {
		p.linkAll()
	}
	p.dependentsOf(d, p.patterns.unharmed, func(gn *graph.Node) { yield(gn, p.of(gn)) })
	p.added.of(d.key, func(of graph.KeyPattern) bool {
		return p.g.Selects(of, d.key) && !p.patterns.unharmedNews(of)
	}, yield)
}

// dependentsOf iterates over the nodes in the graph that may depend on the key
// of d; see graph.AnyOfDependents for skip.
func (p *planner) dependentsOf(d *node, skip func(graph.KeyPattern) bool, yield func(*graph.Node)) {
	switch {
	case d.leaf:
	case d.node != nil:
		p.g.NamingNode(d.node, yield)
	default:
		p.g.Naming(d.key, yield)
	}
	p.g.AnyOfDependents(d.key, skip, yield)
}

// named returns what dependency i of v names by its key: the node in the
// graph, nil if there is none, and the planner's view of it, nil if it was not
// touched. v is what n wants, has or is to become. What is new with this plan
// has to be looked for, which is most of the work on a large plan, so it is
// remembered.
func (p *planner) named(n *node, v *registry.Value, i int) (*graph.Node, *node) {
	key := v.Deps[i].Key
	if n.node != nil {
		if gn, ok := n.node.Exact(v, i); ok {
			if gn == nil {
				return nil, p.newNodes[key]
			}
			return gn, p.of(gn)
		}
	}
	if i < len(n.exact) && n.exact[i] != nil && n.exact[i].key == key {
		return n.exact[i].node, n.exact[i]
	}
	gn, w := p.look(key)
	if i < len(n.exact) {
		n.exact[i] = w
	}
	return gn, w
}

// look returns what is known of a key that was not known to name a node of the
// graph: that node, nil if there is none, and the planner's view of it. Mostly
// it is the key of the last lookup, or the next one.
func (p *planner) look(key string) (*graph.Node, *node) {
	for _, n := range p.list[p.near:min(int(p.near)+2, len(p.list))] {
		if n.key == key {
			p.near = n.place
			return n.node, n
		}
	}
	n := p.newNodes[key]
	var gn *graph.Node
	if n == nil {
		if gn = p.g.Node(key); gn != nil {
			n = p.of(gn)
		}
	}
	if n != nil {
		p.near = n.place
	}
	return gn, n
}

// matches iterates over the values that meet the dependency, among those that
// exist or were touched, until yield returns false. Those that were not touched
// are given with their graph node alone, new ones with their view alone.
func (p *planner) matches(dep *api.Dependency, yield func(*graph.Node, *node) bool) {
	if dep.Key != "" {
		if gn, n := p.look(dep.Key); gn != nil || n != nil {
			yield(gn, n)
		}
		return
	}
	more := true
	for _, prefix := range graph.Prefixes(dep) {
		pattern := graph.NewKeyPattern(prefix, dep.AnyOf.KeySelector)
		p.g.Existing(prefix, func(gn *graph.Node) bool {
			if p.g.Selects(pattern, gn.Key) {
				more = yield(gn, p.of(gn))
			}
			return more
		})
		if !more {
			return
		}
		p.byKey().AscendGreaterOrEqual(&node{key: prefix}, func(n *node) bool {
			if !strings.HasPrefix(n.key, prefix) {
				return false
			}
			if p.g.Selects(pattern, n.key) {
				more = yield(n.node, n)
			}
			return more
		})
		if !more {
			return
		}
	}
}

// byKey returns the touched values that do not exist, sorted.
func (p *planner) byKey() *btree.BTreeG[*node] {
	if p.sorted == nil {
		p.sorted = btree.NewG(32, func(a, b *node) bool { return a.key < b.key })
		for _, n := range p.list {
			if !n.exists() {
				p.sorted.ReplaceOrInsert(n)
			}
		}
	}
	return p.sorted
}
