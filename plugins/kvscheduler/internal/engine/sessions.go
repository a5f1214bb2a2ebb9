package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/infra/holder"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// session is the last known session of a southbound.
type session struct {
	up     bool
	epoch  uint64
	reason error // why it is down
}

// sessions holds the southbounds that have connected or disconnected so far. All methods
// may be called concurrently.
type sessions struct {
	mu     sync.Mutex
	byName map[string]session
}

func newSessions() *sessions { return &sessions{byName: map[string]session{}} }

// replace sets the session of a southbound and returns the previous one.
func (s *sessions) replace(name string, now session) (before session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.byName[name]
	s.byName[name] = now
	return before
}

// closed returns the southbounds that descriptors name and that are not known to be
// connected.
func (s *sessions) closed(reg *registry.Registry) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	closed := map[string]bool{}
	for _, d := range reg.All {
		if d.Southbound != "" && !s.byName[d.Southbound].up {
			closed[d.Southbound] = true
		}
	}
	return closed
}

// problem returns why a southbound is not connected; empty if it is.
func (s *sessions) problem(name string) string {
	if name == "" {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.byName[name]
	var held *holder.HeldError
	switch {
	case known.up:
		return ""
	case errors.As(known.reason, &held):
		return name + ": " + held.Error()
	case known.reason != nil:
		return fmt.Sprintf("%s: disconnected (%v)", name, known.reason)
	}
	return name + ": disconnected"
}

// SouthboundUp implements api.Sessions.
func (e *Engine) SouthboundUp(name string, epoch uint64) {
	e.overdue.SessionUp(name, epoch)
	e.pushSession(&sessionChange{name: name, up: true, epoch: epoch})
}

// SouthboundDown implements api.Sessions.
func (e *Engine) SouthboundDown(name string, reason error) {
	e.exec.Crashes.Lose(name, e.clock.Now())
	e.overdue.SessionDown(name, reason)
	e.pushSession(&sessionChange{name: name, reason: reason})
}

func (e *Engine) pushSession(s *sessionChange) {
	e.syncing.begin(s)
	if err := e.admission.push(s); err != nil {
		e.syncing.end(s)
		e.log.Debug("session change ignored", "southbound", s.name, "error", err)
	}
}

// prepareSession handles a southbound that connected or disconnected.
func (e *Engine) prepareSession(s *sessionChange, p *transaction) bool {
	before := e.sessions.replace(s.name, session{s.up, s.epoch, s.reason})
	if before.up && s.up && before.epoch == s.epoch {
		return false
	}
	now := e.clock.Now()
	var calls []exec.InFlight
	lost, known := e.exec.Crashes.LostAt(s.name)
	if s.up || !errors.Is(s.reason, api.ErrUnresponsive) {
		calls = e.exec.Crashes.Take(s.name, now)
	}
	if known {
		e.trials.late.down(s.name, lost, nil)
	}
	if !before.up && !s.up && len(calls) == 0 {
		return false
	}
	p.request.Closed = e.southbound.closed()
	if !s.up {
		e.trials.afterCrash(s.name, now, calls)
	}
	if !s.up || before.up {
		p.request.Touch = e.abandon(s.name)
		e.trials.pin(&p.request)
		e.trials.markQuarantined()
	}
	delete(e.postponed, s.name)
	if s.up {
		e.beginSession(p, s.name, now)
	}
	return true
}

// beginSession reads a southbound that has connected, or postpones that.
func (e *Engine) beginSession(p *transaction, name string, now time.Time) {
	if e.opts.ResyncFirst && e.named == 0 {
		e.postponed[name] = true
		e.trials.late.lives[name] = &life{began: now}
		return
	}
	e.readSessions(p, map[string]bool{name: true})
	e.trials.late.up(name)
	e.trials.pin(&p.request)
	e.trials.markQuarantined()
}

// readPostponed reads the southbounds whose reading was postponed.
func (e *Engine) readPostponed(p *transaction) bool {
	p.opts.Description, p.retryLeft = "read of "+strings.Join(slices.Sorted(maps.Keys(e.postponed)), ", "), patiently()
	e.readSessions(p, e.postponed)
	clear(e.postponed)
	return true
}

// readSessions reads southbounds that have connected, and plans what follows from that.
func (e *Engine) readSessions(p *transaction, names map[string]bool) {
	r := e.southbound.refresher(p.request.Closed)
	r.Only = func(d *registry.Descriptor) bool { return names[d.Southbound] }
	r.All(nil)
	p.request.All = true
	p.request.DropUnwanted = e.state.fullResyncDone
}

// dependsOnReads reports whether postponed southbounds are to be read before a task. A
// full or downstream resync reads them itself; sessions and notifications are reports of
// what exists; a barrier waits until the southbounds are read.
func dependsOnReads(work any) bool {
	switch t := work.(type) {
	case *sessionChange, *notification, barrier:
		return false
	case committed:
		resync := t.parts().opts.Resync
		return resync != api.FullResync && resync != api.DownstreamResync
	}
	return true
}

// abandon removes all values of a southbound from the actual state, without callbacks.
// It returns the keys of the removed values.
func (e *Engine) abandon(name string) []string {
	e.overdue.Forget(name)
	e.reads.Forget(name)
	e.state.mu.Lock()
	defer e.state.mu.Unlock()
	var nodes []*graph.Node
	for n := range e.state.graph.Nodes {
		if n.Root().Desc.Session() == name && n.Have != nil {
			nodes = append(nodes, n)
		}
	}
	keys := make([]string, 0, len(nodes))
	for _, n := range nodes {
		keys = append(keys, n.Key)
		e.journal.lose(n)
		if n.IsDerived() || n.Obtained() {
			e.state.graph.SetWant(n, nil)
		}
		n.Err, n.Retrying = nil, false
		e.state.graph.Remove(n, graph.Lost)
		e.state.graph.Forget(n)
		if n.Gone { // its status changes without an operation
			e.state.refreshed = append(e.state.refreshed, n.Root().Key)
		}
	}
	return keys
}
