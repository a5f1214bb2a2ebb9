package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Wanted describes a base value that the northbound asks for. It is validated.
func (r *Registry) Wanted(key string, d *Descriptor, msg proto.Message) *Value {
	v := &Value{Msg: msg}
	if d == nil {
		return v
	}
	if v.Invalid = cmp.Or(unmodeled(msg), validate(key, d, msg)); d.IsProperty() && v.Invalid == nil {
		v.Invalid = api.ErrUnimplementedCreate
	}
	if v.Invalid == nil {
		if v.Invalid = r.describe(key, d, v); v.Invalid != nil {
			return v.Alone()
		}
	}
	return v
}

// unmodeled returns the error of a found value that is given back as a desired one, although it
// does not have all of what was found.
func unmodeled(msg proto.Message) error {
	if lacks := api.Unmodeled(msg); len(lacks) > 0 {
		return api.NewInvalidValueError(fmt.Errorf("%s, for which the model has no field", strings.Join(lacks, ", ")))
	}
	return nil
}

// validate asks Validate of a descriptor; a panic is an error.
func validate(key string, d *Descriptor, msg proto.Message) (err error) {
	if d.Validate == nil {
		return nil
	}
	panicked := try(d.Name, "Validate", func() { err = d.Validate(key, msg) })
	return cmp.Or(panicked, err)
}

// Found describes a base value that was found in the southbound; fromSB reports
// that it belongs there, so that it has no dependencies.
func (r *Registry) Found(key string, d *Descriptor, msg proto.Message, fromSB bool) *Value {
	v := &Value{Msg: msg, FromSB: fromSB}
	if d != nil {
		if err := r.describe(key, d, v); err != nil {
			r.complain(d.Name, key, err.Error())
		}
	}
	return v
}

// Read is Found for who needs to know all that is derived from the value.
func (r *Registry) Read(key string, d *Descriptor, msg proto.Message) (*Value, error) {
	v := &Value{Msg: msg}
	if d == nil {
		return v, nil
	}
	return v, r.describe(key, d, v)
}

// describe asks for the dependencies and derived values of a value. The error reports a
// panic.
func (r *Registry) describe(key string, d *Descriptor, v *Value) (err error) {
	asked := "Dependencies"
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("descriptor %q: %s", d.Name, Panicked(asked, p))
		}
	}()
	if d.Dependencies != nil && !v.FromSB {
		v.Deps = d.Dependencies(key, v.Msg)
		for i := range v.Deps {
			if dep := &v.Deps[i]; dep.Key == "" && dep.AnyOf.KeySelector == nil && len(dep.AnyOf.KeyPrefixes) == 0 {
				r.complain(d.Name, key, fmt.Sprintf("Dependencies has %q without Key and AnyOf, which nothing can meet", dep.Label))
			}
		}
	}
	if d.WithMetadata && d.KeyLabel != nil {
		d.KeyLabel(key) // is sure to return from here on, where metadata is indexed by it
	}
	if _, foreign := api.ForeignTo(key); d.DerivedValues != nil && !(foreign && v.FromSB) {
		asked = "DerivedValues"
		v.Derived = r.derived(key, d, d.DerivedValues(key, v.Msg))
	}
	return nil
}

func (r *Registry) derived(key string, of *Descriptor, pairs []api.KeyValuePair) []Derived {
	out := make([]Derived, 0, len(pairs))
	for _, kv := range pairs {
		if problem := notDerivable(key, kv); problem != "" {
			r.complain(of.Name, key, problem)
			continue
		}
		d, err := r.Lookup(kv.Key)
		v := &Value{Msg: kv.Value, Invalid: err}
		if d != nil {
			if v.Invalid = validate(kv.Key, d, kv.Value); d.Dependencies != nil && v.Invalid == nil {
				v.Invalid = try(d.Name, "Dependencies", func() { v.Deps = d.Dependencies(kv.Key, kv.Value) })
			}
		}
		out = append(out, Derived{kv.Key, d, v})
	}
	slices.SortStableFunc(out, func(a, b Derived) int { return cmp.Compare(a.Key, b.Key) })
	return slices.CompactFunc(out, func(a, b Derived) bool {
		if a.Key == b.Key {
			r.complain(of.Name, key, fmt.Sprintf("DerivedValues has %q twice", a.Key))
		}
		return a.Key == b.Key
	})
}

func notDerivable(base string, kv api.KeyValuePair) string {
	switch {
	case kv.Key == "":
		return "DerivedValues has a value without a key"
	case kv.Key == base:
		return "DerivedValues has the key of the value itself"
	case kv.Value == nil || !kv.Value.ProtoReflect().IsValid():
		return fmt.Sprintf("DerivedValues has %q without a value", kv.Key)
	}
	return ""
}

func (r *Registry) complain(descriptor, key, problem string) {
	if r.breach != nil {
		r.breach(descriptor, key, problem)
	}
}

// Policy says what the scheduler may do with the base values of a descriptor, or
// with some of them, and with what it finds under their keys.
type Policy int

// The policies. Managed is the default.
const (
	// Managed values are made, changed and removed as the northbound wishes,
	// whatever was there before.
	Managed Policy = iota
	// Adopt: an object that the scheduler did not make is taken over if it equals
	// the desired value or can be changed into it in place. It is never removed, not
	// even for a moment: what would need that is a failure. Once it is no longer
	// wanted it is left as it is. Objects that the scheduler creates itself are managed;
	// after a restart only the journal knows which these are.
	Adopt
	// Observe: nothing is ever made, changed or removed. A wanted value is
	// CONFIGURED while there is something under its key, whatever that is, and
	// PENDING else; values that depend on it wait for that.
	Observe
	// Ignore: what is found is not looked at, and a wanted value is INVALID.
	Ignore
)

// Policies reports the policy for a key, or, with an empty key, for a descriptor
// as a whole: the policy of all its keys, or Managed if they differ. nil:
// everything is managed.
type Policies func(d *api.KVDescriptor, key string) Policy

// Of is the policy for a key of a descriptor.
func (p Policies) Of(d *Descriptor, key string) Policy {
	if p == nil || d == nil {
		return Managed
	}
	return p(d.KVDescriptor, key)
}

// Watched describes a base value that others made. If it is fromSB it has no relations;
// its derived values were not made here either, and have none.
func (r *Registry) Watched(key string, d *Descriptor, msg proto.Message, fromSB bool) *Value {
	v := r.Found(key, d, msg, fromSB)
	for i := range v.Derived {
		v.Derived[i].Value = &Value{Msg: v.Derived[i].Value.Msg, FromSB: true}
	}
	return v
}
