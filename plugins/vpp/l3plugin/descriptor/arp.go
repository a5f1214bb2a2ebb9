package descriptor

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_neighbor"
	"go.fd.io/govpp/binapi/ip_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

const static, withoutRoute = ip_neighbor.IP_API_NEIGHBOR_FLAG_STATIC, ip_neighbor.IP_API_NEIGHBOR_FLAG_NO_FIB_ENTRY

var neighbors = item.Declare("ARP entry", "", item.Variant[ip_neighbor.IPNeighbor]{
	Change: func(e ip_neighbor.IPNeighbor, add bool) (request, reply api.Message) {
		return &ip_neighbor.IPNeighborAddDel{IsAdd: add, Neighbor: e}, &ip_neighbor.IPNeighborAddDelReply{}
	},
	Dumps: []item.Dump[ip_neighbor.IPNeighbor]{dumpNeighbors(ip_types.ADDRESS_IP4), dumpNeighbors(ip_types.ADDRESS_IP6)},
})

func dumpNeighbors(family ip_types.AddressFamily) item.Dump[ip_neighbor.IPNeighbor] {
	req := &ip_neighbor.IPNeighborDump{SwIfIndex: interface_types.InterfaceIndex(vppcalls.NoInterface), Af: family}
	return item.List(req, func(d *ip_neighbor.IPNeighborDetails) (ip_neighbor.IPNeighbor, bool) {
		d.Neighbor.Flags &= static | withoutRoute
		return d.Neighbor, true
	})
}

// NewARP describes neighbours. A neighbour is the MAC address of an IP address, of either
// version, on an interface. VPP learns neighbours itself; an entry that is not expected counts
// as configured only if it is static. VPP makes a learned entry static, and gives a static one
// another MAC address, but does not make it a learned one again. It drops one that is not static when the
// interface goes down or loses the address that covers the neighbour: it is removed before, and added again
// afterwards, also on an interface that is down, where VPP keeps it. The model lacks a neighbour without
// a route to it.
func NewARP(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	type neighbor = ip_neighbor.IPNeighbor
	return item.NewEntry(vpp, ifs, item.Entry[*l3.ARPEntry, neighbor, neighbor]{
		Name: ARPName, Model: model.ARPModel, Operation: neighbors,
		Resolve: func(r *item.Resolver, v *l3.ARPEntry) neighbor {
			e := neighbor{
				SwIfIndex: r.Interface("interface", v.GetInterface(), ifmodel.MAC("an ARP entry")),
				IPAddress: r.Host("ip_address", v.GetIpAddress()), MacAddress: r.MAC("phys_address", v.GetPhysAddress()),
			}
			if v.GetStatic() {
				e.Flags = static
			} else {
				r.UsesNeighborsOf(v.GetInterface(), e.IPAddress)
			}
			return e
		},
		ID: func(e neighbor) neighbor { return neighbor{SwIfIndex: e.SwIfIndex, IPAddress: e.IPAddress} },
		Value: func(n *item.Names, e neighbor) *l3.ARPEntry {
			return &l3.ARPEntry{
				Interface: n.Interface(e.SwIfIndex), IpAddress: item.Addr(e.IPAddress), PhysAddress: e.MacAddress.String(),
				Static: e.Flags&static != 0,
			}
		},
		Changeable: func(old, e neighbor) bool { return old.Flags == 0 || old.Flags == static && e.Flags == static },
		Learned:    func(e neighbor) bool { return e.Flags&static == 0 },
		Gone:       []api.VPPApiError{api.NO_SUCH_ENTRY},
	})
}
