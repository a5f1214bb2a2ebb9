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
	visits map[*graph.Node]*visit
	stack  []*visit
	// bases are the values that derived ones come with, where these do not exist
	// yet; nil: not looked for.
	bases    map[string]*graph.Node
	thorough bool // they are to be looked for
}

type visit struct {
	n        *graph.Node
	num, low int
	onStack  bool
	cycle    *cycle // that it is in, once known; nil: in none
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
	if r.cycles.visits == nil {
		r.cycles.visits = map[*graph.Node]*visit{}
	}
	v := r.cycles.visits[n]
	if v == nil {
		v = r.tarjan(n)
	}
	return v.cycle
}

type frame struct {
	*visit
	adj  []*graph.Node
	next int
}

// tarjan finds the strongly connected components that n leads to; it does not
// recur, so that long chains do no harm.
func (r *Reader) tarjan(root *graph.Node) *visit {
	c := &r.cycles
	open := func(n *graph.Node) frame {
		num := len(c.visits) + 1
		v := &visit{n: n, num: num, low: num, onStack: true}
		c.visits[n] = v
		c.stack = append(c.stack, v)
		return frame{visit: v, adj: r.next(n)}
	}
	frames := []frame{open(root)}
	first := frames[0].visit
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		if f.next < len(f.adj) {
			m := f.adj[f.next]
			f.next++
			switch seen := c.visits[m]; {
			case seen == nil:
				frames = append(frames, open(m))
			case seen.onStack:
				f.low = min(f.low, seen.num)
			}
			continue
		}
		v, selfish := f.visit, slices.Contains(f.adj, f.n)
		frames = frames[:len(frames)-1]
		if len(frames) > 0 {
			parent := frames[len(frames)-1]
			parent.low = min(parent.low, v.low)
		}
		if v.low == v.num {
			r.component(v, selfish)
		}
	}
	return first
}

// component takes a component off the stack.
func (r *Reader) component(root *visit, selfish bool) {
	c := &r.cycles
	at := len(c.stack) - 1 // it is near the end
	for c.stack[at] != root {
		at--
	}
	of := c.stack[at:]
	c.stack = c.stack[:at]
	var found *cycle
	if len(of) > 1 || selfish {
		found = &cycle{}
	}
	for _, v := range of {
		v.onStack, v.cycle = false, found
		if found != nil {
			found.members = append(found.members, v.n)
		}
	}
	if found != nil {
		slices.SortFunc(found.members, func(a, b *graph.Node) int { return strings.Compare(a.Key, b.Key) })
		found.blockers = r.blockers(found.members)
	}
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
