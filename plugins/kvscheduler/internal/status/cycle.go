package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// cycles finds the values that wait for each other. Such values come up
// together, so they only wait if one of them lacks something else or failed.
// What was found is kept for the life of the Reader, so that all values
// together cost no more than the relations among those that wait.
type cycles struct {
	visits visits
	stack  []int32       // visits
	next   []*graph.Node // of the visits that are not over, one after the other
	// bases are the values that derived ones come with, where these do not exist
	// yet; nil: not looked for.
	bases    map[string]*graph.Node
	thorough bool // they are to be looked for
}

type visit struct {
	n       *graph.Node
	low     int32
	onStack bool
	cycle   *cycle // that it is in, once known; nil: in none
}

// visits are found by the numbers of their nodes, in pages, because most of the
// time few nodes wait.
type visits struct {
	list  []visit              // in order
	pages []*[visitsPage]int32 // places in list, plus one
}

const visitsPage = 1024

// of is the visit of a node, -1 if there was none.
func (v *visits) of(n *graph.Node) int32 {
	page := n.Number() / visitsPage
	if page >= len(v.pages) || v.pages[page] == nil {
		return -1
	}
	return v.pages[page][n.Number()%visitsPage] - 1
}

// add begins a visit.
func (v *visits) add(n *graph.Node) int32 {
	page := n.Number() / visitsPage
	if page >= len(v.pages) {
		v.pages = append(v.pages, make([]*[visitsPage]int32, page+1-len(v.pages))...)
	}
	if v.pages[page] == nil {
		v.pages[page] = new([visitsPage]int32)
	}
	number := int32(len(v.list))
	v.list = append(v.list, visit{n: n, low: number, onStack: true})
	v.pages[page][n.Number()%visitsPage] = number + 1
	return number
}

// cycle is a set of values of which each waits for each, sorted by key.
type cycle struct {
	members  []*graph.Node
	blockers []string // what they lack
}

// waits tells that the value is wanted and does not exist.
func waits(n *graph.Node) bool { return n.Want != nil && n.Want.Invalid == nil && n.Have == nil }

// next appends the values that n waits for and that wait themselves.
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

// waitsFor is the one value that can meet dependency i of what n wants, if that
// is unmet, and that waits; nil if there is none, or a choice.
func (r *Reader) waitsFor(n *graph.Node, i int) *graph.Node {
	dep := &n.Want.Deps[i]
	var only *graph.Node
	if dep.Key != "" {
		if only = r.named(n, n.Want, i); only == nil {
			only = r.comesWith(dep.Key)
		}
	} else if r.witness(dep) == nil {
		only = r.only(dep)
	}
	if only == nil || !waits(only) {
		return nil
	}
	return only
}

// named is the node that dependency i of a value names by its key, or nil.
func (r *Reader) named(n *graph.Node, v *registry.Value, i int) *graph.Node {
	if to, ok := n.Exact(v, i); ok {
		return to
	}
	return r.Graph.Node(v.Deps[i].Key)
}

// cycle returns the cycle that the value is in, or nil.
func (r *Reader) cycle(n *graph.Node) *cycle {
	if !waits(n) {
		return nil
	}
	at := r.cycles.visits.of(n)
	if at < 0 {
		at = r.tarjan(n)
	}
	return r.cycles.visits.list[at].cycle
}

// frame is a visit that is not over. What it leads to is in next of cycles, from
// a place on, up to where that of the following frame begins.
type frame struct {
	at, from, next int32
}

// tarjan finds the strongly connected components that n leads to; it does not
// recur, so that long chains do no harm.
func (r *Reader) tarjan(root *graph.Node) int32 {
	c := &r.cycles
	open := func(n *graph.Node) frame {
		at, from := c.visits.add(n), int32(len(c.next))
		c.stack = append(c.stack, at)
		c.next = r.next(c.next, n)
		return frame{at, from, from}
	}
	frames := []frame{open(root)}
	first := frames[0].at
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		v := &c.visits.list[f.at]
		if int(f.next) < len(c.next) {
			m := c.next[f.next]
			f.next++
			if seen := c.visits.of(m); seen < 0 {
				frames = append(frames, open(m))
			} else if c.visits.list[seen].onStack {
				v.low = min(v.low, seen)
			}
			continue
		}
		at, selfish := f.at, slices.Contains(c.next[f.from:], v.n)
		c.next = c.next[:f.from]
		frames = frames[:len(frames)-1]
		if len(frames) > 0 {
			parent := &c.visits.list[frames[len(frames)-1].at]
			parent.low = min(parent.low, v.low)
		}
		if v.low == at {
			r.component(at, selfish)
		}
	}
	return first
}

// component takes a component off the stack.
func (r *Reader) component(root int32, selfish bool) {
	c := &r.cycles
	at := len(c.stack) - 1 // it is near the end
	for c.stack[at] != root {
		at--
	}
	of := c.stack[at:]
	c.stack = c.stack[:at]
	var found *cycle
	if len(of) > 1 || selfish {
		found = &cycle{members: make([]*graph.Node, 0, len(of))}
	}
	for _, number := range of {
		v := &c.visits.list[number]
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
			if r.met(m, i) == nil && !inside[r.waitsFor(m, i)] {
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
	return api.WaitsForItself + way + "; " + strings.Join(c.blockers, ", ")
}

// way is the shortest way from a value to itself.
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
