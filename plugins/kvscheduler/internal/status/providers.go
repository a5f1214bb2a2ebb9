package status

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
)

// providers caches the providers of AnyOf dependencies for the life of the Reader,
// since many values may have the same dependency.
type providers struct {
	first map[graph.KeyPattern]*graph.Node
	keys  map[graph.KeyPattern][]string      // at most maxMatches each
	any   map[graph.KeyPattern][]*graph.Node // at most two each, existing or not
}

// met returns an existing provider of dependency i of the desired value of n, or nil.
func (r *Reader) met(n *graph.Node, i int) *graph.Node {
	dep := &n.Want.Deps[i]
	if dep.Key == "" {
		return r.provider(dep)
	}
	if to := r.named(n, n.Want, i); to != nil && to.Have != nil {
		return to
	}
	return nil
}

// provider returns an existing provider of a dependency, or nil.
func (r *Reader) provider(dep *api.Dependency) *graph.Node {
	if dep.Key != "" {
		return r.Graph.Provider(dep)
	}
	for _, prefix := range graph.Prefixes(dep) {
		pattern := graph.NewKeyPattern(prefix, dep.AnyOf.KeySelector)
		n, known := r.providers.first[pattern]
		if !known {
			if r.providers.first == nil {
				r.providers.first = map[graph.KeyPattern]*graph.Node{}
			}
			n = r.Graph.Provider(&api.Dependency{AnyOf: api.AnyOfDependency{KeyPrefixes: []string{prefix}, KeySelector: dep.AnyOf.KeySelector}})
			r.providers.first[pattern] = n
		}
		if n != nil {
			return n
		}
	}
	return nil
}

// existing returns the keys of existing providers of a dependency that have a
// prefix, at most maxMatches of them.
func (r *Reader) existing(dep *api.Dependency, prefix string) (keys []string) {
	pattern := graph.NewKeyPattern(prefix, dep.AnyOf.KeySelector)
	if known, ok := r.providers.keys[pattern]; ok {
		return known
	}
	r.Graph.Ascend(prefix, func(n *graph.Node) bool {
		if n.Have != nil && graph.Meets(dep, n.Key) {
			keys = append(keys, n.Key)
		}
		return len(keys) < maxMatches
	})
	if r.providers.keys == nil {
		r.providers.keys = map[graph.KeyPattern][]string{}
	}
	r.providers.keys[pattern] = keys
	return keys
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
func (r *Reader) any(of graph.KeyPattern) (some []*graph.Node) {
	if known, ok := r.providers.any[of]; ok {
		return known
	}
	r.Graph.Ascend(of.Prefix, func(n *graph.Node) bool {
		if of.Selects(n.Key) {
			some = append(some, n)
		}
		return len(some) < 2
	})
	if r.providers.any == nil {
		r.providers.any = map[graph.KeyPattern][]*graph.Node{}
	}
	r.providers.any[of] = some
	return some
}
