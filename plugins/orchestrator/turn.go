package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/internal/turns"
)

// ErrQueueFull: so many changes of clients wait already that this one was
// refused, and nothing was done; RetryAfter tells when to try again. Compare with
// errors.Is.
var ErrQueueFull = errors.New("no room for another change")

// Caller is who asks for a change from outside. Callers get turns round robin: the
// users, the hosts that one uses, and the connections of a host; and when there
// is no room for all, requests of the one with the most are refused.
type Caller struct {
	User string // empty: the server knows no users
	Addr string // of the other end of the connection, mostly host:port; empty: the change comes from within the agent
}

// WithCaller says who asks for the change.
func WithCaller(c Caller) PushOption { return func(o *pushOptions) { o.caller = c } }

// path is the caller as the queue has it.
func (c Caller) path() (path []string) {
	at := ""
	if c.User != "" {
		path = append(path, "user "+c.User)
		at = path[0] + " at "
	}
	if c.Addr == "" {
		return path
	}
	if host, _, err := net.SplitHostPort(c.Addr); err == nil {
		path = append(path, at+host)
	}
	return append(path, at+c.Addr)
}

// Changes tells which changes wait for their turn, and which one has it.
func (p *Plugin) Changes() api.ChangesStatus { return p.turns.Status() }

// takeTurn waits until nobody else changes anything.
func (p *Plugin) takeTurn(ctx context.Context, req turns.Request) (*turns.Turn, error) {
	turn, err := p.turns.Take(ctx, req)
	var full *turns.FullError
	switch {
	case errors.As(err, &full):
		return nil, fmt.Errorf("%w: %w", ErrQueueFull, full)
	case errors.Is(err, turns.ErrStopped):
		return nil, ErrWithdrawn
	}
	return turn, err
}

// RetryAfter tells when to try again what failed with ErrQueueFull; 0 for other
// errors.
func RetryAfter(err error) time.Duration {
	var full *turns.FullError
	if !errors.As(err, &full) {
		return 0
	}
	return full.RetryAfter()
}

// afterwards calls f with the outcome of a transaction and ends the turn: at once,
// or, if it was only the client who went away, when the transaction was executed.
// Until then nobody else has a turn, and it is seen what goes on.
func (p *Plugin) afterwards(turn *turns.Turn, seqNum uint64, err error, f func(seqNum uint64, err error)) {
	var unfinished *api.UnfinishedError
	if !errors.As(err, &unfinished) {
		f(seqNum, err)
		turn.End()
		return
	}
	p.Go(func(ctx context.Context) {
		defer turn.End()
		f(unfinished.Wait(ctx))
	})
}

// begin waits, as a client does, until no other change is made.
func (p *Plugin) begin(ctx context.Context, source, what string, caller Caller) (*turns.Turn, error) {
	turn, err := p.takeTurn(ctx, turns.Request{Source: source, What: what, Path: caller.path()})
	if err != nil {
		return nil, err
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		turn.End()
		return nil, ErrWithdrawn
	}
	return turn, nil
}
