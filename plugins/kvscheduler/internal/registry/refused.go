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

// refuse remembers a descriptor that was not added.
func (r *Registry) refuse(kd *api.KVDescriptor, err error) {
	refusal := Refusal{Err: err, descriptor: kd}
	if kd != nil {
		refusal.Name = kd.Name
	}
	r.Refused = append(r.Refused, refusal)
}

// without returns the registry as it was, with the descriptors refused for the
// same reason.
func (r *Registry) without(descriptors []*api.KVDescriptor, reason error) *Registry {
	same := *r
	same.Refused = slices.Clone(r.Refused)
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
	for _, refusal := range r.Refused {
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
