package binapi

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.fd.io/govpp/binapi/memclnt"
)

// drain tracks the requests of a connection whose outcome is unknown. VPP executes
// the requests of a connection in order, however late: once it has answered a ping
// behind them, none of them can take effect later.
type drain struct {
	unanswered atomic.Bool   // the connection ended before the reply to a request
	abandoned  atomic.Uint64 // highest seq of the canceled requests that may have an effect
	ping       atomic.Uint32 // context of the ping; 0 before Drain
	answered   atomic.Bool   // the ping was answered
	finished   chan struct{}
	once       sync.Once
}

func (d *drain) finish() { d.once.Do(func() { close(d.finished) }) }

// abandon records a canceled request.
func (d *drain) abandon(seq uint64) {
	for last := d.abandoned.Load(); seq > last && !d.abandoned.CompareAndSwap(last, seq); last = d.abandoned.Load() {
	}
}

// overtakes reports whether a request over another connection may be executed before
// a canceled request.
func (c *Conn) overtakes() bool { return c.drain.abandoned.Load() > c.answered.Load() }

// waitForAbandoned waits until VPP has executed or refused the canceled requests: it
// answers a ping behind them.
func (c *Conn) waitForAbandoned(ctx context.Context) error {
	if !c.overtakes() {
		return nil
	}
	return c.Invoke(ctx, &memclnt.ControlPing{}, &memclnt.ControlPingReply{})
}

// Stall ends the connection because VPP does not answer: requests that wait for a
// reply fail with an unknown outcome, and the transport stays open for Drain.
func (c *Conn) Stall(cause error) {
	if main := c.dumps.main; main != nil {
		main.Stall(cause) // which ends c as well
		return
	}
	c.end(cause)
}

// Unanswered reports whether requests were sent over the ended connection whose
// outcome is unknown.
func (c *Conn) Unanswered() bool { return c.drain.unanswered.Load() || c.overtakes() }

// Drain waits until no request of the ended connection can take effect later: VPP
// has answered everything, or has closed the connection, which makes the error one
// of ErrDisconnected. If ctx ends first, Drain returns its error. Requests must not
// be sent over another connection before: VPP could execute them first.
func (c *Conn) Drain(ctx context.Context) error {
	if !c.Unanswered() {
		return nil
	}
	again := time.NewTicker(c.opts.ReplyTimeout)
	defer again.Stop()
	for {
		c.sendBarrier()
		select {
		case <-c.drain.finished:
			if !c.drain.answered.Load() {
				return disconnected(errClosedByVPP)
			}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}

// sendBarrier queues a ping behind what was sent, unless one waits to be sent. No
// other request gets its context: the connection has ended.
func (c *Conn) sendBarrier() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.unsent) > 0 {
		return
	}
	if c.drain.ping.Load() == 0 {
		c.drain.ping.Store(c.nextContext(0))
	}
	if err := c.encode(request{info: c.ping, msg: &memclnt.ControlPing{}, size: requestHeader}, c.drain.ping.Load()); err == nil {
		c.toWrite.Signal()
	}
}
