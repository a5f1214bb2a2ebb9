package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/refresh"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// state is the desired and the actual state, with the components that all parts of the
// engine share.
type state struct {
	log      logging.Logger
	clock    Clock
	policies registry.Policies

	mu       sync.RWMutex // guards graph against readers; only the worker writes
	graph    *graph.Graph
	registry atomic.Pointer[registry.Registry]
	sessions *sessions
	reads    *refresh.Reads // the unreadable descriptors
	overdue  *exec.Overdue  // callbacks that did not return in time
	history  *record.Ring

	// Used by the worker only.
	nextSeq        uint64
	fullResyncDone bool
	postponed      map[string]bool // southbounds to be read later; see Options.ResyncFirst
	refreshed      []string        // base values whose status changed without an operation
}

func newState(opts *Options, reg *registry.Registry) *state {
	st := &state{
		log: opts.Log, clock: opts.Clock, policies: opts.Policies,
		graph: graph.New(), sessions: newSessions(), reads: refresh.NewReads(opts.Clock.Now), postponed: map[string]bool{}, history: record.NewRing(opts.History),
	}
	st.registry.Store(reg)
	return st
}

// closedSessions returns the southbounds that descriptors name and that are not known
// to be connected.
func (st *state) closedSessions() map[string]bool {
	return st.sessions.closed(st.registry.Load())
}

// txnStart returns when a transaction began.
func (st *state) txnStart(seq uint64) time.Time { return st.history.Start(seq) }

// unknown reports whether it is unknown if a value exists, because its descriptor is
// unreadable.
func (st *state) unknown(n *graph.Node) bool {
	root := n.Root()
	return root.Have == nil && st.reads.Of(root.Key, root.Desc) != nil
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
