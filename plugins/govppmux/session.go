package govppmux

import (
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
)

// Session is one period of being connected to a VPP, or of being not.
type Session struct {
	// Epoch counts the times a VPP was connected; it is the epoch of the last
	// session while none is up, and 0 before the first.
	Epoch uint64
	// Up reports whether VPP is connected.
	Up bool
	// Since is when this began.
	Since time.Time
	// Err is why VPP is not connected; nil while Up. errors.Is finds
	// binapi.ErrDisconnected in it.
	Err error
	// Conn is the connection of this session, nil unless Up. It leads to no other
	// VPP, so decisions by its message table hold for all its life.
	Conn *binapi.Conn
	// Version is the version that VPP reports.
	Version Version
	// PID is VPP's process ID, in its own PID namespace.
	PID uint32
	// Simulated reports that the peer is the simulator.
	Simulated bool
	// Resync reports that the state of VPP must be taken as unknown. It is false
	// only if the configuration switches resync-after-reconnect off, the process ID
	// is the same as in the previous session, and that session left no request
	// unanswered.
	Resync bool
}

// Version is the answer of show_version.
type Version struct {
	Program, Version, BuildDate, BuildDirectory string
}

// state is the current session and who is notified of its changes.
type state struct {
	mu      sync.Mutex
	session Session
	changed chan struct{} // closed at the next change

	notify   sync.Mutex // held while watchers are called; taken before mu
	watchers map[int]func(Session)
	order    []int
	next     int
	known    bool // anything was published
}

func newState() *state {
	return &state{
		session: Session{Err: errNotTried}, changed: make(chan struct{}),
		watchers: map[int]func(Session){},
	}
}

// get returns the session and a channel that is closed when it changes.
func (s *state) get() (Session, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session, s.changed
}

// publish changes the session and notifies all watchers.
func (s *state) publish(session Session) {
	s.notify.Lock()
	defer s.notify.Unlock()
	s.mu.Lock()
	s.session, s.known = session, true
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	for _, n := range s.order {
		s.watchers[n](session)
	}
}

// watch calls f now, if anything was published, and at every change.
func (s *state) watch(f func(Session)) (cancel func()) {
	s.notify.Lock()
	defer s.notify.Unlock()
	n := s.next
	s.next++
	s.watchers[n] = f
	s.order = append(s.order, n)
	if s.known {
		session, _ := s.get()
		f(session)
	}
	return func() { s.unwatch(n) }
}

func (s *state) unwatch(n int) {
	s.notify.Lock()
	defer s.notify.Unlock()
	delete(s.watchers, n)
	for i, o := range s.order {
		if o == n {
			s.order = append(s.order[:i:i], s.order[i+1:]...)
			return
		}
	}
}
