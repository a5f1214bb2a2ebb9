package binapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"go.fd.io/govpp/binapi/memclnt"
)

// dumpConn is the connection that dumps go over: what VPP sends of a large one
// does not stand before the replies to other requests. It is made for the first
// dump, and again if it alone broke. VPP executes the requests of the two
// connections in any order, but a dump sees the effects of requests that were
// answered or canceled before it: after a cancellation it waits for a ping over the
// main connection.
type dumpConn struct {
	turn   chan struct{} // taken by who makes it
	conn   atomic.Pointer[Conn]
	closed atomic.Pointer[Stats] // of those before
	main   *Conn                 // of a second connection
}

// maxDumpConnName leaves room in the name of a client for dumpConnSuffix.
const (
	dumpConnSuffix  = "-dumps"
	maxDumpConnName = maxName - len(dumpConnSuffix)
)

// forDumps returns the second connection, when VPP has executed the canceled requests.
func (c *Conn) forDumps(ctx context.Context) (*Conn, error) {
	if c.dumps.main != nil {
		return c, nil
	}
	if err := c.waitForAbandoned(ctx); err != nil {
		return nil, err
	}
	return c.dumpConnection(ctx)
}

// dumpConnection returns the second connection, which is made if there is none.
func (c *Conn) dumpConnection(ctx context.Context) (*Conn, error) {
	if d := c.dumps.conn.Load(); d != nil && d.Err() == nil {
		return d, nil
	}
	select {
	case c.dumps.turn <- struct{}{}:
		defer func() { <-c.dumps.turn }()
	case <-c.done:
		return nil, c.Err()
	case <-ctx.Done():
		return nil, cmp.Or(c.Err(), canceled(ctx))
	}
	before := c.dumps.conn.Load()
	if before != nil && before.Err() == nil {
		return before, nil
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	d, err := c.dialDumpConn(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, cmp.Or(c.Err(), canceled(ctx))
	case err != nil:
		return nil, disconnected(fmt.Errorf("connection for dumps: %w", err))
	}
	if before != nil {
		_ = before.Close() // it has ended
		closed := plus(before.Stats(), c.dumps.closedStats())
		closed.InFlight = 0
		c.dumps.closed.Store(&closed)
	}
	c.dumps.conn.Store(d)
	if err := c.Err(); err != nil { // ended meanwhile, perhaps without having seen d
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// dialDumpConn connects again to the VPP of c.
func (c *Conn) dialDumpConn(ctx context.Context) (*Conn, error) {
	opts := c.opts
	opts.ClientName = opts.ClientName[:min(len(opts.ClientName), maxDumpConnName)] + dumpConnSuffix
	d, err := dialFor(ctx, opts, c)
	if err != nil {
		return nil, err
	}
	if err := c.sameVPP(ctx, d); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// sameVPP makes sure that both connections lead to one process: VPP may have
// been replaced, and c not know yet.
func (c *Conn) sameVPP(ctx context.Context, d *Conn) error {
	var pids [2]uint32
	for i, conn := range []*Conn{c, d} {
		reply := &memclnt.ControlPingReply{}
		if err := conn.Invoke(ctx, &memclnt.ControlPing{}, reply); err != nil {
			return err
		}
		pids[i] = reply.VpePID
	}
	if pids[0] != pids[1] {
		return disconnected(fmt.Errorf("VPP was replaced: its process was %d and is %d", pids[0], pids[1]))
	}
	return nil
}

// end ends the second connection with the first.
func (s *dumpConn) end(cause error) {
	if d := s.conn.Load(); d != nil {
		d.end(cause)
	}
}

// close waits for the goroutines of the second connection.
func (s *dumpConn) close() error {
	if d := s.conn.Load(); d != nil {
		return d.Close()
	}
	return nil
}

func (s *dumpConn) closedStats() Stats {
	if closed := s.closed.Load(); closed != nil {
		return *closed
	}
	return Stats{}
}

// stats are the counters of all second connections.
func (s *dumpConn) stats() Stats {
	sum := s.closedStats()
	if d := s.conn.Load(); d != nil {
		sum = plus(d.Stats(), sum)
	}
	return sum
}

// alive shows the other connection that VPP works: it does one thing at a time,
// so requests of one connection wait while it answers requests of the other.
func (c *Conn) alive() {
	other := c.dumps.main
	if other == nil {
		other = c.dumps.conn.Load()
	}
	if other != nil {
		other.progress.Store(other.tick.Load())
	}
}
