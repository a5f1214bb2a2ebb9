package status

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
)

// witnesses is what exists below prefixes. Many values may depend on any of the
// same many, so it is kept for the life of the Reader.
type witnesses struct {
	first map[string]*graph.Node // by prefix
	keys  map[string][]string    // by prefix, maxMatches of them
}

// witness returns an existing value that meets the dependency, or nil.
func (r *Reader) witness(dep *api.Dependency) *graph.Node {
	if dep.Key != "" || dep.AnyOf.KeySelector != nil {
		return r.Graph.Witness(dep)
	}
	for _, prefix := range dep.AnyOf.KeyPrefixes {
		n, known := r.witnesses.first[prefix]
		if !known {
			if r.witnesses.first == nil {
				r.witnesses.first = map[string]*graph.Node{}
			}
			n = r.Graph.Witness(&api.Dependency{AnyOf: api.AnyOfDependency{KeyPrefixes: []string{prefix}}})
			r.witnesses.first[prefix] = n
		}
		if n != nil {
			return n
		}
	}
	return nil
}

// existing returns the keys of existing values with a prefix that meet the
// dependency, maxMatches of them.
func (r *Reader) existing(dep *api.Dependency, prefix string) (keys []string) {
	any := dep.AnyOf.KeySelector == nil
	if known, ok := r.witnesses.keys[prefix]; any && ok {
		return known
	}
	r.Graph.Ascend(prefix, func(n *graph.Node) bool {
		if n.Have != nil && graph.Meets(dep, n.Key) {
			keys = append(keys, n.Key)
		}
		return len(keys) < maxMatches
	})
	if any {
		if r.witnesses.keys == nil {
			r.witnesses.keys = map[string][]string{}
		}
		r.witnesses.keys[prefix] = keys
	}
	return keys
}
