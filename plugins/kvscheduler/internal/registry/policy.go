package registry

import (
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

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
	// even for a moment: what would need that is a failure. Once it is not wanted
	// any more it is left as it is. What the scheduler makes itself is managed;
	// which that was in an earlier life, only the journal tells.
	Adopt
	// Observe: nothing is ever made, changed or removed. A wanted value is
	// CONFIGURED while there is something under its key, whatever that is, and
	// PENDING else; values that depend on it wait for that.
	Observe
	// Ignore: what is found is not looked at, and a wanted value is INVALID.
	Ignore
)

// Policies tells the policy for a key, or, with an empty key, for a descriptor
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

// Watched describes a base value that others made. If it is fromSB it has no
// relations; what is derived from it was not made here either, and has none.
func (r *Registry) Watched(key string, d *Descriptor, msg proto.Message, fromSB bool) *Value {
	v := r.Found(key, d, msg, fromSB)
	for i := range v.Derived {
		v.Derived[i].Value = &Value{Msg: v.Derived[i].Value.Msg, FromSB: true}
	}
	return v
}
