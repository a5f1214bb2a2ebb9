// Package publishtest has a data store for tests of publishing.
package publishtest

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// Store is a data store in memory that can fail. Its methods may be called concurrently.
type Store struct {
	mu     sync.Mutex
	cond   *sync.Cond
	values map[string]proto.Message
	broken bool
	tried  int
}

// NewStore returns a store with the name "memory" that has the keys, with nil as their values.
func NewStore(keys ...string) *Store {
	s := &Store{values: map[string]proto.Message{}}
	s.cond = sync.NewCond(&s.mu)
	for _, key := range keys {
		s.values[key] = nil
	}
	return s
}

// String returns the name of the store.
func (s *Store) String() string { return "memory" }

// Disabled implements publish.Store.
func (s *Store) Disabled() bool { return false }

func (s *Store) do(f func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.cond.Broadcast()
	s.tried++
	if s.broken {
		return errors.New("out of order")
	}
	f()
	return nil
}

// Put implements kv.Writer.
func (s *Store) Put(key string, value proto.Message, _ ...kv.PutOption) error {
	return s.do(func() { s.values[key] = value })
}

// Delete implements kv.Writer.
func (s *Store) Delete(key string, opts ...kv.DelOption) (bool, error) {
	return true, s.do(func() {
		for k := range s.values {
			if k == key || kv.CollectDel(opts).Prefix && strings.HasPrefix(k, key) {
				delete(s.values, k)
			}
		}
	})
}

// Break makes writes fail until it is called with false.
func (s *Store) Break(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

// AwaitWrite waits until something is written that was not there at the call, successfully or not.
func (s *Store) AwaitWrite(cause func()) {
	s.mu.Lock()
	before := s.tried
	s.mu.Unlock()
	cause()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.tried == before {
		s.cond.Wait()
	}
}

// Writes returns how many writes were attempted.
func (s *Store) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tried
}

// patience is how long AwaitText waits; it only stops a hung test.
const patience = 2 * time.Minute

// AwaitText waits until the values, as text returns them, are what the test wants.
func (s *Store) AwaitText(tb testing.TB, text func(values map[string]proto.Message) string, want string) {
	tb.Helper()
	late := time.Now().Add(patience)
	defer time.AfterFunc(patience, s.cond.Broadcast).Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for got := text(s.values); got != want; got = text(s.values) {
		if time.Now().After(late) {
			tb.Fatalf("published\n%s\nexpected\n%s", got, want)
		}
		s.cond.Wait()
	}
}

// Await waits until the values fit.
func (s *Store) Await(fits func(values map[string]proto.Message) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !fits(s.values) {
		s.cond.Wait()
	}
}
