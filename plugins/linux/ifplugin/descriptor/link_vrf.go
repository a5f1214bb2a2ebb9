package descriptor

import (
	"context"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// A VRF_DEVICE stands for a routing table: links that have it as master use
// that table. The kernel does not let it leave its namespace.

type vrfDevice struct{ made }

// The MTU of a new VRF has changed over time; MTU 0 is whatever it is.
func (vrfDevice) traits() traits { return traits{} }

func (vrfDevice) check(v *interfaces.Interface) error {
	switch {
	case v.GetVrfDev() == nil:
		return invalid("vrf_dev", "missing; expected the properties of the VRF")
	case v.GetPhysAddress() != "":
		return invalid("phys_address", "not allowed for type VRF_DEVICE")
	case v.GetVrfMasterInterface() != "":
		return invalid("vrf_master_interface", "not allowed for type VRF_DEVICE; a VRF cannot be in a VRF")
	}
	return nil
}

func (vrfDevice) dependencies(*interfaces.Interface) []api.Dependency { return nil }

func (vrfDevice) sameLink(a, b *interfaces.Interface) bool {
	return a.GetVrfDev().GetRoutingTable() == b.GetVrfDev().GetRoutingTable()
}

func (vrfDevice) recognise(v *interfaces.Interface, link netlinkapi.Link, parts []string) bool {
	if link.Kind != netlinkapi.KindVRF || len(parts) != 0 {
		return false
	}
	v.Type = interfaces.Interface_VRF_DEVICE
	v.Link = &interfaces.Interface_VrfDev{VrfDev: &interfaces.VrfDevLink{RoutingTable: link.Table}}
	return true
}

func (k vrfDevice) acquire(ctx context.Context, v *interfaces.Interface) (*place, error) {
	table := v.GetVrfDev().GetRoutingTable()
	return k.make(ctx, v, func(h netlinkapi.Handle, name string) error { return h.AddVRF(name, table) })
}
