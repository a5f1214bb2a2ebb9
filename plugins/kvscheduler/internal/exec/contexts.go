package exec

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// contexts is a pool of contexts for callbacks. A context serves one callback after the
// other until it is canceled, so that most operations allocate none. All methods may be
// called concurrently.
type contexts struct {
	scheduler context.Context
	end       context.CancelCauseFunc

	mu       sync.Mutex
	sessions map[string]*session // by southbound
}

// session is the time that a southbound is connected.
type session struct {
	epoch uint64
	ctx   context.Context
	end   context.CancelCauseFunc
	idle  []*callContext // guarded by contexts.mu
}

// callContext is the context of one callback at a time.
type callContext struct {
	context.Context
	cancel context.CancelCauseFunc
	of     *session
}

func newContexts() *contexts {
	c := &contexts{sessions: map[string]*session{}}
	c.scheduler, c.end = context.WithCancelCause(context.Background())
	return c
}

// begin replaces the session of a southbound. The lock is held.
func (c *contexts) begin(southbound string, epoch uint64) *session {
	s := &session{epoch: epoch}
	s.ctx, s.end = context.WithCancelCause(c.scheduler)
	c.sessions[southbound] = s
	return s
}

// take returns the context for a callback that starts. If the session has ended, the context
// is already canceled.
func (c *contexts) take(southbound string) *callContext {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[southbound]
	if s == nil {
		s = c.begin(southbound, 0)
	}
	if last := len(s.idle) - 1; last >= 0 {
		ctx := s.idle[last]
		s.idle[last], s.idle = nil, s.idle[:last]
		return ctx
	}
	ctx := &callContext{of: s}
	ctx.Context, ctx.cancel = context.WithCancelCause(s.ctx)
	return ctx
}

// give takes back the context of a callback that returned.
func (c *contexts) give(ctx *callContext) {
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx.of.idle = append(ctx.of.idle, ctx)
}

// SessionUp starts a session of a southbound, and ends a session with another epoch.
func (o *Overdue) SessionUp(southbound string, epoch uint64) {
	c := o.contexts
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[southbound]
	if s != nil && s.epoch == epoch && s.ctx.Err() == nil {
		return
	}
	c.begin(southbound, epoch)
	if s != nil {
		s.end(api.ErrSessionEnded)
	}
}

// SessionDown cancels the contexts of the callbacks in the session of a southbound, and
// of callbacks that start before the next session.
func (o *Overdue) SessionDown(southbound string, reason error) {
	c := o.contexts
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[southbound]
	if s == nil {
		s = c.begin(southbound, 0)
	}
	s.idle = nil
	if reason == nil {
		s.end(api.ErrSessionEnded)
	} else {
		s.end(fmt.Errorf("%w: %w", api.ErrSessionEnded, reason))
	}
}

// cancelCause returns the cause for canceling the context of a callback that is given up.
func cancelCause(timeout *TimeoutError, closing bool) error {
	if closing {
		return api.ErrClosedScheduler
	}
	return timeout
}

// closingLimit is the time limit for callbacks once the scheduler stops. It is
// shorter than the time that an agent waits for its plugins, so that the log names
// the callback and not only the plugin.
const closingLimit = 2 * time.Second

// Close makes the scheduler stop waiting for callbacks after closingLimit. Then it cancels
// the contexts of all callbacks.
func (o *Overdue) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		close(o.closing)
		o.cancel = o.clock.AfterFunc(closingLimit, func() { o.contexts.end(api.ErrClosedScheduler) })
	}
}

// End cancels the contexts of all callbacks. The scheduler starts no callback after it. Close
// may be called at the same time: after End it does nothing.
func (o *Overdue) End() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		close(o.closing)
	}
	if o.cancel != nil {
		o.cancel()
	}
	o.contexts.end(api.ErrClosedScheduler)
}
