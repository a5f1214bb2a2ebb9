package registry

import (
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Lacking reports whether what was found is a value of the descriptor while some of its
// derived values, named by their keys, wait for something.
func (d *Descriptor) Lacking(key string, found, value proto.Message, waiting []string) bool {
	if d == nil || d.Without == nil || len(waiting) == 0 {
		return false
	}
	return d.Equivalent(key, found, d.Without(key, value, waiting))
}

// guardWithout makes a panic of Without told, and nothing missing from the value.
func (r *Registry) guardWithout(kd *api.KVDescriptor) {
	without := kd.Without
	if without == nil {
		return
	}
	kd.Without = func(key string, v proto.Message, derived []string) (left proto.Message) {
		defer func() {
			if p := recover(); p != nil {
				r.complain(kd.Name, key, Panicked("Without", p))
				left = v
			}
		}()
		return without(key, v, derived)
	}
}
