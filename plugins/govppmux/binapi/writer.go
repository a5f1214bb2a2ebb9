package binapi

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/codec"
)

// keepBatch is the largest batch buffer kept for reuse.
const keepBatch = 256 << 10

// request is a message ready to be sent.
type request struct {
	info *msgType
	msg  codec.Marshaler
	size int  // message with its header, without the frame header
	ping bool // a control_ping with the same context follows
}

// prepare checks that VPP knows the message and that it can be encoded.
func (c *Conn) prepare(msg api.Message) (request, error) {
	info, err := c.table.typeOf(msg)
	if err != nil {
		return request{}, err
	}
	m, ok := msg.(codec.Marshaler)
	switch {
	case !info.known:
		return request{}, &RequestError{Message: info.name, Err: fmt.Errorf("%w (%s_%s)", ErrUnknownMessage, info.name, info.crc)}
	case !ok:
		return request{}, &RequestError{Message: info.name, Err: fmt.Errorf("type %T has no Marshal", msg)}
	}
	return request{info: info, msg: m, size: info.header + m.Size()}, nil
}

// framed is the number of bytes the request takes on the socket.
func (r *request) framed() int {
	n := frameHeader + r.size
	if r.ping {
		n += frameHeader + requestHeader
	}
	return n
}

// submit queues a request for writing and registers the receiver of what VPP
// sends with its context.
func (c *Conn) submit(ctx context.Context, r request, to receiver) (reqContext uint32, err error) {
	fail := func(err error) (uint32, error) {
		return 0, &RequestError{Message: r.info.name, Err: err}
	}
	size := r.framed()
	if size > c.opts.MaxMessage {
		return fail(fmt.Errorf("request of %d bytes: %w of %d", size, ErrTooLarge, c.opts.MaxMessage))
	}
	if ctx.Err() != nil {
		return fail(cmp.Or(c.Err(), canceled(ctx)))
	}
	_, hasDeadline := ctx.Deadline()
	listed, ok := to.(*streamRequest)
	listing := ok && listed.listing // ends with a ping of its own, which has the timeout

	c.mu.Lock()
	index, err := c.acquire(ctx, size)
	if err != nil {
		return fail(err)
	}
	reqContext = c.nextContext(index)
	if err := c.encode(r, reqContext); err != nil {
		c.window.give(freed{index, size})
		c.window.grant(len(c.unsent))
		c.mu.Unlock()
		return fail(err)
	}
	c.seq++
	count(c.messages.sent, r.info.id)
	s := &c.slots[index]
	s.mu.Lock()
	s.context, s.size, s.seq, s.info, s.to = reqContext, size, c.seq, r.info, to
	s.since, s.passed, s.stalls = c.tick.Load(), false, !hasDeadline && !listing
	s.mu.Unlock()
	c.toWrite.Signal()
	if !c.sweeping {
		c.sweeping = true
		c.sweepWake <- struct{}{}
	}
	c.mu.Unlock()
	return reqContext, nil
}

// encode appends the frames of a request to the batch. c.mu must be held.
func (c *Conn) encode(r request, reqContext uint32) (err error) {
	at := len(c.unsent)
	size := r.framed()
	c.unsent = slices.Grow(c.unsent, size)[:at+size]
	b := c.unsent[at:]
	clear(b)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("encode: %v", p)
		}
		if err != nil {
			c.unsent = c.unsent[:at]
		}
	}()
	putFrameHeader(b, r.size)
	p := b[frameHeader : frameHeader+r.size]
	c.putMessageHeader(p, r.info, reqContext)
	if _, err := r.msg.Marshal(p[r.info.header:]); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if r.ping {
		b = b[frameHeader+r.size:]
		putFrameHeader(b, requestHeader)
		c.putMessageHeader(b[frameHeader:], c.ping, reqContext)
	}
	return nil
}

func (c *Conn) putMessageHeader(p []byte, info *msgType, reqContext uint32) {
	binary.BigEndian.PutUint16(p, info.id)
	switch info.header {
	case requestHeader:
		binary.BigEndian.PutUint32(p[2:], c.clientIndex)
		binary.BigEndian.PutUint32(p[6:], reqContext)
	case replyHeader:
		binary.BigEndian.PutUint32(p[2:], reqContext)
	}
}

// writeLoop writes whatever requests have gathered since its last write.
func (c *Conn) writeLoop() {
	var batch []byte
	for {
		c.mu.Lock()
		for len(c.unsent) == 0 && !c.closed {
			c.toWrite.Wait()
		}
		if c.closed {
			c.mu.Unlock()
			return
		}
		batch, c.unsent = c.unsent, batch[:0]
		c.takenSeq.Store(c.seq)
		c.window.grant(len(c.unsent))
		c.mu.Unlock()
		if _, err := c.nc.Write(batch); err != nil {
			c.fail(err)
			return
		}
		c.stats.batches.Add(1)
		c.stats.bytesOut.Add(uint64(len(batch)))
		if cap(batch) > keepBatch {
			batch = nil
		}
	}
}
