package descriptor

import (
	"errors"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// A MACVLAN has a MAC address of its own on its parent, an IPVLAN has its
// parent's MAC address. The usual place of either is the namespace of a
// container.

func macvlanSpec() spec {
	return spec{
		typ:         interfaces.Interface_MACVLAN,
		field:       "macvlan",
		required:    true,
		parent:      func(v *interfaces.Interface) string { return v.GetMacvlan().GetParentInterface() },
		needsParent: true,
		overhead:    func(*interfaces.Interface) int { return 0 },
		check: func(v *interfaces.Interface) error {
			errs := []error{enumField("macvlan.mode", v.GetMacvlan().GetMode())}
			if v.GetMacvlan().GetMode() == interfaces.MacvlanLink_PASSTHRU && v.GetPhysAddress() != "" {
				errs = append(errs, invalid("phys_address", "not allowed for mode PASSTHRU, which has the MAC address of its parent"))
			}
			return errors.Join(errs...)
		},
		params: func(v *interfaces.Interface) netlinkapi.LinkParams {
			return netlinkapi.MACVLAN{Mode: macvlanModes()[v.GetMacvlan().GetMode()]}
		},
		fill: func(v *interfaces.Interface, p netlinkapi.LinkParams, parent string) bool {
			m, ok := p.(netlinkapi.MACVLAN)
			link := &interfaces.MacvlanLink{ParentInterface: parent, Mode: -1}
			for mode, n := range macvlanModes() {
				if n == m.Mode {
					link.Mode = mode
				}
			}
			v.Link = &interfaces.Interface_Macvlan{Macvlan: link}
			return ok
		},
	}
}

// macvlanModes are the numbers of the kernel.
func macvlanModes() map[interfaces.MacvlanLink_Mode]netlinkapi.MACVLANMode {
	return map[interfaces.MacvlanLink_Mode]netlinkapi.MACVLANMode{
		interfaces.MacvlanLink_BRIDGE:   netlinkapi.MACVLANBridge,
		interfaces.MacvlanLink_PRIVATE:  netlinkapi.MACVLANPrivate,
		interfaces.MacvlanLink_VEPA:     netlinkapi.MACVLANVEPA,
		interfaces.MacvlanLink_PASSTHRU: netlinkapi.MACVLANPassthru,
	}
}
