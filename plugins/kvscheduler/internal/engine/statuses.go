package engine

import (
	"fmt"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/status"
)

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
