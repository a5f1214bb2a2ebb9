package descriptor

import (
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// A VRF_DEVICE stands for a routing table: links that have it as master use
// that table. The kernel does not let it leave its namespace. The MTU of a new
// VRF has changed over time; MTU 0 is whatever it is. While there is a VRF, sockets that listen
// in no VRF accept the connections of all.

func vrfSpec() spec {
	return spec{
		typ:             interfaces.Interface_VRF_DEVICE,
		former:          true,
		traits:          traits{packets: true},
		field:           "vrf_dev",
		required:        true,
		namespaceSysctl: netlinkapi.TCPAcceptL3Master,
		check: func(v *interfaces.Interface) error {
			if v.GetVrfMasterInterface() != "" {
				return invalid("vrf_master_interface", "not allowed for type VRF_DEVICE; a VRF cannot be in a VRF")
			}
			return nil
		},
		params: func(v *interfaces.Interface) netlinkapi.LinkParams {
			return netlinkapi.VRF{Table: v.GetVrfDev().GetRoutingTable()}
		},
		fill: func(v *interfaces.Interface, p netlinkapi.LinkParams, _ string) bool {
			vrf, ok := p.(netlinkapi.VRF)
			v.Link = &interfaces.Interface_VrfDev{VrfDev: &interfaces.VrfDevLink{RoutingTable: vrf.Table}}
			return ok
		},
	}
}
