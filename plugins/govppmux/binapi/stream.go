package binapi

import (
	"context"
	"fmt"
	"path"
	"reflect"
	"strings"
	"sync"

	"go.fd.io/govpp/api"
)

// stream carries messages in both directions for the generated RPC clients.
// Every message sent has a context of its own, so that nothing meant for
// another user, and nothing late, can arrive on it.
type stream struct {
	conn *Conn
	ctx  context.Context

	mu     sync.Mutex
	open   []*streamRequest // without their last message, in sending order
	queue  []streamMessage
	size   int
	err    error // ends the stream after the queue
	closed bool
	ready  chan struct{}
}

// streamRequest is the receiver of what VPP sends for one message of a stream.
type streamRequest struct {
	stream  *stream
	info    *msgType
	path    string // of the request's binding set
	context uint32
	listing bool // details may come before the end
	ping    bool
	settled bool // a later control_ping was answered, so this one is over
}

type streamMessage struct {
	of      *streamRequest
	id      uint16
	payload []byte
	err     error
}

// NewStream opens a stream on the connection; it ends with ctx. The options of
// govpp's core package are for its own streams only and are an error here.
func (c *Conn) NewStream(ctx context.Context, options ...api.StreamOption) (api.Stream, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	s := &stream{conn: c, ctx: ctx, ready: make(chan struct{}, 1)}
	for i, option := range options {
		if err := apply(option, s); err != nil {
			return nil, fmt.Errorf("new stream: option %d: %w", i, err)
		}
	}
	return s, nil
}

// apply runs an option, which may insist on a stream type of its own.
func apply(option api.StreamOption, s api.Stream) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	option(s)
	return nil
}

// Context returns the context of the stream.
func (s *stream) Context() context.Context { return s.ctx }

// SendMsg queues a message for sending.
func (s *stream) SendMsg(msg api.Message) error {
	r, err := s.conn.prepare(msg)
	if err != nil {
		return err
	}
	req := &streamRequest{
		stream: s, info: r.info, path: bindingPath(msg),
		listing: strings.Contains(r.info.name, "_dump") || strings.Contains(r.info.name, "_get"),
		ping:    r.info.id == s.conn.ping.id,
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return fmt.Errorf("stream: %w", ErrClosed)
	}
	s.open = append(s.open, req)
	s.mu.Unlock()
	reqContext, err := s.conn.submit(s.ctx, r, req)
	s.mu.Lock()
	defer s.mu.Unlock()
	req.context = reqContext
	if err != nil {
		s.forget(req)
	}
	return err
}

// forget removes a request that has had its last message.
func (s *stream) forget(req *streamRequest) {
	for i, o := range s.open {
		if o == req {
			s.open = append(s.open[:i], s.open[i+1:]...)
			return
		}
	}
}

func (q *streamRequest) receive(id uint16, payload []byte) bool {
	s := q.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.err != nil {
		return true
	}
	if s.size+len(payload) > s.conn.opts.MaxQueue {
		s.err = fmt.Errorf("stream: %d bytes not consumed: %w of %d", s.size, ErrTooLarge, s.conn.opts.MaxQueue)
		s.notify()
		return true
	}
	s.push(streamMessage{of: q, id: id, payload: append([]byte(nil), payload...)})
	if q.listing && strings.Contains(s.conn.table.Name(id), "_details") {
		return false
	}
	if q.ping {
		s.settle(q)
	}
	s.forget(q)
	return true
}

// settle marks the requests before an answered ping: VPP has executed them, so
// they are over even if, like a dump, they have no last message.
func (s *stream) settle(ping *streamRequest) {
	for _, o := range s.open {
		if o == ping {
			return
		}
		o.settled = true
	}
}

func (q *streamRequest) fail(err error) {
	s := q.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(q)
	if !q.settled && !s.closed {
		s.push(streamMessage{of: q, err: err})
	}
}

func (s *stream) push(m streamMessage) {
	s.queue = append(s.queue, m)
	s.size += len(m.payload)
	s.notify()
}

func (s *stream) notify() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// RecvMsg returns the next message VPP sent for any message of the stream,
// decoded as its ID says, or as the reply of a plain request.
func (s *stream) RecvMsg() (api.Message, error) {
	for {
		m, ok, err := s.next()
		if err != nil {
			return nil, err
		}
		if ok {
			return s.decode(m)
		}
		select {
		case <-s.ready:
		case <-s.conn.done:
			if m, ok, err := s.next(); ok || err != nil {
				if err != nil {
					return nil, err
				}
				return s.decode(m)
			}
			return nil, s.conn.Err()
		case <-s.ctx.Done():
			return nil, s.ctx.Err()
		}
	}
}

func (s *stream) next() (m streamMessage, ok bool, err error) {
	s.mu.Lock()
	var over []*streamRequest
	switch {
	case s.closed:
		err = fmt.Errorf("stream: %w", ErrClosed)
	case len(s.queue) > 0:
		m, ok = s.queue[0], true
		s.queue[0] = streamMessage{}
		s.queue = s.queue[1:]
		s.size -= len(m.payload)
		if m.of.ping {
			over = s.takeSettled()
		}
	default:
		err = s.err
	}
	s.mu.Unlock()
	for _, q := range over {
		s.conn.abandon(q.context)
	}
	return m, ok, err
}

// takeSettled removes and returns the open requests that are over.
func (s *stream) takeSettled() []*streamRequest {
	var over []*streamRequest
	kept := s.open[:0]
	for _, o := range s.open {
		if o.settled && o.context != 0 {
			over = append(over, o)
		} else {
			kept = append(kept, o)
		}
	}
	clear(s.open[len(kept):])
	s.open = kept
	return over
}

func (s *stream) decode(m streamMessage) (api.Message, error) {
	if m.err != nil {
		return nil, m.err
	}
	msg, err := s.messageFor(m)
	if err != nil {
		return nil, &RequestError{Message: m.of.info.name, Sent: true, Err: err}
	}
	if err := decode(m.payload, msg, headerSize(msg)); err != nil {
		return nil, &RequestError{Message: m.of.info.name, Sent: true, Err: err}
	}
	return msg, nil
}

// messageFor makes the message to decode into: by ID, except that the reply of
// a plain request is what the request expects whatever ID VPP put on it.
func (s *stream) messageFor(m streamMessage) (api.Message, error) {
	t := s.conn.table
	nameCRC := t.Name(m.id)
	isDetails := strings.Contains(nameCRC, "_details")
	if own := m.id == m.of.info.id; own || !m.of.listing || !isDetails {
		if msg := registered(m.of.path, t.byName[m.of.info.name+"_reply"]); msg != nil {
			return msg, nil
		}
	}
	if msg := registered(m.of.path, nameCRC); msg != nil {
		return msg, nil
	}
	return nil, fmt.Errorf("%w: message %d (%s) has no type in %s", ErrProtocol, m.id, nameCRC, m.of.path)
}

// Close ends the stream; what VPP still sends for it is dropped.
func (s *stream) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return fmt.Errorf("stream: %w", ErrClosed)
	}
	s.closed = true
	open := s.open
	s.open, s.queue = nil, nil
	s.mu.Unlock()
	for _, q := range open {
		if q.context != 0 {
			s.conn.abandon(q.context)
		}
	}
	s.notify()
	return nil
}

// bindingPath is the import path that holds the binding set of a message.
func bindingPath(msg api.Message) string {
	t := reflect.TypeOf(msg)
	if t.Kind() != reflect.Pointer {
		return ""
	}
	return path.Dir(t.Elem().PkgPath())
}

// registered makes a message of the Go type registered under a name and CRC,
// preferably in the given binding set.
func registered(bindings, nameCRC string) api.Message {
	all := api.GetRegisteredMessages()
	msg, ok := all[bindings][nameCRC]
	if !ok {
		for _, messages := range all {
			if msg, ok = messages[nameCRC]; ok {
				break
			}
		}
	}
	if !ok {
		return nil
	}
	return reflect.New(reflect.TypeOf(msg).Elem()).Interface().(api.Message)
}
