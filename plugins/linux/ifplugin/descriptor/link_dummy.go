package descriptor

import (
	"context"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// A DUMMY drops what is sent to it; it is a place for addresses.

type dummy struct{ made }

func (dummy) traits() traits { return traits{mtu: defaultMTU} }

func (dummy) check(v *interfaces.Interface) error {
	if v.GetLink() != nil {
		return invalid("link", "not allowed for type DUMMY")
	}
	return nil
}

func (dummy) dependencies(*interfaces.Interface) []api.Dependency { return nil }
func (dummy) sameLink(_, _ *interfaces.Interface) bool            { return true }

func (dummy) recognise(v *interfaces.Interface, link netlinkapi.Link, parts []string) bool {
	if link.Kind != netlinkapi.KindDummy || len(parts) != 0 {
		return false
	}
	v.Type = interfaces.Interface_DUMMY
	return true
}

func (k dummy) acquire(ctx context.Context, v *interfaces.Interface) (*place, error) {
	return k.make(ctx, v, func(h netlinkapi.Handle, name string) error { return h.AddDummy(name) })
}
