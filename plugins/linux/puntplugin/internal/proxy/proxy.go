// Package proxy forwards connections and datagrams from a socket to another one, and the answers
// back.
package proxy

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

// Dial connects to the other side for a client.
type Dial func(ctx context.Context, client net.Addr) (net.Conn, error)

// Settings are limits of a proxy.
type Settings struct {
	// Sessions is the most connections, or clients that send datagrams, at a time. Connections
	// beyond it wait, datagrams of other clients are dropped.
	Sessions int
	// DialTimeout is how long it may take to reach the other side.
	DialTimeout time.Duration
	// Idle is how long the answers to the datagrams of a client are waited for.
	Idle time.Duration
	// Log receives failures, each kind once until it succeeds.
	Log logging.Logger
}

// Counters are what a proxy has done.
type Counters struct {
	// Active sessions are open: connections, or clients that sent datagrams lately.
	Active int64
	// Sessions have been opened.
	Sessions uint64
	// Received bytes came from clients, Sent ones went to them.
	Received, Sent uint64
	// Failed sessions did not reach the other side.
	Failed uint64
	// Dropped datagrams were not forwarded.
	Dropped uint64
}

// Proxy forwards until it is closed. Its methods may be called concurrently.
type Proxy struct {
	settings Settings
	ctx      context.Context
	cancel   context.CancelFunc
	work     sync.WaitGroup
	dial     atomic.Pointer[Dial]
	failing  atomic.Bool // the last attempt to reach the other side failed

	mu      sync.Mutex
	sockets map[closer]struct{} // open ones

	active                                    atomic.Int64
	sessions, received, sent, failed, dropped atomic.Uint64
}

type closer interface{ Close() error }

func newProxy(dial Dial, s Settings) *Proxy {
	p := &Proxy{settings: s, sockets: map[closer]struct{}{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.dial.Store(&dial)
	return p
}

// Redirect makes the proxy forward to another side: connections from now on, and all datagrams.
func (p *Proxy) Redirect(dial Dial) {
	p.dial.Store(&dial)
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.sockets {
		if s, ok := s.(*session); ok {
			_ = s.Close()
		}
	}
}

// Close ends the proxy with its sessions, and waits for that.
func (p *Proxy) Close() {
	p.cancel()
	p.mu.Lock()
	for s := range p.sockets {
		_ = s.Close() // nothing is left to do with it
	}
	p.mu.Unlock()
	p.work.Wait()
}

// Counters returns what the proxy has done.
func (p *Proxy) Counters() Counters {
	return Counters{
		Active: p.active.Load(), Sessions: p.sessions.Load(), Received: p.received.Load(), Sent: p.sent.Load(),
		Failed: p.failed.Load(), Dropped: p.dropped.Load(),
	}
}

// open registers a socket that Close closes; false if that has happened already.
func (p *Proxy) open(s closer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		_ = s.Close()
		return false
	}
	p.sockets[s] = struct{}{}
	return true
}

// close closes a socket.
func (p *Proxy) close(s closer) {
	_ = s.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sockets, s)
}

// reach connects to the other side for a client.
func (p *Proxy) reach(client net.Addr, dial *Dial) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(p.ctx, p.settings.DialTimeout)
	defer cancel()
	c, err := (*dial)(ctx, client)
	if p.ctx.Err() != nil {
		if err == nil {
			_ = c.Close()
		}
		return nil, net.ErrClosed
	}
	if err != nil {
		p.failed.Add(1)
		if !p.failing.Swap(true) {
			p.settings.Log.Warn("the other side of a proxy is not reached", "error", err)
		}
		return nil, err
	}
	if p.failing.Swap(false) {
		p.settings.Log.Info("the other side of a proxy is reached again")
	}
	p.sessions.Add(1)
	return c, nil
}

// Errors of a socket that receives are followed by a pause, which grows.
const (
	firstPause = 5 * time.Millisecond
	maxPause   = time.Second
)

// receive calls once until the proxy is closed, with pauses after errors.
func (p *Proxy) receive(once func() error) {
	pause := firstPause
	for p.ctx.Err() == nil {
		err := once()
		switch {
		case err == nil:
			pause = firstPause
			continue
		case p.ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			return
		case pause == firstPause:
			p.settings.Log.Warn("a proxy cannot receive for the moment", "error", err)
		}
		select {
		case <-p.ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, maxPause)
	}
}
