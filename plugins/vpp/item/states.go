package item

import (
	"context"
	"maps"
	"sync"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/infra/models"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// States are the states of things that VPP reports. As long as a thing exists in VPP, the key of
// its state exists, and the keys of its other states do not. Other values can depend on such a
// key.
//
// K distinguishes things.
type States[K comparable] struct {
	// Name of the descriptor.
	Name string
	// Template of the keys.
	Template models.KeyTemplate
	// All are the states that a thing may have.
	All []string
	// Key returns the key of a state.
	Key func(k K, state string) string
	// Read returns the states of all things that VPP has.
	Read func(ctx context.Context) (map[K]string, error)
	// After names the descriptors whose metadata Read needs.
	After []string

	reported map[K]string // by Report

	mu sync.Mutex
	// retrieved reports that the scheduler has read states itself since the last report; they
	// are in read.
	retrieved bool
	read      map[K]string
}

type stateKV = kvs.KV[*emptypb.Empty, kvs.Metadata]

// NewKeys returns the descriptor of keys without values that VPP has or has not. read returns
// those that it has. after names the descriptors whose metadata read needs.
func NewKeys(name string, selects func(key string) bool, read func(ctx context.Context) ([]string, error), after ...string) *kvs.KVDescriptor {
	return kvs.Adapt(&kvs.Descriptor[*emptypb.Empty, kvs.Metadata]{
		Name:        name,
		Southbound:  Southbound,
		KeySelector: selects,
		RetrieveContext: func(ctx context.Context, _ []stateKV) (out []stateKV, err error) {
			keys, err := read(ctx)
			for _, key := range keys {
				out = append(out, stateKV{Key: key, Value: &emptypb.Empty{}, Origin: kvs.FromSB})
			}
			return out, err
		},
		RetrieveDependencies: after,
	})
}

// KeyChange returns the notification that VPP has a key without a value, or no longer.
func KeyChange(key string, exists bool) kvs.KVWithMetadata {
	kv := kvs.KVWithMetadata{Key: key, Origin: kvs.FromSB}
	if exists {
		kv.Value = &emptypb.Empty{}
	}
	return kv
}

// Descriptor returns the descriptor of the keys.
func (s *States[K]) Descriptor() *kvs.KVDescriptor {
	return NewKeys(s.Name, s.Template.Matches, func(ctx context.Context) (keys []string, err error) {
		s.noteRetrieval(nil)
		states, err := s.Read(ctx)
		s.noteRetrieval(states)
		for k, state := range states {
			keys = append(keys, s.Key(k, state))
		}
		return keys, err
	}, s.After...)
}

// noteRetrieval notes that the scheduler reads states, and what has one.
func (s *States[K]) noteRetrieval(states map[K]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retrieved = true
	if s.read == nil {
		s.read = map[K]string{}
	}
	maps.Copy(s.read, states)
}

// Report reads the states, and notifies the scheduler of those that changed since the last call; of
// all if all is true, as at the beginning of a session. It must not be called concurrently.
func (s *States[K]) Report(ctx context.Context, to kvs.Notifier, all bool) error {
	s.mu.Lock()
	all = all || s.retrieved
	before := s.read // states of things that may be gone before they were reported
	s.retrieved, s.read = false, map[K]string{}
	s.mu.Unlock()
	now, err := s.Read(ctx)
	if err != nil {
		s.noteRetrieval(before)
		return err
	}
	var changes []kvs.KVWithMetadata
	maps.Copy(before, s.reported)
	for k := range before {
		if now[k] == "" {
			changes = append(changes, s.change(k, "")...)
		}
	}
	for k, state := range now {
		if all || s.reported[k] != state {
			changes = append(changes, s.change(k, state)...)
		}
	}
	s.reported = now
	if len(changes) == 0 {
		return nil
	}
	return to.PushSBNotification(changes...)
}

// change returns the notifications that a thing has a state; "" means that it does not exist.
func (s *States[K]) change(k K, state string) (changes []kvs.KVWithMetadata) {
	for _, name := range s.All {
		if name != state {
			changes = append(changes, KeyChange(s.Key(k, name), false))
		}
	}
	if state != "" {
		changes = append(changes, KeyChange(s.Key(k, state), true))
	}
	return changes
}
