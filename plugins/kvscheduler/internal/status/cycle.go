package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// cycles finds the values that wait for each other. Such values come up
// together, so they only wait if one of them lacks something else or failed.
// What was found is kept for the life of the Reader, so that all values
// together cost no more than the relations among those that wait.
type cycles struct {
	of      map[*graph.Node]*cycle // of those that were visited; nil: in no cycle
	counter int
	visits  map[*graph.Node]*visit
	stack   []*graph.Node
	// bases are the values that derived ones come with, where these do not exist
	// yet; nil: not looked for.
	bases    map[string]*graph.Node
	thorough bool // they are to be looked for
}

type visit struct {
	num, low int
	onStack  bool
}

// cycle is a set of values of which each waits for each, sorted by key.
type cycle struct {
	members  []*graph.Node
	blockers []string // what they lack
}

// waits tells that the value is wanted and does not exist.
func waits(n *graph.Node) bool { return n.Want != nil && n.Want.Invalid == nil && n.Have == nil }

// next lists the values that n waits for and that wait themselves.
func (r *Reader) next(n *graph.Node) (out []*graph.Node) {
	if n.Base != nil && waits(n.Base) {
		out = append(out, n.Base)
	}
	for i := range n.Want.Deps {
		if m := r.waitsFor(&n.Want.Deps[i]); m != nil {
			out = append(out, m)
		}
	}
	return out
}

// waitsFor is the one value that can meet an unmet dependency and that waits;
// nil if there is none, or a choice.
func (r *Reader) waitsFor(dep *api.Dependency) *graph.Node {
	if r.witness(dep) != nil {
		return nil
	}
	if dep.Key != "" {
		m := r.Graph.Node(dep.Key)
		if m == nil {
			m = r.comesWith(dep.Key)
		}
		if m == nil || !waits(m) {
			return nil
		}
		return m
	}
	var only *graph.Node
	several := false
	for _, prefix := range dep.AnyOf.KeyPrefixes {
		r.Graph.Ascend(prefix, func(m *graph.Node) bool {
			if graph.Meets(dep, m.Key) && m != only {
				several = only != nil
				only = m
			}
			return !several
		})
	}
	if several || only == nil || !waits(only) {
		return nil
	}
	return only
}

// cycle returns the cycle that the value is in, or nil.
func (r *Reader) cycle(n *graph.Node) *cycle {
	if !waits(n) {
		return nil
	}
	if r.cycles.of == nil {
		r.cycles.of, r.cycles.visits = map[*graph.Node]*cycle{}, map[*graph.Node]*visit{}
	}
	if r.cycles.visits[n] == nil {
		r.tarjan(n)
	}
	return r.cycles.of[n]
}

type frame struct {
	n    *graph.Node
	adj  []*graph.Node
	next int
}

// tarjan finds the strongly connected components that n leads to; it does not
// recur, so that long chains do no harm.
func (r *Reader) tarjan(root *graph.Node) {
	c := &r.cycles
	open := func(n *graph.Node) frame {
		c.counter++
		c.visits[n] = &visit{c.counter, c.counter, true}
		c.stack = append(c.stack, n)
		return frame{n: n, adj: r.next(n)}
	}
	frames := []frame{open(root)}
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		v := c.visits[f.n]
		if f.next < len(f.adj) {
			m := f.adj[f.next]
			f.next++
			switch seen := c.visits[m]; {
			case seen == nil:
				frames = append(frames, open(m))
			case seen.onStack:
				v.low = min(v.low, seen.num)
			}
			continue
		}
		n := f.n
		selfish := slices.Contains(f.adj, n)
		frames = frames[:len(frames)-1]
		if len(frames) > 0 {
			parent := c.visits[frames[len(frames)-1].n]
			parent.low = min(parent.low, v.low)
		}
		if v.low == v.num {
			r.component(n, selfish)
		}
	}
}

// component takes a component off the stack.
func (r *Reader) component(root *graph.Node, selfish bool) {
	c := &r.cycles
	at := len(c.stack) - 1 // it is near the end
	for c.stack[at] != root {
		at--
	}
	members := slices.Clone(c.stack[at:])
	c.stack = c.stack[:at]
	for _, m := range members {
		c.visits[m].onStack = false
	}
	if len(members) == 1 && !selfish {
		return
	}
	slices.SortFunc(members, func(a, b *graph.Node) int { return strings.Compare(a.Key, b.Key) })
	found := &cycle{members: members}
	for _, m := range members {
		c.of[m] = found
	}
	found.blockers = r.blockers(members)
}

// maxBlockers bounds what is named of what a cycle lacks.
const maxBlockers = 3

// blockers lists what the members lack besides each other.
func (r *Reader) blockers(members []*graph.Node) (list []string) {
	inside := map[*graph.Node]bool{}
	for _, m := range members {
		inside[m] = true
	}
	for _, m := range members {
		if m.Err != nil {
			list = append(list, fmt.Sprintf("%s is %v", m.Key, plan.State(m)))
		}
		if problem := r.SessionProblem(m.Desc.Session()); problem != "" {
			list = append(list, problem)
		}
		if m.Base != nil && m.Base.Have == nil && !inside[m.Base] {
			list = append(list, m.Base.Key+" is missing")
		}
		for i := range m.Want.Deps {
			dep := &m.Want.Deps[i]
			if r.witness(dep) == nil && !inside[r.waitsFor(dep)] {
				list = append(list, label(dep)+" is missing")
			}
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if more := len(list) - maxBlockers; more > 0 {
		list = append(list[:maxBlockers], fmt.Sprintf("and %d more", more))
	}
	return list
}

const itself = "waits for itself: "

// maxWay bounds the cycles whose way is told.
const maxWay = 16

// Circle says that a value waits for itself, by which way, and what would end
// that; empty if it does not.
func (r *Reader) Circle(n *graph.Node) string {
	c := r.cycle(n)
	if c == nil || len(c.blockers) == 0 {
		return "" // they are about to come up
	}
	way := fmt.Sprintf("%s is one of %d values that wait for each other", n.Key, len(c.members))
	if len(c.members) <= maxWay {
		way = strings.Join(r.way(n, c), " -> ")
	}
	return itself + way + "; " + strings.Join(c.blockers, ", ")
}

// way is the shortest way from a value to itself.
func (r *Reader) way(n *graph.Node, c *cycle) []string {
	from := map[*graph.Node]*graph.Node{}
	for queue := []*graph.Node{n}; len(queue) > 0; queue = queue[1:] {
		for _, m := range r.next(queue[0]) {
			if r.cycles.of[m] != c || from[m] != nil {
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

// comesWith is the value from which one that does not exist yet is derived, if
// that is looked for: it takes a look at all values.
func (r *Reader) comesWith(key string) *graph.Node {
	if !r.cycles.thorough {
		return nil
	}
	if r.cycles.bases == nil {
		r.cycles.bases = map[string]*graph.Node{}
		r.Graph.Nodes(func(n *graph.Node) bool {
			if waits(n) && n.Desc != nil {
				for i := range n.Want.Derived {
					r.cycles.bases[n.Want.Derived[i].Key] = n
				}
			}
			return true
		})
	}
	return r.cycles.bases[key]
}
