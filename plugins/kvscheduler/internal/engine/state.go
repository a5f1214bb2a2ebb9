package engine

import (
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// state is the desired and the actual state of all values, with their descriptors.
type state struct {
	mu       sync.RWMutex // guards graph against readers; only the worker writes
	graph    *graph.Graph
	registry atomic.Pointer[registry.Registry]

	// Used by the worker only.
	fullResyncDone bool     // the desired state is complete
	refreshed      []string // base values whose status changed without an operation
}

func newState(reg *registry.Registry) *state {
	st := &state{graph: graph.New()}
	st.registry.Store(reg)
	return st
}

// desired returns the desired state of the base of a value, or nil.
func (st *state) desired(key, base string) proto.Message {
	if base != "" {
		key = base
	}
	if n := st.graph.Node(key); n != nil && n.Desired() != nil {
		return n.Want.Msg
	}
	return nil
}

// setError replaces the error of a value outside of a transaction.
func (st *state) setError(n *graph.Node, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	n.Err, n.Retrying = err, false
	st.refreshed = append(st.refreshed, n.Root().Key)
}

// withDerived returns the keys of base values and of the values derived from them.
func (st *state) withDerived(bases []string) []string {
	keys := slices.Clone(bases)
	for _, key := range bases {
		if n := st.graph.Node(key); n != nil {
			for child := range n.Derived {
				keys = append(keys, child.Key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// baseOf returns the key of the base of a derived value; empty for other values.
func (st *state) baseOf(key string) string {
	st.mu.RLock()
	defer st.mu.RUnlock()
	if n := st.graph.Node(key); n != nil && n.Base != nil {
		return n.Base.Key
	}
	return ""
}

// valuesOf lists the base values of a southbound. A change of its session changes their
// status even without an operation.
func (st *state) valuesOf(name string) (keys []string) {
	st.mu.RLock()
	defer st.mu.RUnlock()
	for n := range st.graph.Nodes {
		if !n.IsDerived() && n.Desc.Session() == name {
			keys = append(keys, n.Key)
		}
	}
	return keys
}

// hasUnimplemented reports whether there are values without a descriptor.
func (st *state) hasUnimplemented() bool {
	st.mu.RLock()
	defer st.mu.RUnlock()
	for n := range st.graph.Nodes {
		if n.Desc == nil && n.Base == nil {
			return true
		}
	}
	return false
}
