package catalogue

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// interfaceParts are the parts that interfaces of all types have.
func interfaceParts() []Item {
	part := func(name, key string, i *interfaces.Interface, needs ...proto.Message) Item {
		return Item{
			Name: "vpp.interfaces: " + name, Part: "vpp/interface/" + key, Capability: "interface: " + name,
			Make:  func() proto.Message { return proto.Clone(i) },
			Needs: func() []proto.Message { return needs }, Unread: unreadInterface,
		}
	}
	addresses := part("addresses", "addr/address/static/10.24.1.1/24", Loopback("addr", "10.24.1.1/24"))
	addresses.Conflicts = addressConflicts()
	inVrf := Loopback("in7", "10.25.1.1/24")
	inVrf.Vrf = 7
	borrower := Loopback("borrower")
	borrower.Unnumbered = Unnumbered("lo")
	dhcp := Loopback("dhcp")
	dhcp.SetDhcpClient = true
	nd := Loopback("nd")
	nd.Ip6Nd = &interfaces.Interface_IP6ND{AddressAutoconfig: true}
	modes, placement := Tap("modes"), Tap("placement")
	modes.RxModes = []*interfaces.Interface_RxMode{{DefaultMode: true, Mode: interfaces.Interface_RxMode_POLLING}}
	placement.RxPlacements = []*interfaces.Interface_RxPlacement{{MainThread: true}}
	all := []Item{
		addresses,
		part("VRF", "in7/vrf/7/ip-version/v4", inVrf, &l3.VrfTable{Id: 7}),
		part("unnumbered", "unnumbered/borrower", borrower, Base()),
		part("DHCP client", "dhcp-client/dhcp", dhcp),
	}
	ndPart := part("IPv6 ND", "ip6nd/nd", nd)
	ndPart.Without = map[string]string{"Restart": "VPP does not report it: another agent sends it again"}
	all = append(all, ndPart)
	for _, queues := range []Item{part("rx modes", "modes/rx-modes", modes), part("rx placement", "placement/rx-placement/queue/0", placement)} {
		queues.Without = map[string]string{"Real": withoutTAPs()}
		all = append(all, queues)
	}
	return all
}

func addressConflicts() (all []Conflict) {
	for _, c := range [][2]string{
		{"10.5.0.1/24", "10.5.0.1/24"}, {"10.5.0.1/24", "10.5.0.2/24"}, {"10.5.3.1/24", "10.5.0.2/16"}, {"10.5.0.1/16", "10.5.3.1/24"},
		{"2001:db8:5::1/64", "2001:db8:5::2/64"},
	} {
		all = append(all, Conflict{
			First: Loopback("lo1", c[0]), Second: Loopback("lo2", c[1]), Part: "vpp/interface/lo2/address/static/" + c[1],
			Says: fmt.Sprintf("ip_addresses: %s: overlaps with %s of interface \"lo1\" in VRF table 0: sw_interface_add_del_address: ", c[1], c[0]),
		})
	}
	return all
}
