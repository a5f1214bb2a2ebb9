package registry

import (
	"fmt"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Refusal is a descriptor that could not be registered.
type Refusal struct {
	// Name is the name of the descriptor; empty if it has none.
	Name string
	// Err says what is wrong with it and names it.
	Err error

	descriptor *api.KVDescriptor // nil if the descriptor is nil
}

// Refused returns the descriptors that could not be registered, in the order in
// which that was tried. The slice must not be changed.
func (r *Registry) Refused() []Refusal { return r.refused }

// refuse remembers a descriptor that was not added.
func (r *Registry) refuse(kd *api.KVDescriptor, err error) {
	refusal := Refusal{Err: err, descriptor: kd}
	if kd != nil {
		refusal.Name = kd.Name
	}
	r.refused = append(r.refused, refusal)
}

// without returns the registry as it was, with the descriptors refused for the
// same reason.
func (r *Registry) without(descriptors []*api.KVDescriptor, reason error) *Registry {
	same := *r
	same.refused = slices.Clone(r.refused)
	for _, kd := range descriptors {
		err := reason
		if kd != nil {
			err = fmt.Errorf("descriptor %q: %w", kd.Name, reason)
		}
		same.refuse(kd, err)
	}
	return &same
}

// refusedFor is the error of a key that a refused descriptor selects; nil if there
// is no such descriptor.
func (r *Registry) refusedFor(key string) error {
	for _, refusal := range r.refused {
		kd := refusal.descriptor
		if kd == nil || kd.KeySelector == nil {
			continue
		}
		if yes, err := selects(kd, key); yes && err == nil {
			return fmt.Errorf("the descriptor of this key was refused at registration: %w", refusal.Err)
		}
	}
	return nil
}
