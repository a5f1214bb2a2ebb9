package vppcalls

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// errNotSent is the error of items whose request did not come to an end.
var errNotSent = errors.New("the request with others was not sent")

// combiner makes one request of several with the same key, without waiting for
// any: those that come while one is on its way go together when it is back.
type combiner[K comparable, T any] struct {
	mu      sync.Mutex
	waiting map[K][]*waiter[T] // an entry exists while a request of the key is on its way
}

// waiter is somebody whose item is to be sent.
type waiter[T any] struct {
	item T
	turn chan turn[T] // gets exactly one
}

// turn tells a waiter to send a batch that begins with its own item, or, without
// one, what became of it.
type turn[T any] struct {
	batch []*waiter[T]
	err   error
}

func newCombiner[K comparable, T any]() *combiner[K, T] {
	return &combiner[K, T]{waiting: make(map[K][]*waiter[T])}
}

// do sends an item, alone or with up to limit-1 others of the key, and returns its
// error. send returns one error per item. If ctx is canceled before the item is sent, do
// returns its error. Afterwards do waits for whoever sends it: that one has waited longer
// and is canceled earlier.
func (c *combiner[K, T]) do(ctx context.Context, key K, item T, limit int, send func([]T) []error) error {
	w := &waiter[T]{item: item, turn: make(chan turn[T], 1)}
	now := turn[T]{batch: []*waiter[T]{w}}
	if !c.enter(key, w) {
		select {
		case now = <-w.turn:
		case <-ctx.Done():
			if c.leave(key, w) {
				return ctx.Err()
			}
			now = <-w.turn
		}
	}
	if now.batch == nil {
		return now.err
	}
	if err := ctx.Err(); err != nil {
		c.pass(key, now.batch[1:], limit)
		return err
	}
	items, errs := make([]T, len(now.batch)), make([]error, len(now.batch))
	for n, other := range now.batch {
		items[n], errs[n] = other.item, errNotSent
	}
	defer func() { // nobody waits for ever, whatever send does
		c.next(key, limit)
		for n, other := range now.batch[1:] {
			other.turn <- turn[T]{err: errs[n+1]}
		}
	}()
	copy(errs, send(items))
	return errs[0]
}

// enter is false if the waiter has to wait for its turn.
func (c *combiner[K, T]) enter(key K, w *waiter[T]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	others, busy := c.waiting[key]
	if busy {
		c.waiting[key] = append(others, w)
		return false
	}
	c.waiting[key] = nil
	return true
}

// leave takes a waiter out of the queue; it is false if the waiter has got its turn or is
// in a batch.
func (c *combiner[K, T]) leave(key K, w *waiter[T]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.waiting[key], w)
	if i < 0 {
		return false
	}
	c.waiting[key] = slices.Delete(c.waiting[key], i, i+1)
	return true
}

// pass gives the turn of a canceled waiter to those behind it.
func (c *combiner[K, T]) pass(key K, batch []*waiter[T], limit int) {
	c.mu.Lock()
	c.waiting[key] = slices.Concat(batch, c.waiting[key])
	c.mu.Unlock()
	c.next(key, limit)
}

// next gives the turn to the first that waits, together with those behind it.
func (c *combiner[K, T]) next(key K, limit int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch := c.waiting[key]
	if len(batch) == 0 {
		delete(c.waiting, key)
		return
	}
	batch = batch[:min(len(batch), limit)]
	c.waiting[key] = c.waiting[key][len(batch):]
	batch[0].turn <- turn[T]{batch: batch}
}
