package wire

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.fd.io/govpp/api"
)

// ErrUnknownMessage is returned by fault commands naming a message that is not in
// the table.
var ErrUnknownMessage = errors.New("message not in the table")

// rule is what the fault commands ask for on one message. Numbers count the
// requests still to be affected, negative meaning all.
type rule struct {
	delay      time.Duration
	drop       int
	mute       int
	fail       int
	failRetval int32
	late       int
	lateRetval int32
	hang       hangAt
}

// hangAt is the request that the server is to hang at.
type hangAt struct {
	requests int  // until then; 0: it is not to hang
	late     bool // after the effect and before the reply
}

// here counts a request, before or after its effect, and reports whether to hang.
func (h *hangAt) here(late bool) bool {
	if h.requests == 0 || h.late != late {
		return false
	}
	h.requests--
	return h.requests == 0
}

// take uses up one of n affected requests.
func take(n *int) bool {
	if *n == 0 {
		return false
	}
	if *n > 0 {
		*n--
	}
	return true
}

// edit applies f to the rule of a message.
func (s *Server) edit(name string, f func(*rule)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.table.byName[name]
	if !ok {
		return fmt.Errorf("%s: %w", name, ErrUnknownMessage)
	}
	if e.rule == nil {
		e.rule = &rule{}
	}
	f(e.rule)
	if *e.rule == (rule{}) {
		e.rule = nil
	}
	return nil
}

// Forget removes a message (and with it its reply) from the table: requests get
// no answer, and clients connecting later do not see the name, as with a VPP
// release or a plugin without the message.
func (s *Server) Forget(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.table.byName[name]
	if !ok {
		return fmt.Errorf("%s: %w", name, ErrUnknownMessage)
	}
	e.forgotten = true
	if e.reply != nil {
		e.reply.forgotten = true
	}
	return nil
}

// Delay holds up each request of this name, and what its connection sent behind
// it, by d before it takes effect. Zero ends it.
func (s *Server) Delay(name string, d time.Duration) error {
	return s.edit(name, func(r *rule) { r.delay = d })
}

// Drop swallows the next n requests: no effect, no reply. A negative n means all.
func (s *Server) Drop(name string, n int) error {
	return s.edit(name, func(r *rule) { r.drop = n })
}

// Mute lets the next n requests take effect without answering them. A negative n
// means all.
func (s *Server) Mute(name string, n int) error {
	return s.edit(name, func(r *rule) { r.mute = n })
}

// Fail answers the next n requests with retval, without effect; a dump returns
// nothing. A negative n means all.
func (s *Server) Fail(name string, retval int32, n int) error {
	return s.edit(name, func(r *rule) { r.fail, r.failRetval = n, retval })
}

// FailAfter lets the next n requests take effect and answers them with retval all
// the same. A negative n means all.
func (s *Server) FailAfter(name string, retval int32, n int) error {
	return s.edit(name, func(r *rule) { r.late, r.lateRetval = n, retval })
}

// HangAt hangs at the n-th request of this name from now, of any name if it is empty:
// before the request takes effect or, if late, after the effect and before the reply.
// Handshakes do not count. n of 0 ends it.
func (s *Server) HangAt(name string, n int, late bool) error {
	if name == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hangAt = hangAt{n, late}
		return nil
	}
	return s.edit(name, func(r *rule) { r.hang = hangAt{n, late} })
}

// hangs hangs the server if it is to do so at this request.
func (s *Server) hangs(e *entry, late bool) {
	if e == nil || e.kind != api.RequestMessage {
		return
	}
	if any, one := s.hangAt.here(late), e.rule != nil && e.rule.hang.here(late); (any || one) && s.hung == nil {
		s.hang()
		if late {
			e.stalled++
		}
	}
}

// hang hangs the server. What clients have asked for by now, and were not answered, is
// stalled.
func (s *Server) hang() {
	s.hung = make(chan struct{})
	close(s.hanging)
	for c := range s.all {
		c.stalled = true
	}
}

// Heal takes back Forget, Delay, Drop, Mute, Fail, FailAfter and HangAt of every message.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hangAt = hangAt{}
	for _, e := range s.table.byName {
		e.rule, e.forgotten = nil, false
	}
}

// Hang stops all processing while connections stay open, as a VPP in an endless
// loop or a debugger does; new connections are accepted by the kernel only.
func (s *Server) Hang() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hung == nil {
		s.hang()
	}
}

// Hung reports whether the server hangs.
func (s *Server) Hung() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hung != nil
}

// Resume ends Hang; what arrived meanwhile is processed.
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hung != nil {
		close(s.hung)
		s.hung, s.hanging = nil, make(chan struct{})
	}
}

// Hanging returns a channel that is closed while the server hangs, or when it hangs next.
func (s *Server) Hanging() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hanging
}

// Patient ends the count of Stalled for the connected clients: they still wait for their
// replies.
func (s *Server) Patient() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.all {
		c.stalled = false
	}
}

// Stalled returns, by name, how many requests were executed for clients that were
// connected while the server hung: from the one at which it hung to the end of their
// connection, or to Patient.
func (s *Server) Stalled() map[string]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make(map[string]uint64)
	for name, e := range s.table.byName {
		if e.stalled > 0 {
			counts[name] = e.stalled
		}
	}
	return counts
}

// Alter has change called with a copy of every record of a dump before it is sent; nil ends that.
func (s *Server) Alter(change func(details api.Message)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alter = change
}

// altered returns a message as it is to be sent.
func (s *Server) altered(m message) message {
	if s.alter == nil || !strings.HasSuffix(m.GetMessageName(), "_details") {
		return m
	}
	out := reflect.New(reflect.TypeOf(m).Elem()).Interface().(message)
	body, err := m.Marshal(nil)
	if err != nil || decode(out, body) != nil {
		return m
	}
	s.alter(out)
	return out
}
