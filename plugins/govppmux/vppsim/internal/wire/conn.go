package wire

import (
	"encoding/binary"
	"net"
	"slices"
	"sync"
)

const (
	// flushSize is how much output is collected before the writer is woken in the
	// middle of a burst; at the end of a burst it is woken in any case.
	flushSize = 64 << 10
	// outputLimit is how much unread output a client may pile up before its
	// requests wait. VPP itself has no limit.
	outputLimit = 64 << 20
	// socketIndexFlag marks the client indexes of socket clients.
	socketIndexFlag = 0x80000000
)

// conn is one client. The reading goroutine handles requests and appends replies
// to out; the writing goroutine sends what has been collected.
type conn struct {
	net   net.Conn
	index uint32 // client index; 0 before the handshake; guarded by Server.mu
	name  string // of the client; guarded by Server.mu
	// stalled: the server hung while the client was connected; guarded by Server.mu.
	stalled bool

	mu   sync.Mutex
	cond sync.Cond // output appeared, output went away, or the connection ended
	out  []byte
	last bool // close when out has been sent
	dead bool

	call     Call          // of the request being handled
	quit     chan struct{} // closed by shut
	finished chan struct{} // closed when both goroutines are done
}

// connect starts serving an accepted connection.
func (s *Server) connect(nc net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.down {
		_ = nc.Close() // no receiver: the client sees the end of the stream
		return
	}
	c := &conn{net: nc, quit: make(chan struct{}), finished: make(chan struct{})}
	c.cond.L = &c.mu
	s.all[c] = struct{}{}
	s.work.Go(func() { s.serve(c) })
}

// serve runs a connection to its end.
func (s *Server) serve(c *conn) {
	defer close(c.finished)
	var writer sync.WaitGroup
	writer.Go(c.write)
	s.read(c)
	c.end()
	writer.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, c)
	s.unregister(c)
}

// read handles requests in bursts: everything that one read brought is handled
// under one lock and answered with one write.
func (s *Server) read(c *conn) {
	frames := newFrameReader(c.net)
	for {
		payload, err := frames.next()
		if err != nil {
			return
		}
		if !s.burst(c, frames, payload) {
			return
		}
		if !c.flush() {
			return
		}
	}
}

func (s *Server) burst(c *conn, frames *frameReader, payload []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		e := s.incoming(payload)
		if !s.admit(c, e) {
			return false
		}
		if e != nil && !s.dispatch(c, e, payload) {
			return false
		}
		if s.hangs(e, true); !s.admit(c, nil) {
			return false
		}
		next, ok, err := frames.ready()
		if err != nil {
			return false
		}
		if !ok {
			return true
		}
		payload = next
	}
}

// shut ends a connection from either side, once or more often.
func (c *conn) shut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return
	}
	c.dead = true
	close(c.quit)
	_ = c.net.Close() // the other side is gone or going
	c.cond.Broadcast()
}

// end ends a connection whose input ended: at once, or after what is still to be
// said.
func (c *conn) end() {
	c.mu.Lock()
	last := c.last
	c.mu.Unlock()
	if !last {
		c.shut()
	}
	c.cond.Broadcast()
}

// closing makes the writer end the connection after the output collected so far.
func (c *conn) closing() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = true
	c.cond.Broadcast()
}

func (c *conn) isDead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// flush wakes the writer and waits while the client leaves too much unread.
func (c *conn) flush() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cond.Broadcast()
	for len(c.out) > outputLimit && !c.dead {
		c.cond.Wait()
	}
	return !c.dead
}

// write sends output until the connection ends.
func (c *conn) write() {
	var spare []byte
	for {
		c.mu.Lock()
		for len(c.out) == 0 && !c.dead && !c.last {
			c.cond.Wait()
		}
		if c.dead || len(c.out) == 0 {
			c.mu.Unlock()
			c.shut()
			return
		}
		batch := c.out
		c.out = spare[:0]
		c.mu.Unlock()
		if _, err := c.net.Write(batch); err != nil {
			c.shut()
			return
		}
		if cap(batch) > 4*flushSize {
			batch = nil // a large dump need not stay in memory
		}
		spare = batch
		c.cond.Broadcast()
	}
}

// put appends one message: id, the given header words, body.
func (c *conn) put(id uint16, body message, words ...uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return
	}
	out, at := beginFrame(c.out)
	out = binary.BigEndian.AppendUint16(out, id)
	for _, w := range words {
		out = binary.BigEndian.AppendUint32(out, w)
	}
	size, begin := body.Size(), len(out)
	out = slices.Grow(out, size)[:begin+size]
	clear(out[begin:])
	if _, err := body.Marshal(out[begin:]); err != nil {
		return // no generated Marshal returns an error
	}
	finishFrame(out, at)
	c.out = out
	if len(out) >= flushSize {
		c.cond.Broadcast()
	}
}
