package graph

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Projection is a state of the values, as one of them sees it: the actual state, or the
// state after a plan. Lacks decides by it what the value lacks.
type Projection interface {
	// Exists reports whether the value exists that dependency i names by its key, and
	// others may depend on it.
	Exists(i int, key string) bool
	// Any reports whether there is such a value with a key that matches a pattern.
	Any(of KeyPattern) bool
	// Why returns why nothing meets a dependency.
	Why(dep *api.Dependency) Reason
}

// Reason is why nothing meets a dependency.
type Reason uint8

const (
	// Missing: no value that meets the dependency exists.
	Missing Reason = iota
	// Unread: one may exist, but reading it failed, or the agent may not see it.
	Unread
	// Leaving: one exists, and is about to be removed.
	Leaving
	// Stuck: one exists that is no longer desired and could not be removed.
	Stuck
)

// Lacks iterates over the dependencies of a value that nothing meets in a projection,
// until yield returns false.
func Lacks(in Projection, v *registry.Value, yield func(i int, dep *api.Dependency) bool) {
	if v.FromSB {
		return
	}
	for i := range v.Deps {
		if dep := &v.Deps[i]; !Met(in, i, dep) && !yield(i, dep) {
			return
		}
	}
}

// Met reports whether something meets dependency i of a value.
func Met(in Projection, i int, dep *api.Dependency) bool {
	if dep.Key != "" {
		return in.Exists(i, dep.Key)
	}
	for _, prefix := range Prefixes(dep) {
		if in.Any(NewKeyPattern(prefix, dep.AnyOf.KeySelector)) {
			return true
		}
	}
	return false
}

// Provides reports whether the value exists and others may depend on it.
func (n *Node) Provides() bool { return n.Have != nil && !n.Terminating() }
