package binapi

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"go.fd.io/govpp/api"
)

// watchSet is who watches which event. Reading it takes no lock.
type watchSet struct {
	mu    sync.Mutex // serialises writers
	byID  atomic.Pointer[map[uint16][]*Watcher]
	ended error
}

func (s *watchSet) deliver(id uint16, payload []byte) {
	if m := s.byID.Load(); m != nil {
		for _, w := range (*m)[id] {
			w.box.put(payload)
		}
	}
}

func (s *watchSet) change(f func(map[uint16][]*Watcher)) {
	next := map[uint16][]*Watcher{}
	if m := s.byID.Load(); m != nil {
		next = maps.Clone(*m)
	}
	f(next)
	s.byID.Store(&next)
}

func (s *watchSet) add(w *Watcher) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return s.ended
	}
	s.change(func(m map[uint16][]*Watcher) { m[w.id] = append(slices.Clone(m[w.id]), w) })
	return nil
}

func (s *watchSet) remove(w *Watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change(func(m map[uint16][]*Watcher) {
		m[w.id] = slices.DeleteFunc(slices.Clone(m[w.id]), func(o *Watcher) bool { return o == w })
	})
}

func (s *watchSet) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = err
	if m := s.byID.Load(); m != nil {
		for _, ws := range *m {
			for _, w := range ws {
				w.box.end(err)
			}
		}
	}
}

// WatchOptions are the settings of one event watch.
type WatchOptions struct {
	// Coalesce returns a comparable key of an event. Of waiting events with
	// the same key only the newest is kept, at the place of the oldest; nil
	// keeps all.
	Coalesce func(api.Message) any
}

// Watcher delivers the events of one type, in the order VPP sent them. None is
// dropped: a consumer that leaves more than Options.MaxQueue bytes waiting
// ends its watcher with ErrTooLarge.
type Watcher struct {
	conn   *Conn
	id     uint16
	header int
	make   func() api.Message
	key    func(api.Message) any
	box    *mailbox
	events chan api.Message
	cancel context.CancelFunc
	done   chan struct{}
	err    error // valid after done
}

var _ api.Watcher = (*Watcher)(nil)

// WatchEvent watches events of the type of the given message until ctx ends,
// the watcher is closed or the connection ends. The want_... request that
// makes VPP send them is the caller's to send.
func (c *Conn) WatchEvent(ctx context.Context, event api.Message) (api.Watcher, error) {
	return c.Watch(ctx, event, WatchOptions{})
}

// Watch is WatchEvent with options and the concrete result.
func (c *Conn) Watch(ctx context.Context, event api.Message, opts WatchOptions) (*Watcher, error) {
	info, err := c.table.typeOf(event)
	if err != nil {
		return nil, fmt.Errorf("watch event: %w", err)
	}
	if !info.known {
		return nil, fmt.Errorf("watch event: %w (%s_%s)", ErrUnknownMessage, info.name, info.crc)
	}
	c.table.setEvent(info.id)
	t := reflect.TypeOf(event).Elem()
	ctx, cancel := context.WithCancel(ctx)
	w := &Watcher{
		conn: c, id: info.id, header: info.header, key: opts.Coalesce,
		make:   func() api.Message { return reflect.New(t).Interface().(api.Message) },
		box:    newMailbox(c.opts.MaxQueue),
		events: make(chan api.Message),
		cancel: cancel, done: make(chan struct{}),
	}
	if err := c.start(ctx, w); err != nil {
		cancel()
		return nil, fmt.Errorf("watch event %s: %w", info.name, err)
	}
	return w, nil
}

// start runs the watcher's goroutine unless the connection has ended.
func (c *Conn) start(ctx context.Context, w *Watcher) error {
	c.mu.Lock() // orders wg.Go before the wg.Wait of Close
	defer c.mu.Unlock()
	if c.ended != nil {
		return c.ended
	}
	if err := c.watches.add(w); err != nil {
		return err
	}
	c.wg.Go(func() { w.run(ctx) })
	return nil
}

// Events is the channel of events; it is closed when the watch ends.
func (w *Watcher) Events() <-chan api.Message { return w.events }

// Close ends the watch and closes the channel.
func (w *Watcher) Close() {
	w.cancel()
	<-w.done
}

// Err reports why the watch ended, after its channel was closed: nil if it was
// closed or its context ended.
func (w *Watcher) Err() error {
	select {
	case <-w.done:
		return w.err
	default:
		return nil
	}
}

// run moves events from the mailbox to the channel.
func (w *Watcher) run(ctx context.Context) {
	defer close(w.done)
	defer close(w.events)
	defer w.cancel()
	defer w.conn.watches.remove(w)
	var q eventQueue
	for {
		if w.key != nil || q.empty() {
			ended, err := w.fetch(&q)
			if err != nil || ended && q.empty() {
				w.err = err
				return
			}
		}
		var out chan api.Message
		if !q.empty() {
			out = w.events
		}
		select {
		case <-ctx.Done():
			return
		case <-w.conn.done:
			w.err = w.conn.Err()
			return
		case <-w.box.ready:
		case out <- q.head():
			q.pop()
		}
	}
}

// fetch decodes what the mailbox holds into the queue.
func (w *Watcher) fetch(q *eventQueue) (ended bool, err error) {
	chunks, ended, endErr := w.box.take()
	err = eachMessage(chunks, func(payload []byte) error {
		event := w.make()
		if err := decode(payload, event, w.header); err != nil {
			return err
		}
		q.push(event, w.key)
		return nil
	})
	if err == nil && ended && q.empty() {
		err = endErr
	}
	return ended, err
}

// eventQueue holds decoded events; those with the same key share a place.
type eventQueue struct {
	events []api.Message
	first  int         // number of the oldest event
	byKey  map[any]int // number of the waiting event with a key
	keys   []any
}

func (q *eventQueue) empty() bool { return len(q.events) == 0 }

func (q *eventQueue) head() api.Message {
	if q.empty() {
		return nil
	}
	return q.events[0]
}

func (q *eventQueue) push(event api.Message, key func(api.Message) any) {
	if key != nil {
		k := key(event)
		if n, ok := q.byKey[k]; ok {
			q.events[n-q.first] = event
			return
		}
		if q.byKey == nil {
			q.byKey = map[any]int{}
		}
		q.byKey[k] = q.first + len(q.events)
		q.keys = append(q.keys, k)
	}
	q.events = append(q.events, event)
}

func (q *eventQueue) pop() {
	q.events[0] = nil
	q.events = q.events[1:]
	q.first++
	if q.keys != nil {
		delete(q.byKey, q.keys[0])
		q.keys = q.keys[1:]
	}
}
