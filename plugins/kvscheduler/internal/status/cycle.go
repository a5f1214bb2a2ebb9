package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/dag"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// cycles finds the values that wait for each other. The scheduler creates such
// values together, so they only wait if one of them failed or has another unmet
// dependency. The Reader caches the result, so that the status of all values visits
// each relation between waiting values once.
type cycles struct {
	scc   *dag.SCC               // of node numbers; nil before the first use
	nodes map[int32]*graph.Node  // the visited nodes, by number
	of    map[*graph.Node]*cycle // the nodes in cycles
	next  []*graph.Node          // buffer for Reader.next
	// bases holds the waiting base values by the keys of their derived values. It is
	// nil before comesWith fills it in, which requires thorough.
	bases    map[string]*graph.Node
	thorough bool
}

// cycle is a set of values that wait for each other; they are sorted by key.
type cycle struct {
	members  []*graph.Node
	blockers []string // see Reader.blockers
}

// waits reports whether the value is desired and does not exist.
func waits(n *graph.Node) bool { return n.Want != nil && n.Want.Invalid == nil && n.Have == nil }

// next appends the waiting values that n waits for.
func (r *Reader) next(out []*graph.Node, n *graph.Node) []*graph.Node {
	if n.Base != nil && waits(n.Base) {
		out = append(out, n.Base)
	}
	for i := range n.Want.Deps {
		if m := r.waitsFor(n, i); m != nil {
			out = append(out, m)
		}
	}
	return out
}

// waitsFor returns the only possible provider of the unmet dependency i of the
// desired value of n, if it waits as well; otherwise nil.
func (r *Reader) waitsFor(n *graph.Node, i int) *graph.Node {
	dep := &n.Want.Deps[i]
	var only *graph.Node
	if dep.Key != "" {
		if only = r.named(n, n.Want, i); only == nil {
			only = r.comesWith(dep.Key)
		}
	} else if r.provider(dep) == nil {
		only = r.only(dep)
	}
	if only == nil || !waits(only) {
		return nil
	}
	return only
}

// named returns the node of the key in dependency i of a value, or nil.
func (r *Reader) named(n *graph.Node, v *registry.Value, i int) *graph.Node {
	if to, ok := n.Exact(v, i); ok {
		return to
	}
	return r.Graph.Node(v.Deps[i].Key)
}

// cycle returns the cycle that contains a value, or nil.
func (r *Reader) cycle(n *graph.Node) *cycle {
	if !waits(n) {
		return nil
	}
	c := &r.cycles
	if c.scc == nil {
		c.scc = &dag.SCC{Next: r.edges, Found: r.component}
		c.nodes, c.of = map[int32]*graph.Node{}, map[*graph.Node]*cycle{}
	}
	c.nodes[n.Number] = n
	c.scc.Visit(n.Number)
	return c.of[n]
}

// edges appends the numbers of the nodes that a node waits for.
func (r *Reader) edges(out []int32, number int32) []int32 {
	c := &r.cycles
	c.next = r.next(c.next[:0], c.nodes[number])
	for _, m := range c.next {
		c.nodes[m.Number] = m
		out = append(out, m.Number)
	}
	return out
}

// component records a set of values that wait for each other.
func (r *Reader) component(numbers []int32, cyclic bool) {
	if !cyclic {
		return
	}
	found := &cycle{}
	for _, number := range numbers {
		n := r.cycles.nodes[number]
		found.members = append(found.members, n)
		r.cycles.of[n] = found
	}
	slices.SortFunc(found.members, func(a, b *graph.Node) int { return strings.Compare(a.Key, b.Key) })
	found.blockers = r.blockers(found.members)
}

// maxBlockers limits the blockers that the description of a cycle names.
const maxBlockers = 3

// blockers lists the failures and the unmet dependencies of the members, other than
// those on each other.
func (r *Reader) blockers(members []*graph.Node) (list []string) {
	inside := map[*graph.Node]bool{}
	for _, m := range members {
		inside[m] = true
	}
	for _, m := range members {
		if m.Err != nil {
			list = append(list, fmt.Sprintf("%s is %v", m.Key, plan.State(m)))
		}
		if problem := r.Facts.SessionProblem(m.Desc.Session()); problem != "" {
			list = append(list, problem)
		}
		if m.Base != nil && m.Base.Have == nil && !inside[m.Base] {
			list = append(list, m.Base.Key+" is missing")
		}
		now := actual{r, m}
		graph.Lacks(now, m.Want, func(i int, dep *api.Dependency) bool {
			if !inside[r.waitsFor(m, i)] {
				list = append(list, label(dep)+cmp.Or(reasons[now.Why(dep)], " is missing"))
			}
			return true
		})
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if more := len(list) - maxBlockers; more > 0 {
		list = append(list[:maxBlockers], fmt.Sprintf("and %d more", more))
	}
	return list
}

// maxWay limits the size of the cycles that are described in full.
const maxWay = 16

// Circle describes the cycle in which a value waits for itself and what blocks that
// cycle; empty if there is none.
func (r *Reader) Circle(n *graph.Node) string {
	c := r.cycle(n)
	if c == nil || len(c.blockers) == 0 {
		return "" // they are about to be created
	}
	way := fmt.Sprintf("%s is one of %d values that wait for each other", n.Key, len(c.members))
	if len(c.members) <= maxWay {
		way = strings.Join(r.way(n, c), " -> ")
	}
	return api.WaitsForItself + way + "; " + strings.Join(c.blockers, ", ")
}

// way returns the shortest path from a value to itself.
func (r *Reader) way(n *graph.Node, c *cycle) []string {
	from := map[*graph.Node]*graph.Node{}
	for queue := []*graph.Node{n}; len(queue) > 0; queue = queue[1:] {
		for _, m := range r.next(nil, queue[0]) {
			if r.cycle(m) != c || from[m] != nil {
				continue
			}
			from[m] = queue[0]
			if m != n {
				queue = append(queue, m)
				continue
			}
			way := []string{n.Key}
			for at := from[n]; at != n; at = from[at] {
				way = append(way, at.Key)
			}
			way = append(way, n.Key)
			slices.Reverse(way)
			return way
		}
	}
	return []string{n.Key}
}

// comesWith returns the waiting base value that will derive a key, or nil. It
// searches all values, so it returns nil unless cycles.thorough is set.
func (r *Reader) comesWith(key string) *graph.Node {
	if !r.cycles.thorough {
		return nil
	}
	if r.cycles.bases == nil {
		r.cycles.bases = map[string]*graph.Node{}
		for n := range r.Graph.Nodes {
			if waits(n) && n.Desc != nil {
				for i := range n.Want.Derived {
					r.cycles.bases[n.Want.Derived[i].Key] = n
				}
			}
		}
	}
	return r.cycles.bases[key]
}
