package models

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Set is a fixed collection of models with lookup by key, by model name and by
// message. It is immutable and safe for concurrent use.
type Set struct {
	all      []Known
	byPrefix map[string]Known // key prefix, or whole key of a singleton
	byName   map[string]Known
	byProto  map[protoreflect.FullName]Known
}

// NewSet returns the set of the given models. It reports every malformed
// model and every clash of names, prefixes or messages, joined.
func NewSet(ms ...Known) (*Set, error) {
	s := &Set{
		byPrefix: map[string]Known{},
		byName:   map[string]Known{},
		byProto:  map[protoreflect.FullName]Known{},
	}
	var errs []error
	for _, m := range ms {
		if err := s.add(m); err != nil {
			errs = append(errs, err)
		}
	}
	slices.SortFunc(s.all, func(a, b Known) int { return strings.Compare(a.KeyPrefix(), b.KeyPrefix()) })
	return s, errors.Join(errs...)
}

func (s *Set) add(m Known) error {
	if err := m.Validate(); err != nil {
		return err
	}
	name := m.Spec().ModelName()
	if _, taken := s.byName[name]; taken {
		return fmt.Errorf("model %s: duplicate name", name)
	}
	if other, taken := s.byProto[m.ProtoName()]; taken {
		return fmt.Errorf("model %s: message %s already belongs to model %s",
			name, m.ProtoName(), other.Spec().ModelName())
	}
	for prefix, other := range s.byPrefix {
		if overlap(prefix, m.KeyPrefix()) {
			return fmt.Errorf("model %s: key prefix %q overlaps %q of model %s",
				name, m.KeyPrefix(), prefix, other.Spec().ModelName())
		}
	}
	s.all = append(s.all, m)
	s.byName[name] = m
	s.byProto[m.ProtoName()] = m
	s.byPrefix[m.KeyPrefix()] = m
	return nil
}

func overlap(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b || strings.HasSuffix(a, "/") && strings.HasPrefix(b, a)
}

// All returns the models ordered by key prefix. The slice must not be changed.
func (s *Set) All() []Known { return s.all }

// ForKey returns the model that the key belongs to.
func (s *Set) ForKey(key string) (Known, bool) {
	if m, ok := s.byPrefix[key]; ok && m.Singleton() {
		return m, true
	}
	for i := range len(key) - 1 {
		if key[i] != '/' {
			continue
		}
		if m, ok := s.byPrefix[key[:i+1]]; ok {
			return m, true
		}
	}
	return nil, false
}

// ForStoredKey is ForKey for keys of stores, where the predecessor also accepted keys below that
// of a singleton ("config/vpp/v2/proxyarp-global/settings").
func (s *Set) ForStoredKey(key string) (Known, bool) {
	if m, ok := s.ForKey(key); ok {
		return m, true
	}
	for i := range key {
		if m, ok := s.byPrefix[key[:i]]; ok && key[i] == '/' {
			return m, true
		}
	}
	return nil, false
}

// ForName returns the model with the given name ("vpp.interfaces").
func (s *Set) ForName(name string) (Known, bool) {
	m, ok := s.byName[name]
	return m, ok
}

// ForMessage returns the model of the message's type.
func (s *Set) ForMessage(msg proto.Message) (Known, bool) {
	m, ok := s.byProto[msg.ProtoReflect().Descriptor().FullName()]
	return m, ok
}

// KeyOf returns the key of the message, or an error if no model of the set has
// that message.
func (s *Set) KeyOf(msg proto.Message) (string, error) {
	m, ok := s.ForMessage(msg)
	if !ok {
		return "", fmt.Errorf("no model for message %s", msg.ProtoReflect().Descriptor().FullName())
	}
	return m.KeyOf(msg)
}
