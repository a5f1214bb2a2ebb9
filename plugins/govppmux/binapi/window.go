package binapi

import (
	"context"
	"sync"
)

// maxSlots is the most requests in flight; contexts keep at least 15 bits for
// the generation of a slot.
const maxSlots = 1 << 16

// contextBits leaves the top bit of a context clear: VPP's client indexes have
// it set, and an event carries one where a reply has the context.
const contextBits = 31

// receiver gets the messages that carry the context of one request. Its
// methods are called with the slot locked and must not block.
type receiver interface {
	// receive handles a message; done ends the request.
	receive(id uint16, payload []byte) (done bool)
	// fail ends the request with an error.
	fail(err error)
}

// slot is the place of one request in flight.
type slot struct {
	mu      sync.Mutex
	context uint32 // 0 while free
	size    int    // bytes held in the window
	seq     uint64
	since   int64 // tick from which the reply timeout counts
	passed  bool  // a later request was answered before this one
	stalls  bool  // the reply timeout applies
	info    *msgType
	to      receiver

	generation uint32 // guarded by Conn.mu
}

// end fails the request of a locked slot and frees the slot, but not its
// place in the window.
func (s *slot) end(err error) {
	to := s.to
	s.context, s.to = 0, nil
	to.fail(err)
}

// freed is a slot to be given back to the window.
type freed struct {
	index uint32
	size  int
}

// window admits requests: a free slot, and bounds on the bytes in flight and
// the bytes not yet written. It is guarded by Conn.mu. Slots are reused in the
// order they were freed, which keeps a context out of use as long as possible.
type window struct {
	free     []uint32 // ring
	head, n  int
	bytes    int // of requests in flight
	reserved int // of admitted requests not yet encoded
	max      int
	waiters  []*waiter
	pool     sync.Pool
}

// waiter is a caller waiting for a place in the window.
type waiter struct {
	ready   chan struct{}
	size    int
	index   uint32
	granted bool
	gone    bool // gave up; still in the queue
}

func (w *window) init(opts Options) {
	w.free = make([]uint32, opts.MaxRequests)
	w.n = opts.MaxRequests
	w.max = opts.MaxBytes
	for i := range w.free {
		w.free[i] = uint32(i)
	}
	w.pool.New = func() any { return &waiter{ready: make(chan struct{}, 1)} }
}

// fits reports whether a request may be sent now. One that is larger than the
// limit is admitted when nothing else is in flight.
func (w *window) fits(size, unsent int) bool {
	unsent += w.reserved
	return w.n > 0 &&
		(w.bytes+size <= w.max || w.bytes == 0) &&
		(unsent+size <= w.max || unsent == 0)
}

func (w *window) take(size int) uint32 {
	index := w.free[w.head]
	w.head = (w.head + 1) % len(w.free)
	w.n--
	w.bytes += size
	return index
}

func (w *window) give(f freed) {
	w.free[(w.head+w.n)%len(w.free)] = f.index
	w.n++
	w.bytes -= f.size
}

// grant admits waiting callers in their order, as far as there is room.
func (w *window) grant(unsent int) {
	i := 0
	for ; i < len(w.waiters); i++ {
		head := w.waiters[i]
		if head.gone {
			continue
		}
		if !w.fits(head.size, unsent) {
			break
		}
		head.index = w.take(head.size)
		w.reserved += head.size
		head.granted = true
		head.ready <- struct{}{}
	}
	if i > 0 {
		kept := copy(w.waiters, w.waiters[i:])
		clear(w.waiters[kept:])
		w.waiters = w.waiters[:kept]
	}
}

// acquire takes a place in the window, waiting for it as long as ctx allows.
// It is called and, unless it fails, returns with c.mu locked.
func (c *Conn) acquire(ctx context.Context, size int) (uint32, error) {
	if c.ended != nil {
		defer c.mu.Unlock()
		return 0, c.ended
	}
	w := &c.window
	if len(w.waiters) == 0 && w.fits(size, len(c.unsent)) {
		return w.take(size), nil
	}
	me := w.pool.Get().(*waiter)
	me.size, me.granted, me.gone = size, false, false
	w.waiters = append(w.waiters, me)
	c.stats.waits.Add(1)
	c.mu.Unlock()

	select {
	case <-me.ready:
	case <-ctx.Done():
	case <-c.done:
	}
	c.mu.Lock()
	return c.admitted(ctx, me)
}

// admitted settles what became of a waiter. It is called and, unless it
// fails, returns with c.mu locked.
func (c *Conn) admitted(ctx context.Context, me *waiter) (uint32, error) {
	w := &c.window
	err := c.ended
	if err == nil && !me.granted {
		err = canceled(ctx)
	}
	if !me.granted {
		me.gone = true // stays queued, so it cannot be used again
		c.mu.Unlock()
		return 0, err
	}
	w.reserved -= me.size
	index, size := me.index, me.size
	select {
	case <-me.ready:
	default:
	}
	w.pool.Put(me)
	if err != nil {
		w.give(freed{index, size})
		c.mu.Unlock()
		return 0, err
	}
	return index, nil
}

// release gives slots back to the window.
func (c *Conn) release(slots ...freed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range slots {
		c.window.give(f)
	}
	c.window.grant(len(c.unsent))
}

// abandon ends a request whose caller no longer waits: a late reply is dropped,
// and the outcome is unknown until VPP answers a later request. It returns false if the
// request had ended before.
func (c *Conn) abandon(reqContext uint32) bool {
	index := c.indexOf(reqContext)
	s := &c.slots[index]
	s.mu.Lock()
	if s.context != reqContext {
		s.mu.Unlock()
		return false
	}
	s.context, s.to = 0, nil
	size, seq, effect := s.size, s.seq, s.info != c.ping
	s.mu.Unlock()
	if effect {
		c.drain.abandon(seq)
	}
	c.release(freed{index, size})
	return true
}

func (c *Conn) indexOf(reqContext uint32) uint32 {
	return reqContext & (1<<c.slotBits - 1)
}

// nextContext makes the context of the next request in a slot: the slot's
// index below its generation, never 0. c.mu must be held.
func (c *Conn) nextContext(index uint32) uint32 {
	s := &c.slots[index]
	s.generation = (s.generation + 1) & (1<<(contextBits-c.slotBits) - 1)
	if s.generation == 0 {
		s.generation = 1
	}
	return s.generation<<c.slotBits | index
}
