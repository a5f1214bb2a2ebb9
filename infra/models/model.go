package models

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/proto/ligato"
)

// Known is a model without its type parameter, for code that handles items of
// all types (the northbound, dumps, the command line).
type Known interface {
	Spec() Spec
	// KeyPrefix returns the prefix of the keys; for a singleton, the key itself.
	KeyPrefix() string
	// Singleton reports whether there is at most one item of the model.
	Singleton() bool
	// Name returns how items are named, as the option of the message says; nil for a singleton, and if
	// only a function knows the names.
	Name() *Name
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

// Model ties the message type V to its place in the key space and to the names of items. The zero value
// is not usable. A Model is safe to copy and to use concurrently.
type Model[V proto.Message] struct{ def *definition[V] }

// definition has the parts of a model. For a message with an item option it is read at first
// use, because a model may be a variable in the package of the generated code, which is not
// initialised before the package's variables.
type definition[V proto.Message] struct {
	read    sync.Once
	message func() protoreflect.MessageType
	spec    Spec
	prefix  string
	name    *Name          // nil: named or singleton
	named   func(V) string // nil: name or singleton
	option  bool           // the message has an item option
	err     error
	recent  *recentKeys // of KeyFor; nil for a singleton

	addresses []address // of the name; see CanonicalKey
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

// Of returns the model of a message with the option (ligato.item). A missing or malformed option is
// reported by Validate and by NewSet.
func Of[V proto.Message]() Model[V] {
	return Model[V]{&definition[V]{message: messageType[V], option: true}}
}

// OfMessage is Of for a message type that is not known at compile time.
func OfMessage(t protoreflect.MessageType) Model[proto.Message] {
	return Model[proto.Message]{&definition[proto.Message]{message: func() protoreflect.MessageType { return t }, option: true}}
}

// Named returns the model with a function that names the items, which must be pure. The option of
// the message describes its result, or has the same one.
func (m Model[V]) Named(name func(V) string) Model[V] {
	return Model[V]{&definition[V]{message: m.def.message, spec: m.def.spec, option: m.def.option, named: name}}
}

// WithSchema returns the model with the text of the .proto file with the message, see Spec.Schema.
func (m Model[V]) WithSchema(text string) Model[V] {
	spec := m.def.spec
	spec.Schema = text
	return Model[V]{&definition[V]{message: m.def.message, spec: spec, option: m.def.option, named: m.def.named}}
}

// New returns a model of a message without the option (ligato.item), whose items are named by the
// function name, which must be pure. A malformed spec is reported by Validate and by NewSet.
func New[V proto.Message](s Spec, name func(V) string) Model[V] {
	return Model[V]{&definition[V]{message: messageType[V], spec: s, named: name}}
}

// Singleton returns a model with at most one item, whose key is the key prefix
// without the trailing slash.
func Singleton[V proto.Message](s Spec) Model[V] { return New[V](s, nil) }

func messageType[V proto.Message]() protoreflect.MessageType {
	var zero V
	return zero.ProtoReflect().Type()
}

// get returns the complete definition.
func (m Model[V]) get() *definition[V] {
	d := m.def
	d.read.Do(d.complete)
	return d
}

func (d *definition[V]) complete() {
	if d.option {
		d.err = d.readOption()
	}
	d.spec = d.spec.withDefaults()
	d.prefix = d.spec.KeyPrefix()
	d.addresses = addressesIn(d.name)
	if d.named == nil && d.name == nil {
		d.prefix = strings.TrimSuffix(d.prefix, "/")
		return
	}
	d.recent = &recentKeys{}
}

// readOption takes place and name from the option of the message.
func (d *definition[V]) readOption() error {
	message := d.message().Descriptor()
	spec, name, err := FromOption(message)
	spec.Schema = d.spec.Schema
	d.spec, d.name = spec, name
	if err == nil && name != nil && name.Computed() && d.named == nil {
		return fmt.Errorf("message %s: its option has a template of names, so that the model needs a function (Named)", message.FullName())
	}
	return err
}

// FromOption reads the option (ligato.item) of a message: the spec of the model and the names of
// its items. The name is nil for a model with at most one item.
func FromOption(message protoreflect.MessageDescriptor) (spec Spec, name *Name, err error) {
	item, _ := proto.GetExtension(message.Options(), ligato.E_Item).(*ligato.Item)
	if item.GetModel() == "" {
		return spec, nil, fmt.Errorf("message %s: expected an option (ligato.item) with a model", message.FullName())
	}
	dot := strings.LastIndexByte(item.GetModel(), '.')
	spec = Spec{Module: item.GetModel()[:max(dot, 0)], Type: item.GetModel()[dot+1:], Version: item.GetVersion()}
	if item.GetName() == "" {
		return spec, nil, nil
	}
	if name, err = ParseName(item.GetName(), message); err != nil {
		return spec, nil, err
	}
	name.template = item.GetTemplate()
	return spec, name, nil
}

// Spec returns the specification with defaults applied.
func (m Model[V]) Spec() Spec { return m.get().spec }

// KeyPrefix returns the prefix of the keys; for a singleton, the key itself.
func (m Model[V]) KeyPrefix() string { return m.get().prefix }

// Singleton reports whether there is at most one item of the model.
func (m Model[V]) Singleton() bool { return m.get().recent == nil }

// Name returns how the items are named, as the option of the message says; nil if it
// has none, and for a singleton.
func (m Model[V]) Name() *Name { return m.get().name }

// ProtoName returns the full name of the message type.
func (m Model[V]) ProtoName() protoreflect.FullName {
	return m.def.message().Descriptor().FullName()
}

// NewInstance returns an empty message.
func (m Model[V]) NewInstance() proto.Message { return m.def.message().New().Interface() }

// Key returns the key of the item.
func (m Model[V]) Key(v V) string {
	switch d := m.get(); {
	case d.named != nil:
		return d.prefix + d.named(v)
	case d.name != nil:
		key := d.name.Append(append(make([]byte, 0, 128), d.prefix...), v.ProtoReflect())
		if len(key) == len(d.prefix) { // many malformed items may have no name
			return d.prefix
		}
		return string(key)
	default:
		return d.prefix
	}
}

// KeyFor returns the key of the item with the given name. Calls with the same name often
// return the same string.
func (m Model[V]) KeyFor(name string) string {
	d := m.get()
	if d.recent == nil {
		return d.prefix
	}
	return d.recent.of(d.prefix, name)
}

// KeyOf is Key for a message whose type is not known at compile time. A name with control
// characters is an error: they would reach terminals, and VPP ends names at a zero byte.
func (m Model[V]) KeyOf(msg proto.Message) (string, error) {
	v, ok := msg.(V)
	if !ok || msg.ProtoReflect().Descriptor().FullName() != m.ProtoName() {
		return "", fmt.Errorf("model %s: message is %s, expected %s",
			m.Spec().ModelName(), msg.ProtoReflect().Descriptor().FullName(), m.ProtoName())
	}
	key := m.Key(v)
	if i := strings.IndexFunc(key, unicode.IsControl); i >= 0 {
		r, _ := utf8.DecodeRuneInString(key[i:])
		return "", fmt.Errorf("model %s: the name %q has the control character %U; expected printable characters", m.Spec().ModelName(), key[len(m.KeyPrefix()):], r)
	}
	return key, nil
}

// Matches reports whether the key belongs to an item of the model.
func (m Model[V]) Matches(key string) bool {
	d := m.get()
	if d.recent == nil {
		return key == d.prefix
	}
	return len(key) > len(d.prefix) && strings.HasPrefix(key, d.prefix)
}

// Label returns the name part of the key.
func (m Model[V]) Label(key string) string {
	d := m.get()
	if d.recent == nil {
		return key
	}
	return strings.TrimPrefix(key, d.prefix)
}

// Validate reports a missing or malformed specification.
func (m Model[V]) Validate() error {
	d := m.get()
	return cmp.Or(d.err, d.spec.Validate())
}
