package vppcalls

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// TestCombiner: what comes while a request is on its way goes together, in the
// order in which it came, each with its own outcome; other keys do not wait.
func TestCombiner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCombiner[string, int]()
		errOdd := errors.New("odd")
		var (
			mu    sync.Mutex
			sent  []string
			errs  = map[int]error{}
			users sync.WaitGroup
		)
		release := make(chan struct{})
		send := func(key string) func([]int) []error {
			return func(items []int) []error {
				mu.Lock()
				sent = append(sent, fmt.Sprint(key, items))
				mu.Unlock()
				<-release
				out := make([]error, len(items))
				for n, item := range items {
					if item%2 == 1 {
						out[n] = errOdd
					}
				}
				return out
			}
		}
		do := func(key string, item int) {
			users.Go(func() {
				err := c.do(t.Context(), key, item, 3, send(key))
				mu.Lock()
				defer mu.Unlock()
				errs[item] = err
			})
			synctest.Wait() // it is on its way, or waits
		}
		for item := range 6 {
			do("a", item)
		}
		do("b", 6)
		close(release)
		users.Wait()
		if want := []string{"a[0]", "b[6]", "a[1 2 3]", "a[4 5]"}; !slices.Equal(sent, want) {
			t.Errorf("sent %v, expected %v", sent, want)
		}
		for item := range 7 {
			if got := errs[item]; (item%2 == 1) != errors.Is(got, errOdd) {
				t.Errorf("item %d: %v", item, got)
			}
		}
		if len(c.waiting) != 0 {
			t.Errorf("left over: %v", c.waiting)
		}
	})
}

// TestCombinerPanic: who sends for others may fail to.
func TestCombinerPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCombiner[string, int]()
		release := make(chan struct{})
		var users sync.WaitGroup
		errs := make([]error, 3)
		for item := range errs {
			users.Go(func() {
				defer func() { _ = recover() }()
				errs[item] = c.do(t.Context(), "a", item, 9, func(items []int) []error {
					<-release
					if len(items) > 1 {
						panic("bug")
					}
					return make([]error, len(items))
				})
			})
			synctest.Wait()
		}
		close(release)
		users.Wait()
		if errs[0] != nil || !errors.Is(errs[2], errNotSent) || len(c.waiting) != 0 {
			t.Errorf("errors %v, left over %v", errs, c.waiting)
		}
	})
}

// TestCombinerCanceled: a canceled item leaves the queue. One that is on its way waits for
// the request, which may be canceled as well; the others are sent.
func TestCombinerCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCombiner[string, int]()
		var (
			sent    []string
			release = make(chan struct{})
			users   sync.WaitGroup
			cancels = make([]context.CancelFunc, 7)
			errs    = make([]error, len(cancels))
		)
		for item := range errs {
			ctx, cancel := context.WithCancel(t.Context())
			cancels[item] = cancel
			users.Go(func() {
				errs[item] = c.do(ctx, "a", item, 4, func(items []int) []error {
					sent = append(sent, fmt.Sprint(items))
					out := make([]error, len(items))
					select {
					case <-release:
					case <-ctx.Done():
						for n := range out {
							out[n] = ctx.Err()
						}
					}
					return out
				})
			})
			synctest.Wait() // it is on its way, or waits
		}
		cancels[1]()
		synctest.Wait()
		if !errors.Is(errs[1], context.Canceled) {
			t.Errorf("a canceled item that waits: %v", errs[1])
		}
		release <- struct{}{} // the first one
		synctest.Wait()       // 2, 3, 4 and 5 are on their way
		cancels[3]()
		synctest.Wait()
		if errs[3] != nil {
			t.Errorf("a canceled item does not wait for its request: %v", errs[3])
		}
		cancels[2]()
		close(release)
		users.Wait()
		if want := []string{"[0]", "[2 3 4 5]", "[6]"}; !slices.Equal(sent, want) {
			t.Errorf("sent %v, expected %v", sent, want)
		}
		for item, err := range errs {
			cancels[item]()
			if canceled := item > 0 && item < 6; errors.Is(err, context.Canceled) != canceled {
				t.Errorf("item %d: %v", item, err)
			}
		}
		if len(c.waiting) != 0 {
			t.Errorf("left over: %v", c.waiting)
		}
	})
}

// TestCombinerPassesTheTurn: a canceled item does not send for others.
func TestCombinerPassesTheTurn(t *testing.T) {
	t.Parallel()
	c := newCombiner[string, int]()
	all := []*waiter[int]{}
	for range 4 {
		w := &waiter[int]{turn: make(chan turn[int], 1)}
		c.enter("a", w)
		all = append(all, w)
	}
	c.next("a", 2) // the first has ended; the next is canceled with its turn
	now := <-all[1].turn
	if c.leave("a", all[1]) || c.leave("a", all[2]) {
		t.Error("an item of a batch left the queue")
	}
	c.pass("a", now.batch[1:], 2)
	if now := <-all[2].turn; !slices.Equal(now.batch, all[2:]) {
		t.Errorf("the next one got %v", now.batch)
	}
}
