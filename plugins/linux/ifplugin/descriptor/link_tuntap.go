package descriptor

import (
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// A TUN or TAP is the kernel's side of a program that exchanges packets with it. The
// agent makes the device persistent and leaves opening it to the program, which finds it
// by its name, in the namespace of the device.

func tunTapSpec(typ interfaces.Interface_Type) spec {
	isTAP := typ == interfaces.Interface_TAP
	return spec{
		typ:    typ,
		traits: traits{mtu: defaultMTU, packets: !isTAP},
		field:  "tun_tap",
		params: func(v *interfaces.Interface) netlinkapi.LinkParams {
			t := v.GetTunTap()
			return netlinkapi.TUN{TAP: isTAP, Owner: t.GetOwner(), Group: t.GetGroup(), MultiQueue: t.GetMultiQueue()}
		},
		fill: func(v *interfaces.Interface, p netlinkapi.LinkParams, _ string) bool {
			t, ok := p.(netlinkapi.TUN)
			v.Link = &interfaces.Interface_TunTap{TunTap: &interfaces.TunTapLink{
				Owner: t.Owner, Group: t.Group, MultiQueue: t.MultiQueue,
			}}
			return ok && t.TAP == isTAP
		},
	}
}
