package reassemblyplugin

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	reassembly "github.com/tenuto-dev/tenuto/proto/ligato/vpp/reassembly"
)

// onInterface is full reassembly on an interface; it sets both versions of IP.
type onInterface = ip.IPReassemblyEnableDisable

var onInterfaces = item.Declare("IP reassembly on interface", "", item.Variant[onInterface]{
	Change:   change,
	Unlisted: true,
	// VPP reassembles twice if reassembly is enabled twice.
	Reset: func(e onInterface) (requests, replies []api.Message) {
		request, reply := change(e, false)
		return []api.Message{request}, []api.Message{reply}
	},
})

func change(e onInterface, add bool) (request, reply api.Message) {
	e.EnableIP4, e.EnableIP6 = e.EnableIP4 && add, e.EnableIP6 && add
	return &e, &ip.IPReassemblyEnableDisableReply{}
}

// NewInterface describes interfaces with full reassembly. Shallow virtual reassembly is left to
// VPP: its users count as one another's, so that one removes what another one needs.
func NewInterface(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*reassembly.Interface, onInterface, onInterface]{
		Name: InterfaceName, Model: InterfaceModel, Operation: onInterfaces,
		Resolve: func(r *item.Resolver, v *reassembly.Interface) onInterface {
			if !v.GetIpv4() && !v.GetIpv6() {
				r.Fail("ipv4, ipv6", "both false, expected at least one true")
			}
			return onInterface{
				SwIfIndex: r.Interface("interface", v.GetInterface()), EnableIP4: v.GetIpv4(), EnableIP6: v.GetIpv6(),
				Type: ip.IP_REASS_TYPE_FULL,
			}
		},
		ID: func(e onInterface) onInterface { return onInterface{SwIfIndex: e.SwIfIndex} },
		Value: func(n *item.Names, e onInterface) *reassembly.Interface {
			return &reassembly.Interface{Interface: n.Interface(e.SwIfIndex), Ipv4: e.EnableIP4, Ipv6: e.EnableIP6}
		},
	})
}
