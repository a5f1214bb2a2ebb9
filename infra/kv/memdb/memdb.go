// Package memdb is a key-value store in the memory of a process, with the revisions, the history and the lifetimes of
// etcd. Agents that are simulated in one process share it.
package memdb

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// Store is the store. Clients access it; see Client.
type Store struct {
	name string

	mu      sync.Mutex
	items   map[string]entry
	log     [][]kv.Event  // Invariant: log[i] has the events of revision i+1.
	changed chan struct{} // closed with the next revision
	leaders map[string]*leadership
}

type entry struct {
	kv.Item
	of *Client // the entry is removed with it; nil: it stays
}

// New returns an empty store.
func New() *Store {
	return &Store{name: rand.Text(), items: map[string]entry{}, changed: make(chan struct{}), leaders: map[string]*leadership{}}
}

// Client is a connection to a store. It implements kv.DB, and its methods may be called concurrently.
type Client struct {
	store *Store
	ended chan struct{}
	err   error // why; of Store.mu
}

var _ kv.DB = (*Client)(nil)

// Client returns a new connection.
func (s *Store) Client() *Client { return &Client{store: s, ended: make(chan struct{})} }

// errClosed is the error of all calls after Close.
var errClosed = errors.New("the connection is closed")

// Close ends the connection, and removes the entries that have its lifetime.
func (c *Client) Close() { c.Cut(errClosed) }

// Cut is Close as the failure of a network: all calls return err from now on, watches too.
func (c *Client) Cut(err error) {
	s := c.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.ended)
	var ops []kv.Op
	for _, key := range s.keys("") {
		if s.items[key].of == c {
			ops = append(ops, kv.Op{Key: key})
		}
	}
	s.commit(nil, ops)
	for _, l := range s.leaders {
		if l.client == c {
			s.depose(l)
		}
	}
}

// Features implements kv.DB.
func (c *Client) Features() kv.Features { return kv.Features{Revisions: true, ClientTTL: true} }

// begin locks the store for a call.
func (c *Client) begin(ctx context.Context) (s *Store, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.store.mu.Lock()
	if c.err != nil {
		c.store.mu.Unlock()
		return nil, c.err
	}
	return c.store, nil
}

// keys returns the keys with a prefix, sorted.
func (s *Store) keys(prefix string) (keys []string) {
	for key := range s.items {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// commit does the changes of one revision. A change that removes nothing is none.
func (s *Store) commit(of *Client, ops []kv.Op) {
	revision := int64(len(s.log)) + 1
	var events []kv.Event
	for _, op := range kv.LastOps(ops) {
		_, exists := s.items[op.Key]
		if op.Value == nil && !exists {
			continue
		}
		item := kv.Item{Key: op.Key, Value: op.Value, Revision: revision}
		if op.Value == nil {
			delete(s.items, op.Key)
		} else {
			s.items[op.Key] = entry{item, of}
		}
		events = append(events, kv.Event{Item: item, Deleted: op.Value == nil})
	}
	if len(events) == 0 {
		return
	}
	s.log = append(s.log, events)
	close(s.changed)
	s.changed = make(chan struct{})
}

// Get implements kv.DB.
func (c *Client) Get(ctx context.Context, key string) (kv.Item, error) {
	s, err := c.begin(ctx)
	if err != nil {
		return kv.Item{}, err
	}
	defer s.mu.Unlock()
	e, ok := s.items[key]
	if !ok {
		return kv.Item{}, kv.ErrNotFound
	}
	return e.Item, nil
}

// List implements kv.DB.
func (c *Client) List(ctx context.Context, prefix string, opts ...kv.ListOption) (kv.Listing, error) {
	s, err := c.begin(ctx)
	if err != nil {
		return kv.Listing{}, err
	}
	defer s.mu.Unlock()
	l := kv.Listing{Revision: int64(len(s.log))}
	l.Identity = kv.Identity{Store: s.name, Revision: l.Revision}
	keysOnly := kv.CollectList(opts).KeysOnly
	for _, key := range s.keys(prefix) {
		item := s.items[key].Item
		if keysOnly {
			item.Value = nil
		}
		l.Items = append(l.Items, item)
	}
	return l, nil
}

// Put implements kv.DB.
func (c *Client) Put(ctx context.Context, key string, value []byte, opts ...kv.PutOption) error {
	o := kv.CollectPut(opts)
	if o.TTL > 0 && !o.ClientLifetime {
		return kv.ErrNotSupported
	}
	s, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	var of *Client
	if o.ClientLifetime {
		of = c
	}
	s.commit(of, []kv.Op{kv.PutOp(key, bytes.Clone(value))})
	return nil
}

// Delete implements kv.DB.
func (c *Client) Delete(ctx context.Context, key string, opts ...kv.DelOption) (int64, error) {
	s, err := c.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	before := len(s.items)
	var ops []kv.Op
	if kv.CollectDel(opts).Prefix {
		for _, k := range s.keys(key) {
			ops = append(ops, kv.Op{Key: k})
		}
	} else {
		ops = append(ops, kv.Op{Key: key})
	}
	s.commit(nil, ops)
	return int64(before - len(s.items)), nil
}

// Txn implements kv.DB.
func (c *Client) Txn(ctx context.Context, ops ...kv.Op) error {
	s, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	ops = slices.Clone(ops)
	for i := range ops {
		ops[i].Value = bytes.Clone(ops[i].Value)
	}
	s.commit(nil, ops)
	return nil
}

// CompareAndSwap implements kv.DB.
func (c *Client) CompareAndSwap(ctx context.Context, key string, old, value []byte) (bool, error) {
	s, err := c.begin(ctx)
	if err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	return s.swap(key, old, value), nil
}

// swap is CompareAndSwap.
func (s *Store) swap(key string, old, value []byte) bool {
	e, exists := s.items[key]
	if exists != (old != nil) || !bytes.Equal(e.Value, old) {
		return false
	}
	s.commit(nil, []kv.Op{{Key: key, Value: bytes.Clone(value)}})
	return true
}

// WatchFrom implements kv.DB. The store has all of its history.
func (c *Client) WatchFrom(ctx context.Context, prefix string, revision int64, handle func([]kv.Event) error) error {
	for at := revision; ; {
		s, err := c.begin(ctx)
		if err != nil && ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		batches, changed := s.log[min(at, int64(len(s.log))):], s.changed
		at = max(at, int64(len(s.log)))
		s.mu.Unlock()
		for _, events := range batches {
			events = slices.DeleteFunc(slices.Clone(events), func(e kv.Event) bool { return !strings.HasPrefix(e.Key, prefix) })
			if len(events) == 0 {
				continue
			}
			if err := handle(events); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.ended:
		case <-changed:
		}
	}
}
