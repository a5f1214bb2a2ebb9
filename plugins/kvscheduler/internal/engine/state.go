package engine

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/status"
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

// statuses reads the status of values. All methods may be called concurrently.
type statuses struct{ *shared }

// reader returns a Reader for the status of values. Its creation is cheap, since
// callers may create one per value.
func (s *statuses) reader() *status.Reader {
	r := &status.Reader{Graph: s.state.graph, Facts: facts{s.shared}}
	if unread := s.reads.Unread(s.state.registry.Load()); unread != nil {
		r.Unsure = unread.Meets
	}
	return r
}

// of returns the status of the base of a value.
func (s *statuses) of(key string) *api.BaseValueStatus {
	s.state.mu.RLock()
	defer s.state.mu.RUnlock()
	return s.reader().Base(key)
}

// list returns the status of the base values with a prefix that the selector selects; nil
// selects all.
func (s *statuses) list(keyPrefix string, selector api.KeySelector) []*api.BaseValueStatus {
	s.state.mu.RLock()
	defer s.state.mu.RUnlock()
	var out []*api.BaseValueStatus
	r := s.reader()
	for n := range s.state.graph.Ascend(keyPrefix) {
		if !n.IsDerived() && (selector == nil || selector(n.Key)) {
			out = append(out, r.BaseOf(n))
		}
	}
	return out
}

// facts implements status.Facts.
type facts struct{ *shared }

func (f facts) SessionProblem(name string) string { return f.sessions.problem(name) }
func (f facts) Unread(n *graph.Node) string       { return f.unreadable.unread(n) }
func (f facts) Violations(key string) []string    { return f.contracts.Of(key) }
func (f facts) TxnStart(seqNum uint64) time.Time  { return f.history.Start(seqNum) }

func (f facts) Blocked(key string) (why string, leaving bool) {
	if why, leaving = f.overdue.Of(key); why != "" {
		return why, leaving
	}
	if s := f.trials.suspects.Get(key); s != nil {
		if s.HeldBack {
			return s.Search, false
		}
		return fmt.Sprintf("a trial without other operations, since southbound %q went down during its operation", s.Southbound), false
	}
	return "", false
}

func (f facts) SouthboundOnly(key string) string {
	d, err := f.state.registry.Load().Lookup(key)
	if err != nil || d == nil || !d.IsProperty() || d.Retrieve == nil {
		return ""
	}
	return d.WhyAbsent(key)
}

func (f facts) Undescribed(key string) bool {
	d, err := f.state.registry.Load().Lookup(key)
	return err == nil && d == nil
}
