package descriptor

import (
	"errors"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// A VXLAN is a tunnel of Ethernet frames in UDP. Its packets are in the
// namespace that it was made in: its parent's, or its own if it has no parent.

const defaultVXLANPort = 4789

func vxlanSpec() spec {
	return spec{
		typ:      interfaces.Interface_VXLAN,
		field:    "vxlan",
		required: true,
		parent:   func(v *interfaces.Interface) string { return v.GetVxlan().GetParentInterface() },
		overhead: vxlanOverhead,
		check:    checkVXLAN,
		params: func(v *interfaces.Interface) netlinkapi.LinkParams {
			x := v.GetVxlan()
			return netlinkapi.VXLAN{
				VNI: x.GetVni(), Remote: parseAddress(x.GetRemote()), Local: parseAddress(x.GetLocal()),
				Port: uint16(orDefault(x.GetPort(), defaultVXLANPort)), TTL: uint8(x.GetTtl()), Learning: !x.GetNoLearning(),
			}
		},
		fill: func(v *interfaces.Interface, p netlinkapi.LinkParams, parent string) bool {
			x, ok := p.(netlinkapi.VXLAN)
			v.Link = &interfaces.Interface_Vxlan{Vxlan: &interfaces.VxlanLink{
				Vni: x.VNI, Remote: addressText(x.Remote), Local: addressText(x.Local), Port: uint32(x.Port),
				ParentInterface: parent, Ttl: uint32(x.TTL), NoLearning: !x.Learning,
			}}
			return ok
		},
	}
}

// vxlanOverhead is the size of the headers of a packet.
func vxlanOverhead(v *interfaces.Interface) int {
	if parseAddress(v.GetVxlan().GetRemote()).Is6() || parseAddress(v.GetVxlan().GetLocal()).Is6() {
		return 70
	}
	return 50
}

func checkVXLAN(v *interfaces.Interface) error {
	x := v.GetVxlan()
	errs := []error{checkAddress("vxlan.remote", x.GetRemote()), checkAddress("vxlan.local", x.GetLocal())}
	remote, local := parseAddress(x.GetRemote()), parseAddress(x.GetLocal())
	if remote.IsMulticast() && x.GetParentInterface() == "" {
		errs = append(errs, invalid("vxlan.parent_interface", "empty; expected the interface of the multicast group %s", remote))
	}
	if remote.IsValid() && local.IsValid() && remote.Is4() != local.Is4() {
		errs = append(errs, invalid("vxlan.local", "%s; expected an address of the same version as %s", local, remote))
	}
	return errors.Join(errs...)
}
