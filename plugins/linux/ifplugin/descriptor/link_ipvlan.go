package descriptor

import (
	"errors"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

func ipvlanSpec() spec {
	return spec{
		typ:         interfaces.Interface_IPVLAN,
		field:       "ipvlan",
		required:    true,
		parent:      func(v *interfaces.Interface) string { return v.GetIpvlan().GetParentInterface() },
		needsParent: true,
		overhead:    func(*interfaces.Interface) int { return 0 },
		check: func(v *interfaces.Interface) error {
			errs := []error{enumField("ipvlan.mode", v.GetIpvlan().GetMode())}
			if v.GetPhysAddress() != "" {
				errs = append(errs, invalid("phys_address", "not allowed for type IPVLAN, which has the MAC address of its parent"))
			}
			return errors.Join(errs...)
		},
		params: func(v *interfaces.Interface) netlinkapi.LinkParams {
			return netlinkapi.IPVLAN{Mode: netlinkapi.IPVLANMode(v.GetIpvlan().GetMode())}
		},
		fill: func(v *interfaces.Interface, p netlinkapi.LinkParams, parent string) bool {
			i, ok := p.(netlinkapi.IPVLAN)
			v.Link = &interfaces.Interface_Ipvlan{Ipvlan: &interfaces.IpvlanLink{
				ParentInterface: parent, Mode: interfaces.IpvlanLink_Mode(i.Mode),
			}}
			return ok
		},
	}
}
