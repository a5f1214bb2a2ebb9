package status

import (
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// providers caches the providers of AnyOf dependencies for the life of the Reader,
// since many values may have the same dependency.
type providers struct {
	first map[graph.KeyPattern]*graph.Node
	keys  map[graph.KeyPattern][]string      // at most maxMatches each
	any   map[graph.KeyPattern][]*graph.Node // at most two each, existing or not
}

// actual is the actual state as the desired value of a node sees it, a graph.Projection.
type actual struct {
	r *Reader
	n *graph.Node
}

func (a actual) Exists(i int, _ string) bool { return a.r.provides(a.r.named(a.n, a.n.Want, i)) }

func (a actual) Any(of graph.KeyPattern) bool { return a.r.provides(a.r.firstOf(of)) }

func (a actual) Why(dep *api.Dependency) graph.Reason {
	n := a.r.provider(dep)
	if n == nil {
		if a.r.Unsure != nil && a.r.Unsure(dep) {
			return graph.Unread
		}
		return graph.Missing
	}
	if _, leaving := a.r.Facts.Blocked(n.Key); leaving {
		return graph.Leaving
	}
	return graph.Stuck
}

// provides reports whether other values may depend on a node, which may be nil.
func (r *Reader) provides(n *graph.Node) bool {
	if n == nil || !n.Provides() {
		return false
	}
	_, leaving := r.Facts.Blocked(n.Key)
	return !leaving
}

// reasons are the words for why nothing meets a dependency.
var reasons = [...]string{
	graph.Missing: "", graph.Unread: ", which could not be read", graph.Leaving: ", which is being removed",
	graph.Stuck: ", which is no longer configured and could not be removed",
}

// lacks adds what the desired value of a node lacks to its status.
func (r *Reader) lacks(s *api.ValueStatus, n *graph.Node) {
	now := actual{r, n}
	graph.Lacks(now, n.Want, func(_ int, dep *api.Dependency) bool {
		reason := reasons[now.Why(dep)]
		s.Details = append(s.Details, label(dep)+reason)
		s.WaitsFor = append(s.WaitsFor, &kvscheduler.ValueStatus_Unmet{Key: dep.Key, Text: dep.String() + reason, Own: r.own(n, dep), Prefixes: dep.AnyOf.KeyPrefixes})
		return true
	})
}

// own reports whether another value of the same item would meet a dependency of a value.
func (r *Reader) own(n *graph.Node, dep *api.Dependency) bool {
	return r.desired(dep, func(other *graph.Node) bool { return other.Root() == n.Root() })
}

// desired reports whether a value would meet a dependency that is desired and selected. For a
// dependency on any of several values, it looks at the first two.
func (r *Reader) desired(dep *api.Dependency, selected func(*graph.Node) bool) bool {
	is := func(n *graph.Node) bool { return n.Desired() != nil && selected(n) }
	if dep.Key != "" {
		n := r.Graph.Node(dep.Key)
		return n != nil && is(n)
	}
	return slices.ContainsFunc(graph.Prefixes(dep), func(prefix string) bool {
		return slices.ContainsFunc(r.any(graph.NewKeyPattern(prefix, dep.AnyOf.KeySelector)), is)
	})
}

// provider returns an existing provider of a dependency, or nil.
func (r *Reader) provider(dep *api.Dependency) (found *graph.Node) {
	if dep.Key != "" {
		return r.Graph.Provider(dep)
	}
	for _, prefix := range graph.Prefixes(dep) {
		n := r.firstOf(graph.NewKeyPattern(prefix, dep.AnyOf.KeySelector))
		if r.provides(n) {
			return n
		}
		if found == nil {
			found = n
		}
	}
	return found
}

// firstOf returns an existing value that matches a pattern, or nil.
func (r *Reader) firstOf(of graph.KeyPattern) *graph.Node {
	return cached(&r.providers.first, of, func() *graph.Node { return r.Graph.ProviderOf(of) })
}

// cached returns what a cache has for a pattern; if there is nothing, it computes that.
func cached[T any](cache *map[graph.KeyPattern]T, of graph.KeyPattern, compute func() T) T {
	found, known := (*cache)[of]
	if !known {
		if *cache == nil {
			*cache = map[graph.KeyPattern]T{}
		}
		found = compute()
		(*cache)[of] = found
	}
	return found
}

// existing returns the keys of existing providers of a dependency that have a
// prefix, at most maxMatches of them.
func (r *Reader) existing(dep *api.Dependency, prefix string) []string {
	return cached(&r.providers.keys, graph.NewKeyPattern(prefix, dep.AnyOf.KeySelector), func() (keys []string) {
		for n := range r.Graph.Ascend(prefix) {
			if n.Have != nil && graph.Meets(dep, n.Key) {
				keys = append(keys, n.Key)
			}
			if len(keys) == maxMatches {
				break
			}
		}
		return keys
	})
}

// only returns the single value that could meet a dependency once it exists; nil
// if there is none or more than one.
func (r *Reader) only(dep *api.Dependency) (only *graph.Node) {
	for _, prefix := range dep.AnyOf.KeyPrefixes {
		for _, n := range r.any(graph.NewKeyPattern(prefix, dep.AnyOf.KeySelector)) {
			if only != nil && n != only {
				return nil
			}
			only = n
		}
	}
	return only
}

// any returns up to two values of a pattern.
func (r *Reader) any(of graph.KeyPattern) []*graph.Node {
	return cached(&r.providers.any, of, func() (some []*graph.Node) {
		for n := range r.Graph.Ascend(of.Prefix) {
			if of.Selects(n.Key) {
				some = append(some, n)
			}
			if len(some) == 2 {
				break
			}
		}
		return some
	})
}
