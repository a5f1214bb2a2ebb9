package plan

import (
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
)

// choice is what the planner knows of the values with a prefix, any of which is
// enough for some. There may be many on either side, so what one of them finds
// out serves all.
type choice struct {
	comes, meets, stays, moves witness

	// Those who wait for one of the values were told that there is one, and
	// those who stand on one of them that there is none in the target, and none
	// that stays. Once is enough.
	woken, lost, lostNews, fallen bool
}

// witness is the first of the values that is good for something. Which are may
// only become fewer, so the search goes on where it ended.
type witness struct {
	gn    *graph.Node // one that exists
	fresh bool        // there is none of those
	n     *node       // one that does not exist
	none  bool        // nor of those
}

// anyMeets tells that any value with one of some prefixes meets the dependency.
func anyMeets(dep *api.Dependency) bool {
	return dep.Key == "" && dep.AnyOf.KeySelector == nil && len(dep.AnyOf.KeyPrefixes) > 0
}

func (p *planner) choice(prefix string) *choice {
	c := p.choices[prefix]
	if c == nil {
		if p.choices == nil {
			p.choices = map[string]*choice{}
		}
		c = &choice{}
		p.choices[prefix] = c
	}
	return c
}

// choosing calls f for every prefix of the dependency until it is true.
func (p *planner) choosing(dep *api.Dependency, f func(prefix string, c *choice) bool) bool {
	for _, prefix := range dep.AnyOf.KeyPrefixes {
		if f(prefix, p.choice(prefix)) {
			return true
		}
	}
	return false
}

// existing tells whether a value with the prefix that exists is good, and
// remembers it in w. Values that were not touched are good.
func (p *planner) existing(prefix string, w *witness, good func(n *node) bool) bool {
	if w.fresh {
		return false
	}
	from := prefix
	if w.gn != nil {
		if n := p.of(w.gn); n == nil || good(n) {
			return true
		}
		from = w.gn.Key
	}
	w.gn = nil
	p.g.ExistingFrom(prefix, from, func(gn *graph.Node) bool {
		if n := p.of(gn); n == nil || good(n) {
			w.gn = gn
		}
		return w.gn == nil
	})
	w.fresh = w.gn == nil
	return !w.fresh
}

// find is existing or, if there is none, the same for those that do not exist.
func (p *planner) find(prefix string, w *witness, good func(n *node) bool) bool {
	if w.none {
		return false
	}
	if p.existing(prefix, w, good) {
		return true
	}
	from := prefix
	if w.n != nil {
		if good(w.n) {
			return true
		}
		from = w.n.key
	}
	w.n = nil
	p.byKey().AscendGreaterOrEqual(&node{key: from}, func(n *node) bool {
		if !strings.HasPrefix(n.key, prefix) {
			return false
		}
		if good(n) {
			w.n = n
		}
		return w.n == nil
	})
	w.none = w.n == nil
	return !w.none
}

func isIn(n *node) bool { return n.in }

// meets tells whether the target has a value with the prefix.
func (p *planner) meets(prefix string, c *choice) bool { return p.find(prefix, &c.meets, isIn) }

// staying tells whether one of the values with the prefix stays.
func (p *planner) staying(prefix string, c *choice) bool {
	return p.existing(prefix, &c.stays, (*node).stays)
}

// moves: see movesAway.
func (p *planner) moves(prefix string, c *choice) bool {
	return p.find(prefix, &c.moves, func(n *node) bool { return n.stays() || n.kind == Up })
}

// The following say which of those who depend on any value with a prefix need
// not be looked at. They are for the phases of the planner: expand, prune and
// spread.

// awake: those who wait for n were told of others, or had one all the time.
func (p *planner) awake(n *node) func(prefix string) bool {
	return func(prefix string) bool {
		c := p.choice(prefix)
		if c.woken || !n.exists() && p.existing(prefix, &c.comes, isIn) {
			return true
		}
		c.woken = true
		return false
	}
}

// unharmed: there is another one in the target, or they were told that there is
// none.
func (p *planner) unharmed(prefix string) bool {
	c := p.choice(prefix)
	return p.lost(prefix, c, &c.lost)
}

// unharmedNews is unharmed for those that are not in the graph yet.
func (p *planner) unharmedNews(prefix string) bool {
	c := p.choice(prefix)
	return p.lost(prefix, c, &c.lostNews)
}

func (p *planner) lost(prefix string, c *choice, told *bool) (skip bool) {
	if *told || p.meets(prefix, c) {
		return true
	}
	*told = true
	return false
}

// steady: another one stays, or they were told that none does.
func (p *planner) steady(prefix string) bool {
	c := p.choice(prefix)
	if c.fallen || p.staying(prefix, c) {
		return true
	}
	c.fallen = true
	return false
}
