package binapi

import (
	"encoding/binary"
	"fmt"
	"time"
)

// readerState belongs to the reading goroutine.
type readerState struct {
	freed   []freed
	seq     uint64 // highest answered in this batch
	live    bool   // a message of this batch answers a request, canceled or not
	replies uint64
	late    uint64
	events  uint64
	bytes   uint64
}

// readLoop hands every message to whom it belongs until the socket closes.
func (c *Conn) readLoop(fr *frameReader) {
	for {
		payload, err := fr.next()
		if err != nil {
			c.fail(err)
			return
		}
		c.reader.bytes += uint64(len(payload) + frameHeader)
		if err := c.dispatch(payload); err != nil {
			c.fail(err)
			return
		}
		if !fr.buffered() {
			c.settle()
		}
	}
}

func (c *Conn) dispatch(payload []byte) error {
	id := binary.BigEndian.Uint16(payload)
	at := 2
	switch c.table.kind(id) {
	case kindEvent:
		c.reader.events++
		c.watches.deliver(id, payload)
		return nil
	case kindReplyWithClientIndex:
		at = 6
		if len(payload) < at+4 {
			return fmt.Errorf("%w: message %s of %d bytes", ErrProtocol, c.table.Name(id), len(payload))
		}
	}
	c.deliver(id, binary.BigEndian.Uint32(payload[at:]), payload)
	return nil
}

// deliver gives a message to the request with its context, if there is one.
func (c *Conn) deliver(id uint16, reqContext uint32, payload []byte) {
	index := c.indexOf(reqContext)
	if reqContext == 0 || int(index) >= len(c.slots) {
		c.reader.late++
		return
	}
	c.reader.live = true
	s := &c.slots[index]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.context != reqContext {
		c.reader.late++
		if reqContext == c.drain.ping.Load() {
			c.drain.answered.Store(true)
			c.drain.finish()
		}
		return
	}
	c.reader.replies++
	count(c.messages.received, id)
	c.reader.seq = max(c.reader.seq, s.seq)
	if s.to.receive(id, payload) {
		s.context, s.to = 0, nil
		c.reader.freed = append(c.reader.freed, freed{index, s.size})
	}
}

// settle publishes what a batch of messages changed.
func (c *Conn) settle() {
	r := &c.reader
	if r.live {
		c.answered.Store(r.seq)
		c.progress.Store(c.tick.Load())
		c.alive()
		r.live = false
	}
	if len(r.freed) > 0 {
		c.release(r.freed...)
		r.freed = r.freed[:0]
	}
	c.stats.replies.Store(r.replies)
	c.stats.late.Store(r.late)
	c.stats.events.Store(r.events)
	c.stats.bytesIn.Store(r.bytes)
}

// timeoutTicks is how many ticks of the sweeper make the reply timeout.
const timeoutTicks = 8

// sweepLoop is the clock of the reply timeout. It stands still while nothing
// is in flight.
func (c *Conn) sweepLoop() {
	ticker := time.NewTicker(max(c.opts.ReplyTimeout/timeoutTicks, time.Microsecond))
	defer ticker.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-c.sweepWake:
		}
		ticker.Reset(max(c.opts.ReplyTimeout/timeoutTicks, time.Microsecond))
		for busy := true; busy; {
			select {
			case <-c.done:
				return
			case <-ticker.C:
				busy = c.sweep()
			}
		}
		ticker.Stop()
	}
}

// sweep advances the clock and ends the connection if a request is due. A request that is
// due although VPP answered later ones fails alone: its reply is lost. It returns false
// when nothing is in flight.
func (c *Conn) sweep() bool {
	now := c.tick.Add(1)
	for i := range c.slots {
		s := &c.slots[i]
		s.mu.Lock()
		due, lost, info, size := s.context != 0 && c.due(s, now), s.passed, s.info, s.size
		if due && lost {
			s.end(&RequestError{Message: info.name, Sent: true, Err: fmt.Errorf("%w (%v)", ErrReplyLost, c.opts.ReplyTimeout)})
		}
		s.mu.Unlock()
		switch {
		case due && lost:
			c.stats.timeouts.Add(1)
			c.release(freed{uint32(i), size})
		case due:
			c.stats.timeouts.Add(1)
			c.Stall(fmt.Errorf("%s: %w (%v)", info.name, ErrReplyTimeout, c.opts.ReplyTimeout))
			return false
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.window.n == len(c.slots) {
		c.sweeping = false
	}
	return c.sweeping
}

// due reports whether the request of a locked slot has waited for the reply
// timeout. VPP answers in order: a request waits in the queue as long as VPP
// answers those before it, and its own time starts then.
func (c *Conn) due(s *slot, now int64) bool {
	if !s.stalls {
		return false
	}
	since := s.since
	if answered := c.answered.Load(); s.seq >= answered {
		since = max(since, c.progress.Load())
	} else if !s.passed {
		s.passed = true
		s.since = now
		since = now
	}
	return now-since > timeoutTicks
}
