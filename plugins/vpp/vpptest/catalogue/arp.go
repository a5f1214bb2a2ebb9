package catalogue

import (
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_neighbor"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func arp() Item {
	return Item{
		Name: "vpp.arp",
		Make: func() proto.Message {
			return &l3.ARPEntry{Interface: "lo", IpAddress: "10.1.1.2", PhysAddress: "02:00:00:00:00:0a", Static: true}
		},
		Needs:      func() []proto.Message { return []proto.Message{Base()} },
		Capability: "ARP entry",
		Spellings:  []Change{To(func(e *l3.ARPEntry) { e.PhysAddress = "02:00:00:00:00:0A" })},
		Updates:    []Change{To(func(e *l3.ARPEntry) { e.PhysAddress = "02:00:00:00:00:ff" })},
		Recreates:  []Change{To(func(e *l3.ARPEntry) { e.PhysAddress, e.Static = "02:00:00:00:00:fe", false })},
		Refusals: map[string]Change{
			"interface: ":    To(func(e *l3.ARPEntry) { e.Interface = "" }),
			"phys_address: ": To(func(e *l3.ARPEntry) { e.PhysAddress = "1" }),
			"ip_address: ":   To(func(e *l3.ARPEntry) { e.IpAddress = "224.0.0.1" }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			e := m.(*l3.ARPEntry)
			return &ip_neighbor.IPNeighborAddDel{Neighbor: ip_neighbor.IPNeighbor{
				SwIfIndex: interface_types.InterfaceIndex(index(e.Interface)), IPAddress: ipconv.Address(netip.MustParseAddr(e.IpAddress)),
			}}, &ip_neighbor.IPNeighborAddDelReply{}
		},
		Without: map[string]string{
			"Conflicts": "interface and address are the key",
		},
	}
}
