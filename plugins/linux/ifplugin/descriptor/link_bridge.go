package descriptor

import (
	"time"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// A BRIDGE is a switch. Its ports name it, not it its ports: a link has one master at
// most, which a field of the port cannot contradict, while lists of two bridges can. The
// MTU and the MAC address of a bridge follow its ports unless they are set. The kernel
// does not let it leave its namespace.

// defaultAgeing is how long bridges keep MAC addresses, in seconds.
const defaultAgeing = 300

func bridgeSpec() spec {
	return spec{
		typ:    interfaces.Interface_BRIDGE,
		field:  "bridge",
		traits: traits{noPort: true, follows: true},
		params: func(v *interfaces.Interface) netlinkapi.LinkParams {
			ageing := orDefault(v.GetBridge().GetAgeingTime(), defaultAgeing)
			return netlinkapi.Bridge{
				STP: v.GetBridge().GetStp(), Ageing: time.Duration(ageing) * time.Second, VLANFiltering: v.GetBridge().GetVlanFiltering(),
			}
		},
		fill: func(v *interfaces.Interface, p netlinkapi.LinkParams, _ string) bool {
			b, ok := p.(netlinkapi.Bridge)
			v.Link = &interfaces.Interface_Bridge{Bridge: &interfaces.BridgeLink{
				Stp: b.STP, AgeingTime: uint32(b.Ageing / time.Second), VlanFiltering: b.VLANFiltering,
			}}
			return ok
		},
	}
}
