package descriptor

import (
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// A VLAN has the frames of its parent that carry a tag. It is up or down as its value
// says, whether the parent is up or not, but has a carrier only if that has one.

func vlanSpec() spec {
	return spec{
		typ:         interfaces.Interface_VLAN,
		traits:      traits{follows: true},
		field:       "vlan",
		required:    true,
		parent:      func(v *interfaces.Interface) string { return v.GetVlan().GetParentInterface() },
		needsParent: true,
		overhead:    func(*interfaces.Interface) int { return 0 },
		check:       func(v *interfaces.Interface) error { return enumField("vlan.protocol", v.GetVlan().GetProtocol()) },
		params: func(v *interfaces.Interface) netlinkapi.LinkParams {
			p := netlinkapi.VLAN{ID: uint16(v.GetVlan().GetVlanId()), Protocol: netlinkapi.VLANProtocol}
			if v.GetVlan().GetProtocol() == interfaces.VlanLink_DOT1AD {
				p.Protocol = netlinkapi.QinQProtocol
			}
			return p
		},
		fill: func(v *interfaces.Interface, p netlinkapi.LinkParams, parent string) bool {
			vlan, ok := p.(netlinkapi.VLAN)
			link := &interfaces.VlanLink{ParentInterface: parent, VlanId: uint32(vlan.ID)}
			if vlan.Protocol == netlinkapi.QinQProtocol {
				link.Protocol = interfaces.VlanLink_DOT1AD
			}
			v.Link = &interfaces.Interface_Vlan{Vlan: link}
			return ok
		},
	}
}
