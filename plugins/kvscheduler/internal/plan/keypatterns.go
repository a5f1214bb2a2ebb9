package plan

import (
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
)

// pattern is what the planner knows of the values that match a key pattern. Any of them
// is enough for some dependents. There may be many on either side, so what one of them finds
// out serves all.
type pattern struct {
	of                         graph.KeyPattern
	comes, meets, stays, moves provider

	// Those that wait for one of the values were notified that there is one, and
	// those who stand on one of them that there is none in the target, and none
	// that stays. Once is enough.
	woken, lost, lostNews, fallen bool
}

// provider is the first of the values that is good for something. Which are may
// only become fewer, so the search continues where it ended.
type provider struct {
	gn         *graph.Node // one that exists
	noneExists bool        // there is none of those
	n          *node       // one that does not exist
	none       bool        // nor of those
}

// patterns are those that the plan has to do with.
type patterns struct {
	p     *planner
	known map[graph.KeyPattern]*pattern
}

func (ps *patterns) pattern(of graph.KeyPattern) *pattern {
	c := ps.known[of]
	if c == nil {
		if ps.known == nil {
			ps.known = map[graph.KeyPattern]*pattern{}
		}
		c = &pattern{of: of}
		ps.known[of] = c
	}
	return c
}

// existing reports whether an existing value that matches the pattern is good, and
// remembers it in w. Values that were not touched are good, unless terminating.
func (ps *patterns) existing(c *pattern, w *provider, good func(n *node) bool) bool {
	if w.noneExists {
		return false
	}
	from := c.of.Prefix
	if w.gn != nil {
		if n := ps.p.of(w.gn); n == nil && w.gn.Provides() || n != nil && good(n) {
			return true
		}
		from = w.gn.Key
	}
	w.gn = nil
	ps.p.g.ExistingFrom(c.of.Prefix, from, func(gn *graph.Node) bool {
		if n := ps.p.of(gn); (n == nil && gn.Provides() || n != nil && good(n)) && ps.p.g.Selects(c.of, gn.Key) {
			w.gn = gn
		}
		return w.gn == nil
	})
	w.noneExists = w.gn == nil
	return !w.noneExists
}

// find is existing or, if there is none, the same for those that do not exist.
func (ps *patterns) find(c *pattern, w *provider, good func(n *node) bool) bool {
	if w.none {
		return false
	}
	if ps.existing(c, w, good) {
		return true
	}
	from := c.of.Prefix
	if w.n != nil {
		if good(w.n) {
			return true
		}
		from = w.n.key
	}
	w.n = nil
	ps.p.byKey().AscendGreaterOrEqual(&node{key: from}, func(n *node) bool {
		if !strings.HasPrefix(n.key, c.of.Prefix) {
			return false
		}
		if good(n) && ps.p.g.Selects(c.of, n.key) {
			w.n = n
		}
		return w.n == nil
	})
	w.none = w.n == nil
	return !w.none
}

// meets reports whether the target has a value that matches the pattern.
func (ps *patterns) meets(c *pattern) bool { return ps.find(c, &c.meets, (*node).provides) }

// staying reports whether one of the values that match the pattern stays.
func (ps *patterns) staying(c *pattern) bool { return ps.existing(c, &c.stays, (*node).stays) }

// moves: see movesAway.
func (ps *patterns) moves(c *pattern) bool {
	return ps.find(c, &c.moves, func(n *node) bool { return n.stays() || n.kind == Up })
}

// The following say which of those that depend on a pattern need not be looked
// at. They are for the phases of the planner: expand, prune and spread.

// awake: those that wait for n were notified of others, or had one all the time.
func (ps *patterns) awake(n *node) func(graph.KeyPattern) bool {
	return func(of graph.KeyPattern) bool {
		c := ps.pattern(of)
		if c.woken || !n.exists() && ps.existing(c, &c.comes, (*node).provides) {
			return true
		}
		c.woken = true
		return false
	}
}

// unharmed: there is another one in the target, or they were notified that there is
// none.
func (ps *patterns) unharmed(of graph.KeyPattern) bool {
	c := ps.pattern(of)
	return ps.lost(c, &c.lost)
}

// unharmedNews is unharmed for those that are not in the graph yet.
func (ps *patterns) unharmedNews(of graph.KeyPattern) bool {
	c := ps.pattern(of)
	return ps.lost(c, &c.lostNews)
}

func (ps *patterns) lost(c *pattern, told *bool) (skip bool) {
	if *told || ps.meets(c) {
		return true
	}
	*told = true
	return false
}

// steady: another one stays, or they were notified that none does.
func (ps *patterns) steady(of graph.KeyPattern) bool {
	c := ps.pattern(of)
	if c.fallen || ps.staying(c) {
		return true
	}
	c.fallen = true
	return false
}
