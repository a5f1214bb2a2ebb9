package vppcalls

import (
	"errors"
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
// error. send returns one error per item.
func (c *combiner[K, T]) do(key K, item T, limit int, send func([]T) []error) error {
	w := &waiter[T]{item: item, turn: make(chan turn[T], 1)}
	now := turn[T]{batch: []*waiter[T]{w}}
	if !c.enter(key, w) {
		now = <-w.turn
	}
	if now.batch == nil {
		return now.err
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
