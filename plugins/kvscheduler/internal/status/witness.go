package status

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
)

// witnesses caches the providers of AnyOf dependencies for the life of the Reader,
// since many values may have the same dependency.
type witnesses struct {
	first map[graph.Choice]*graph.Node
	keys  map[graph.Choice][]string      // at most maxMatches each
	any   map[graph.Choice][]*graph.Node // at most two each, existing or not
}

// met returns an existing provider of dependency i of the desired value of n, or nil.
func (r *Reader) met(n *graph.Node, i int) *graph.Node {
	dep := &n.Want.Deps[i]
	if dep.Key == "" {
		return r.witness(dep)
	}
	if to := r.named(n, n.Want, i); to != nil && to.Have != nil {
		return to
	}
	return nil
}

// witness returns an existing provider of a dependency, or nil.
func (r *Reader) witness(dep *api.Dependency) *graph.Node {
	if dep.Key != "" {
		return r.Graph.Witness(dep)
	}
	for _, prefix := range graph.Prefixes(dep) {
		choice := graph.NewChoice(prefix, dep.AnyOf.KeySelector)
		n, known := r.witnesses.first[choice]
		if !known {
			if r.witnesses.first == nil {
				r.witnesses.first = map[graph.Choice]*graph.Node{}
			}
			n = r.Graph.Witness(&api.Dependency{AnyOf: api.AnyOfDependency{KeyPrefixes: []string{prefix}, KeySelector: dep.AnyOf.KeySelector}})
			r.witnesses.first[choice] = n
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
	choice := graph.NewChoice(prefix, dep.AnyOf.KeySelector)
	if known, ok := r.witnesses.keys[choice]; ok {
		return known
	}
	r.Graph.Ascend(prefix, func(n *graph.Node) bool {
		if n.Have != nil && graph.Meets(dep, n.Key) {
			keys = append(keys, n.Key)
		}
		return len(keys) < maxMatches
	})
	if r.witnesses.keys == nil {
		r.witnesses.keys = map[graph.Choice][]string{}
	}
	r.witnesses.keys[choice] = keys
	return keys
}

// only returns the single value that could meet a dependency once it exists; nil
// if there is none or more than one.
func (r *Reader) only(dep *api.Dependency) (only *graph.Node) {
	for _, prefix := range dep.AnyOf.KeyPrefixes {
		for _, n := range r.any(graph.NewChoice(prefix, dep.AnyOf.KeySelector)) {
			if only != nil && n != only {
				return nil
			}
			only = n
		}
	}
	return only
}

// any returns up to two values of a choice.
func (r *Reader) any(of graph.Choice) (some []*graph.Node) {
	if known, ok := r.witnesses.any[of]; ok {
		return known
	}
	r.Graph.Ascend(of.Prefix, func(n *graph.Node) bool {
		if of.Selects(n.Key) {
			some = append(some, n)
		}
		return len(some) < 2
	})
	if r.witnesses.any == nil {
		r.witnesses.any = map[graph.Choice][]*graph.Node{}
	}
	r.witnesses.any[of] = some
	return some
}
