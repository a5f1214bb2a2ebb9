package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/internal/fairqueue"
)

// ErrQueueFull is returned if a change was rejected because the queue is full;
// RetryAfter returns when to try again.
var ErrQueueFull = errors.New("the queue of changes is full")

// Caller is the client of a change. The queue serves callers round robin: users,
// the hosts of a user, and the connections of a host. If the queue is full, it
// rejects requests of the caller with the most.
type Caller struct {
	User string // empty: the server knows no users
	Addr string // of the peer, mostly host:port; empty: the change comes from the agent itself
}

// WithCaller sets the client of the change.
func WithCaller(c Caller) PushOption { return func(o *pushOptions) { o.caller = c } }

// path returns the path of the caller in the queue.
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

// Changes returns the running change and the waiting ones.
func (p *Plugin) Changes() api.ChangesStatus { return p.turns.Status() }

// takeTurn waits for exclusive access to the configuration.
func (p *Plugin) takeTurn(ctx context.Context, req fairqueue.Request) (*fairqueue.Turn, error) {
	turn, err := p.turns.Take(ctx, req)
	var full *fairqueue.FullError
	switch {
	case errors.As(err, &full):
		return nil, fmt.Errorf("%w: %w", ErrQueueFull, full)
	case errors.Is(err, fairqueue.ErrStopped):
		return nil, ErrWithdrawn
	}
	return turn, err
}

// RetryAfter returns when to retry after ErrQueueFull; 0 for other errors.
func RetryAfter(err error) time.Duration {
	var full *fairqueue.FullError
	if !errors.As(err, &full) {
		return 0
	}
	return full.RetryAfter()
}

// afterwards calls f with the result of a transaction and ends the turn: at once
// or, if the client has disconnected, when the transaction has been executed.
// Until then no other change runs, and the status shows the transaction.
func (p *Plugin) afterwards(turn *fairqueue.Turn, seqNum uint64, err error, f func(seqNum uint64, err error)) {
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

// begin waits, as a client, for exclusive access.
func (p *Plugin) begin(ctx context.Context, source, what string, caller Caller) (*fairqueue.Turn, error) {
	turn, err := p.takeTurn(ctx, fairqueue.Request{Source: source, What: what, Path: caller.path()})
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
