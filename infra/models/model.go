package models

import (
	"fmt"
	"strings"
	"sync/atomic"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Known is a model without its type parameter, for code that handles items of
// all types (the northbound, dumps, the command line).
type Known interface {
	Spec() Spec
	// KeyPrefix returns the prefix of the keys; for a singleton, the key itself.
	KeyPrefix() string
	// Singleton reports whether there is at most one item of the model.
	Singleton() bool
	// ProtoName returns the full name of the message.
	ProtoName() protoreflect.FullName
	// NewInstance returns an empty message of the model.
	NewInstance() proto.Message
	// KeyOf returns the key of a message, or an error if the message has
	// another type.
	KeyOf(m proto.Message) (string, error)
	// Matches reports whether the key belongs to an item of the model.
	Matches(key string) bool
	// Label returns the key without the prefix, the name of the item; for a
	// singleton and for foreign keys it returns the key unchanged.
	Label(key string) string
	// Validate reports a malformed specification.
	Validate() error
}

// Model ties the message type V to a Spec and to the function that names an
// item. The zero value is not usable. A Model is safe to copy and to use
// concurrently.
type Model[V proto.Message] struct {
	spec   Spec
	prefix string
	name   func(V) string // nil for a singleton
	recent *recentKeys    // of KeyFor
}

// recentKeys are keys that were made lately. A hundred thousand routes may name one
// interface, and keep its key.
type recentKeys [1 << 6]atomic.Pointer[string]

// of returns the key of the item with the given name.
func (r *recentKeys) of(prefix, name string) string {
	if name == "" {
		return prefix
	}
	recent := &r[(len(name)+int(name[len(name)-1]))%len(r)]
	if key := recent.Load(); key != nil && len(*key) == len(prefix)+len(name) && (*key)[len(prefix):] == name {
		return *key
	}
	key := prefix + name
	recent.Store(&key)
	return key
}

// New returns a model whose items are named by the function name, which must
// be pure. A malformed spec is reported by Validate and by NewSet.
func New[V proto.Message](s Spec, name func(V) string) Model[V] {
	m := singleton[V](s)
	m.name = name
	m.prefix, m.recent = m.spec.KeyPrefix(), &recentKeys{}
	return m
}

// Singleton returns a model with at most one item, whose key is the key prefix
// without the trailing slash.
func Singleton[V proto.Message](s Spec) Model[V] { return singleton[V](s) }

func singleton[V proto.Message](s Spec) Model[V] {
	return Model[V]{spec: s.withDefaults(), prefix: strings.TrimSuffix(s.KeyPrefix(), "/")}
}

// message returns the type of the items. It is evaluated lazily, because a
// model may be a variable in the package of the generated code, which is not
// initialised before the package's variables.
func (m Model[V]) message() protoreflect.MessageType {
	var zero V
	return zero.ProtoReflect().Type()
}

// Spec returns the specification with defaults applied.
func (m Model[V]) Spec() Spec { return m.spec }

// KeyPrefix returns the prefix of the keys; for a singleton, the key itself.
func (m Model[V]) KeyPrefix() string { return m.prefix }

// Singleton reports whether there is at most one item of the model.
func (m Model[V]) Singleton() bool { return m.name == nil }

// ProtoName returns the full name of the message type.
func (m Model[V]) ProtoName() protoreflect.FullName { return m.message().Descriptor().FullName() }

// NewInstance returns an empty message.
func (m Model[V]) NewInstance() proto.Message { return m.message().New().Interface() }

// Key returns the key of the item.
func (m Model[V]) Key(v V) string {
	if m.name == nil {
		return m.prefix
	}
	return m.prefix + m.name(v)
}

// KeyFor returns the key of the item with the given name. Calls with the same name often
// return the same string.
func (m Model[V]) KeyFor(name string) string {
	if m.name == nil {
		return m.prefix
	}
	return m.recent.of(m.prefix, name)
}

// KeyOf is Key for a message whose type is not known at compile time.
func (m Model[V]) KeyOf(msg proto.Message) (string, error) {
	v, ok := msg.(V)
	if !ok {
		return "", fmt.Errorf("model %s: message is %s, expected %s",
			m.spec.ModelName(), msg.ProtoReflect().Descriptor().FullName(), m.ProtoName())
	}
	return m.Key(v), nil
}

// Matches reports whether the key belongs to an item of the model.
func (m Model[V]) Matches(key string) bool {
	if m.name == nil {
		return key == m.prefix
	}
	return len(key) > len(m.prefix) && strings.HasPrefix(key, m.prefix)
}

// Label returns the name part of the key.
func (m Model[V]) Label(key string) string {
	if m.name == nil {
		return key
	}
	return strings.TrimPrefix(key, m.prefix)
}

// Validate reports a malformed specification.
func (m Model[V]) Validate() error { return m.spec.Validate() }
