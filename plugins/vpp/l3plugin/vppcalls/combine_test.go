package vppcalls

import (
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
				err := c.do(key, item, 3, send(key))
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
				errs[item] = c.do("a", item, 9, func(items []int) []error {
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
