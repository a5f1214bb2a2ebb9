package memdb

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

var _ kv.Elector = (*Client)(nil)

// leadership implements kv.Leadership.
type leadership struct {
	client *Client
	name   string
	value  []byte
	lost   chan struct{}
}

// Campaign implements kv.Elector. A leader leads until it resigns or its client ends: the TTL has no meaning in one
// process.
func (c *Client) Campaign(ctx context.Context, name string, value []byte, _ time.Duration) (kv.Leadership, error) {
	for {
		s, err := c.begin(ctx)
		if err != nil {
			return nil, err
		}
		leader := s.leaders[name]
		if leader == nil {
			l := &leadership{c, name, bytes.Clone(value), make(chan struct{})}
			s.leaders[name] = l
			s.mu.Unlock()
			return l, nil
		}
		s.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-c.ended:
		case <-leader.lost:
		}
	}
}

// Leader implements kv.Elector.
func (c *Client) Leader(ctx context.Context, name string) ([]byte, error) {
	s, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	l := s.leaders[name]
	if l == nil {
		return nil, kv.ErrNotFound
	}
	return slices.Clone(l.value), nil
}

// Lost implements kv.Leadership.
func (l *leadership) Lost() <-chan struct{} { return l.lost }

// CompareAndSwap implements kv.Leadership.
func (l *leadership) CompareAndSwap(ctx context.Context, key string, old, value []byte) (bool, error) {
	s, err := l.client.begin(ctx)
	if err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	if s.leaders[l.name] != l {
		return false, kv.ErrNotLeader
	}
	return s.swap(key, old, value), nil
}

// Delete implements kv.Leadership.
func (l *leadership) Delete(ctx context.Context, keys ...string) error {
	s, err := l.client.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.leaders[l.name] != l {
		return kv.ErrNotLeader
	}
	var ops []kv.Op
	for _, key := range keys {
		ops = append(ops, kv.Op{Key: key})
	}
	s.commit(nil, ops)
	return nil
}

// Resign implements kv.Leadership.
func (l *leadership) Resign() error {
	s := l.client.store
	s.mu.Lock()
	defer s.mu.Unlock()
	s.depose(l)
	return nil
}

func (s *Store) depose(l *leadership) {
	if s.leaders[l.name] == l {
		delete(s.leaders, l.name)
		close(l.lost)
	}
}
