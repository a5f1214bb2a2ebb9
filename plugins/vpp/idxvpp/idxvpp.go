// Package idxvpp maps names of objects to their indexes in VPP and back, for code that was
// written for its predecessor. New code uses package idxmap, with an Index of its own.
package idxvpp

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// WithIndex is metadata with an index in VPP, such as the metadata of interfaces.
type WithIndex interface {
	GetIndex() uint32
}

// OnlyIndex is metadata that consists of an index.
type OnlyIndex struct{ Index uint32 }

// GetIndex returns the index.
func (i *OnlyIndex) GetIndex() uint32 { return i.Index }

// NameToIndex is a map from names to metadata with an index. It may be used concurrently.
type NameToIndex interface {
	idxmap.NamedMapping
	// LookupByName returns the metadata of a name.
	LookupByName(name string) (metadata WithIndex, exists bool)
	// LookupByIndex returns the name with the index; if several have it, the first one
	// in alphabetical order.
	LookupByIndex(index uint32) (name string, metadata WithIndex, exists bool)
}

// NameToIndexRW is a NameToIndex that can be changed.
type NameToIndexRW interface {
	NameToIndex
	// Put adds or replaces the metadata of a name, which implements WithIndex. Other
	// metadata is rejected with an error.
	Put(name string, metadata any) error
	// Delete removes a name.
	Delete(name string)
}

// NewNameToIndex returns an empty map. The title names it in errors; the logger is not
// used.
func NewNameToIndex(_ logging.Logger, title string) NameToIndexRW {
	s := idxmap.New[WithIndex](title)
	m, _ := Of(s) // it has this type
	return writable{m.(view), s}
}

// Of returns a view of a metadata map:
//
//	indexes, err := idxvpp.Of(scheduler.GetMetadataMap("vpp-interface"))
//
// Metadata without an index is not found.
func Of(r idxmap.Reader) (NameToIndex, error) {
	m, err := idxmap.Of[any](r)
	if err != nil {
		return nil, fmt.Errorf("names to indexes: %w", err)
	}
	return view{r, m}, nil
}

// byIndex finds names by index.
var byIndex = idxmap.Index[any, uint32]{Name: "idxvpp", Keys: func(m any) []uint32 {
	if i, ok := m.(WithIndex); ok {
		return []uint32{i.GetIndex()}
	}
	return nil
}}

type view struct {
	idxmap.Reader
	m idxmap.Map[any]
}

func (v view) LookupByName(name string) (metadata WithIndex, exists bool) {
	m, _ := v.m.Get(name)
	metadata, exists = m.(WithIndex)
	return metadata, exists
}

func (v view) LookupByIndex(index uint32) (name string, metadata WithIndex, exists bool) {
	for _, name := range byIndex.Lookup(v.m, index) {
		// It may have changed since.
		if m, ok := v.LookupByName(name); ok && m.GetIndex() == index {
			return name, m, true
		}
	}
	return "", nil, false
}

type writable struct {
	view
	s *idxmap.Store
}

func (w writable) Put(name string, metadata any) error { return w.s.Put(name, metadata) }
func (w writable) Delete(name string)                  { w.s.Delete(name) }
