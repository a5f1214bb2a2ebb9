package idxmap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// ErrNoMap is returned by Of for a nil Reader: the descriptor has no metadata
// or is not registered.
var ErrNoMap = errors.New("no metadata map")

// Map is a typed, read-only view of a Store. It is a small value; copy it.
type Map[M any] struct{ s *Store }

// Of returns the typed view of a store. It returns an error if M is not the
// type of the store, so that the mistake is found when plugins are wired.
func Of[M any](r Reader) (Map[M], error) {
	if r == nil || reflect.ValueOf(r).IsNil() {
		return Map[M]{}, ErrNoMap
	}
	s := r.store()
	want := reflect.TypeFor[M]()
	if s.typ != nil && !s.typ.AssignableTo(want) {
		return Map[M]{}, fmt.Errorf("metadata map %s holds %s, not %s", s.title, s.typ, want)
	}
	return Map[M]{s}, nil
}

// Get returns the metadata of a label.
func (m Map[M]) Get(label string) (M, bool) {
	v, ok := m.s.get(label)
	typed, isM := v.(M)
	return typed, ok && isM
}

// Len returns the number of labels.
func (m Map[M]) Len() int { return m.s.Len() }

// Labels returns all labels in alphabetical order.
func (m Map[M]) Labels() []string {
	m.s.mu.RLock()
	defer m.s.mu.RUnlock()
	return sorted(m.s.items)
}

// All iterates over a snapshot, in alphabetical order of labels.
func (m Map[M]) All() iter.Seq2[string, M] {
	return func(yield func(string, M) bool) {
		for _, label := range m.Labels() {
			if v, ok := m.Get(label); ok && !yield(label, v) {
				return
			}
		}
	}
}

// Change is a change of a Map.
type Change[M any] struct {
	Label   string
	Value   M // the latest; the zero value if removed
	Deleted bool
}

// Changes iterates over the current content and then over all later changes,
// until the context ends or the loop breaks. It merges changes of one label
// that happen while the loop body runs; the latest state is never lost.
func (m Map[M]) Changes(ctx context.Context) iter.Seq[Change[M]] {
	return func(yield func(Change[M]) bool) {
		m.s.watch(+1)
		defer m.s.watch(-1)
		var seen uint64
		for {
			batch, upTo, wait := m.since(seen)
			for _, c := range batch {
				if ctx.Err() != nil || !yield(c) {
					return
				}
			}
			seen = upTo
			select {
			case <-ctx.Done():
				return
			case <-wait:
			}
		}
	}
}

func (m Map[M]) since(seen uint64) (batch []Change[M], upTo uint64, wait <-chan struct{}) {
	m.s.mu.RLock()
	defer m.s.mu.RUnlock()
	for label, it := range m.s.items {
		if v, ok := it.value.(M); ok && it.revision > seen {
			batch = append(batch, Change[M]{Label: label, Value: v})
		}
	}
	for label, revision := range m.s.removed {
		if revision > seen && seen > 0 {
			batch = append(batch, Change[M]{Label: label, Deleted: true})
		}
	}
	slices.SortFunc(batch, func(a, b Change[M]) int { return strings.Compare(a.Label, b.Label) })
	return batch, m.s.revision, m.s.changed
}

// Index is a secondary index over the metadata of a Map, declared as a
// variable beside the metadata type. Name is unique within the map. Keys must
// be pure.
type Index[M any, K comparable] struct {
	Name string
	Keys func(M) []K
}

// Lookup returns the labels, in alphabetical order, of all items that have the
// key. The first lookup builds the index, which is kept up to date from then
// on, so lookups do not scan.
func (ix Index[M, K]) Lookup(m Map[M], key K) []string {
	m.s.mu.RLock()
	built := m.s.indexes[ix.Name]
	m.s.mu.RUnlock()
	if built == nil {
		built = ix.build(m.s)
	}
	m.s.mu.RLock()
	defer m.s.mu.RUnlock()
	return sorted(built.labels[key])
}

// sorted returns the labels of a map in alphabetical order.
func sorted[V any](by map[string]V) []string {
	labels := slices.AppendSeq(make([]string, 0, len(by)), maps.Keys(by))
	slices.Sort(labels)
	return labels
}

func (ix Index[M, K]) build(s *Store) *index {
	s.mu.Lock()
	defer s.mu.Unlock()
	if built := s.indexes[ix.Name]; built != nil {
		return built
	}
	built := &index{labels: map[any]map[string]struct{}{}, keys: func(value any) []any {
		typed, ok := value.(M)
		if !ok {
			return nil
		}
		keys := ix.Keys(typed)
		out := make([]any, len(keys))
		for i, k := range keys {
			out[i] = k
		}
		return out
	}}
	for label, it := range s.items {
		built.add(label, it.value)
	}
	s.indexes[ix.Name] = built
	return built
}
