package kvtest

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// Memory is a data store in memory that can fail. Its methods may be called concurrently.
type Memory struct {
	mu     sync.Mutex
	cond   *sync.Cond
	values map[string]proto.Message
	broken bool
	tried  int
}

// NewMemory returns a store with the name "memory" that has the keys, with nil as their values.
func NewMemory(keys ...string) *Memory {
	s := &Memory{values: map[string]proto.Message{}}
	s.cond = sync.NewCond(&s.mu)
	for _, key := range keys {
		s.values[key] = nil
	}
	return s
}

// String returns the name of the store.
func (s *Memory) String() string { return "memory" }

// Disabled implements publish.Store.
func (s *Memory) Disabled() bool { return false }

func (s *Memory) do(f func()) error {
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
func (s *Memory) Put(key string, value proto.Message, _ ...kv.PutOption) error {
	return s.do(func() { s.values[key] = value })
}

// Delete implements kv.Writer.
func (s *Memory) Delete(key string, opts ...kv.DelOption) (bool, error) {
	return true, s.do(func() {
		for k := range s.values {
			if k == key || kv.CollectDel(opts).Prefix && strings.HasPrefix(k, key) {
				delete(s.values, k)
			}
		}
	})
}

// Break makes writes fail until it is called with false.
func (s *Memory) Break(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

// AwaitWrite waits until something is written that was not there at the call, successfully or not.
func (s *Memory) AwaitWrite(cause func()) {
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
func (s *Memory) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tried
}

// AwaitText waits until the values, as text returns them, are what the test wants.
func (s *Memory) AwaitText(tb testing.TB, text func(values map[string]proto.Message) string, want string) {
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
func (s *Memory) Await(fits func(values map[string]proto.Message) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !fits(s.values) {
		s.cond.Wait()
	}
}
