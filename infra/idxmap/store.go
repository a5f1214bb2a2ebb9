// Package idxmap stores run-time metadata by label, with typed read-only
// views, secondary indexes and watches that never lose the last state.
//
// The owner of a Store writes it (the scheduler writes the metadata of one
// descriptor's values); others read it through Map.
package idxmap

import (
	"fmt"
	"reflect"
	"sync"
)

// Store holds the metadata of one kind of item by label. It is safe for
// concurrent use.
type Store struct {
	title string
	typ   reflect.Type // nil: any type

	mu       sync.RWMutex
	items    map[string]item
	indexes  map[string]*index
	revision uint64
	changed  chan struct{} // closed and replaced at every change while there are watchers
	watchers int
	removed  map[string]uint64 // kept only while there are watchers
}

type item struct {
	value    any
	revision uint64
}

// New returns an empty store for metadata of type M. The title names it in
// errors.
func New[M any](title string) *Store {
	typ := reflect.TypeFor[M]()
	if typ.Kind() == reflect.Interface && typ.NumMethod() == 0 {
		typ = nil
	}
	return &Store{
		title:   title,
		typ:     typ,
		items:   map[string]item{},
		indexes: map[string]*index{},
		changed: make(chan struct{}),
		removed: map[string]uint64{},
	}
}

// Put adds or replaces the metadata of a label. It returns an error, and
// changes nothing, if the value does not have the type of the store.
func (s *Store) Put(label string, value any) error {
	if s.typ != nil && (value == nil || !reflect.TypeOf(value).AssignableTo(s.typ)) {
		return fmt.Errorf("metadata of %s %q: got %T, expected %s", s.title, label, value, s.typ)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, had := s.items[label]
	s.revision++
	s.items[label] = item{value, s.revision}
	delete(s.removed, label)
	for _, ix := range s.indexes {
		if had {
			ix.remove(label, old.value)
		}
		ix.add(label, value)
	}
	s.wake()
	return nil
}

// Delete removes the metadata of a label. It does nothing if there is none.
func (s *Store) Delete(label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, had := s.items[label]
	if !had {
		return
	}
	s.revision++
	delete(s.items, label)
	if s.watchers > 0 {
		s.removed[label] = s.revision
	}
	for _, ix := range s.indexes {
		ix.remove(label, old.value)
	}
	s.wake()
}

func (s *Store) wake() {
	if s.watchers == 0 {
		return
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Store) get(label string) (any, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	it, ok := s.items[label]
	return it.value, ok
}

// Len returns the number of labels.
func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.items)
}

func (s *Store) watch(delta int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers += delta; s.watchers == 0 {
		clear(s.removed)
	}
}

func (s *Store) store() *Store { return s }

// Reader gives plugins read access to a Store, best through a Map (Of). Code written for
// cn-infra uses its methods.
type Reader interface {
	// GetRegistryTitle returns the title of the store.
	GetRegistryTitle() string
	// GetValue returns the metadata of a label.
	GetValue(label string) (value any, exists bool)
	// ListAllNames returns all labels in alphabetical order.
	ListAllNames() []string
	store() *Store
}

// NamedMapping is another name of Reader.
type NamedMapping = Reader

// GetRegistryTitle returns the title of the store.
func (s *Store) GetRegistryTitle() string { return s.title }

// GetValue returns the metadata of a label.
func (s *Store) GetValue(label string) (value any, exists bool) { return s.get(label) }

// ListAllNames returns all labels in alphabetical order.
func (s *Store) ListAllNames() []string { return Map[any]{s}.Labels() }

// index is one secondary index: key -> labels.
type index struct {
	keys   func(value any) []any
	labels map[any]map[string]struct{}
}

func (ix *index) add(label string, value any) {
	for _, k := range ix.keys(value) {
		set := ix.labels[k]
		if set == nil {
			set = map[string]struct{}{}
			ix.labels[k] = set
		}
		set[label] = struct{}{}
	}
}

func (ix *index) remove(label string, value any) {
	for _, k := range ix.keys(value) {
		set := ix.labels[k]
		delete(set, label)
		if len(set) == 0 {
			delete(ix.labels, k)
		}
	}
}
