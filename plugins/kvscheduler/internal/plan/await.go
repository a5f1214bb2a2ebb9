package plan

import "github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"

// await makes failed values wait for what they depend on, if that does not exist in the
// target: a retry could not succeed.
func (p *planner) await() {
	for _, n := range p.seeds {
		if n.changed && n.node != nil && n.oldWant != nil {
			p.awaitDerived(n)
		}
	}
	for _, gn := range p.failed {
		if p.of(gn) == nil && p.unmet(&node{key: gn.Key, node: gn}, gn.Want) != nil {
			p.late = append(p.late, gn.Key)
		}
	}
}

// awaitDerived looks at failed values that depend on what was to be derived from the
// earlier desired value of n, and is not in the graph: nothing else leads to them.
func (p *planner) awaitDerived(n *node) {
	for i := range n.oldWant.Derived {
		key := n.oldWant.Derived[i].Key
		if n.node.Child(i, key) != nil || p.newNodes[key] != nil || p.g.Node(key) != nil {
			continue
		}
		p.dependents(&node{key: key}, func(gn *graph.Node, q *node) {
			if q == nil && gn.Have == nil && gn.Err != nil && gn.Want != nil {
				p.failed = append(p.failed, gn)
			}
		})
	}
}
