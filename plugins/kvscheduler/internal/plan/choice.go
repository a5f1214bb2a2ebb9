package plan

import (
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
)

// choice is what the planner knows of the values of a choice. Any of them is enough
// for some dependents. There may be many on either side, so what one of them finds
// out serves all.
type choice struct {
	of                         graph.Choice
	comes, meets, stays, moves provider

	// Those that wait for one of the values were notified that there is one, and
	// those who stand on one of them that there is none in the target, and none
	// that stays. Once is enough.
	woken, lost, lostNews, fallen bool
}

// provider is the first of the values that is good for something. Which are may
// only become fewer, so the search continues where it ended.
type provider struct {
	gn    *graph.Node // one that exists
	fresh bool        // there is none of those
	n     *node       // one that does not exist
	none  bool        // nor of those
}

// choices are those that the plan has to do with.
type choices struct {
	p     *planner
	known map[graph.Choice]*choice
}

func (cs *choices) choice(of graph.Choice) *choice {
	c := cs.known[of]
	if c == nil {
		if cs.known == nil {
			cs.known = map[graph.Choice]*choice{}
		}
		c = &choice{of: of}
		cs.known[of] = c
	}
	return c
}

// choosing calls f for every choice of a dependency until it is true.
func (cs *choices) choosing(dep *api.Dependency, f func(*choice) bool) bool {
	for _, prefix := range graph.Prefixes(dep) {
		if f(cs.choice(graph.NewChoice(prefix, dep.AnyOf.KeySelector))) {
			return true
		}
	}
	return false
}

// existing reports whether a value of the choice that exists is good, and
// remembers it in w. Values that were not touched are good, unless terminating.
func (cs *choices) existing(c *choice, w *provider, good func(n *node) bool) bool {
	if w.fresh {
		return false
	}
	from := c.of.Prefix
	if w.gn != nil {
		if n := cs.p.of(w.gn); n == nil && !w.gn.Terminating() || n != nil && good(n) {
			return true
		}
		from = w.gn.Key
	}
	w.gn = nil
	cs.p.g.ExistingFrom(c.of.Prefix, from, func(gn *graph.Node) bool {
		if n := cs.p.of(gn); (n == nil && !gn.Terminating() || n != nil && good(n)) && cs.p.g.Selects(c.of, gn.Key) {
			w.gn = gn
		}
		return w.gn == nil
	})
	w.fresh = w.gn == nil
	return !w.fresh
}

// find is existing or, if there is none, the same for those that do not exist.
func (cs *choices) find(c *choice, w *provider, good func(n *node) bool) bool {
	if w.none {
		return false
	}
	if cs.existing(c, w, good) {
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
	cs.p.byKey().AscendGreaterOrEqual(&node{key: from}, func(n *node) bool {
		if !strings.HasPrefix(n.key, c.of.Prefix) {
			return false
		}
		if good(n) && cs.p.g.Selects(c.of, n.key) {
			w.n = n
		}
		return w.n == nil
	})
	w.none = w.n == nil
	return !w.none
}

// meets reports whether the target has a value of the choice.
func (cs *choices) meets(c *choice) bool { return cs.find(c, &c.meets, (*node).provides) }

// staying reports whether one of the values of the choice stays.
func (cs *choices) staying(c *choice) bool { return cs.existing(c, &c.stays, (*node).stays) }

// moves: see movesAway.
func (cs *choices) moves(c *choice) bool {
	return cs.find(c, &c.moves, func(n *node) bool { return n.stays() || n.kind == Up })
}

// The following say which of those who depend on a choice need not be looked
// at. They are for the phases of the planner: expand, prune and spread.

// awake: those that wait for n were notified of others, or had one all the time, which
// is enough unless it is part of what they would lose.
func (cs *choices) awake(n *node) func(graph.Choice) bool {
	return func(of graph.Choice) bool {
		c := cs.choice(of)
		if c.woken || !n.exists() && !cs.p.g.AnyLeft() && cs.existing(c, &c.comes, (*node).provides) {
			return true
		}
		c.woken = true
		return false
	}
}

// unharmed: there is another one in the target, or they were notified that there is
// none.
func (cs *choices) unharmed(of graph.Choice) bool {
	c := cs.choice(of)
	return cs.lost(c, &c.lost)
}

// unharmedNews is unharmed for those that are not in the graph yet.
func (cs *choices) unharmedNews(of graph.Choice) bool {
	c := cs.choice(of)
	return cs.lost(c, &c.lostNews)
}

func (cs *choices) lost(c *choice, told *bool) (skip bool) {
	if *told || cs.meets(c) {
		return true
	}
	*told = true
	return false
}

// steady: another one stays, or they were notified that none does.
func (cs *choices) steady(of graph.Choice) bool {
	c := cs.choice(of)
	if c.fallen || cs.staying(c) {
		return true
	}
	c.fallen = true
	return false
}
