package engine

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
)

// ranks orders desired base values, each after those that it depends on.
type ranks struct {
	state   *state
	latest  map[string]uint64 // when values changed
	of      map[*graph.Node]*rank
	derived []derivedKey // of all desired values, sorted by key
}

// rank is the place of a value: first by the last change of it and of what it depends on, then
// by the length of the chain of what it depends on.
type rank struct {
	changed uint64
	depth   int
}

type derivedKey struct {
	key  string
	base *graph.Node
}

// indexDerived computes the derived values of desired values. The graph does not have them while
// the southbound is down.
func (r *ranks) indexDerived() {
	for n := range r.state.graph.Nodes {
		if want := n.Desired(); want != nil && !n.IsDerived() {
			for i := range want.Derived {
				r.derived = append(r.derived, derivedKey{want.Derived[i].Key, n})
			}
		}
	}
	slices.SortFunc(r.derived, func(a, b derivedKey) int { return strings.Compare(a.key, b.key) })
}

// rank returns the rank of a base value. In a cycle of dependencies one of them is left out.
func (r *ranks) rank(n *graph.Node) *rank {
	if known := r.of[n]; known != nil {
		return known
	}
	here := &rank{changed: r.latest[n.Key]}
	r.of[n] = here
	want := n.Desired()
	if want == nil {
		return here
	}
	after := func(deps []api.Dependency) {
		for i := range deps {
			if on := r.provider(&deps[i]); on != nil && on != n {
				needed := r.rank(on)
				here.changed, here.depth = max(here.changed, needed.changed), max(here.depth, needed.depth+1)
			}
		}
	}
	after(want.Deps)
	for i := range want.Derived {
		if v := want.Derived[i].Value; v != nil {
			after(v.Deps)
		}
	}
	return here
}

// provider returns the base of a desired value that meets a dependency, or nil.
func (r *ranks) provider(dep *api.Dependency) *graph.Node {
	if dep.Key != "" {
		if n := r.state.graph.Node(dep.Key); n != nil {
			return n.Root()
		}
		if i := r.from(dep.Key); i < len(r.derived) && r.derived[i].key == dep.Key {
			return r.derived[i].base
		}
		return nil
	}
	for _, prefix := range graph.Prefixes(dep) {
		pattern := graph.NewKeyPattern(prefix, dep.AnyOf.KeySelector)
		for n := range r.state.graph.Ascend(prefix) {
			if n.Want != nil && r.state.graph.Selects(pattern, n.Key) {
				return n.Root()
			}
		}
		for i := r.from(prefix); i < len(r.derived) && strings.HasPrefix(r.derived[i].key, prefix); i++ {
			if r.state.graph.Selects(pattern, r.derived[i].key) {
				return r.derived[i].base
			}
		}
	}
	return nil
}

// from returns the place of the first derived key that is not before a key.
func (r *ranks) from(key string) int {
	return sort.Search(len(r.derived), func(i int) bool { return r.derived[i].key >= key })
}

func (r *ranks) compare(a, b *graph.Node) int {
	x, y := r.of[a], r.of[b]
	return cmp.Or(cmp.Compare(x.changed, y.changed), cmp.Compare(x.depth, y.depth), strings.Compare(a.Key, b.Key))
}
