package catalogue

import (
	"strings"

	"go.fd.io/govpp/api"
	interfacesapi "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Base is the loopback "lo" that items stand on, with an address of each version of IP.
func Base() *interfaces.Interface { return Loopback("lo", "10.1.1.1/24", "2001:db8::1/64") }

// Loopback is a loopback that is up.
func Loopback(name string, addrs ...string) *interfaces.Interface {
	return &interfaces.Interface{Name: name, Type: interfaces.Interface_SOFTWARE_LOOPBACK, Enabled: true, IpAddresses: addrs}
}

// Unnumbered borrows the addresses of another interface.
func Unnumbered(lender string) *interfaces.Interface_Unnumbered {
	return &interfaces.Interface_Unnumbered{InterfaceWithIp: lender}
}

// ofInterface is what the entries of all types of interface share.
func ofInterface(i Item) Item {
	i.Name = "vpp.interfaces " + i.Make().(*interfaces.Interface).Type.String() + i.Name
	if i.Part == "" {
		i.Updates = append(i.Updates, To(func(i *interfaces.Interface) { i.Enabled, i.Mtu = !i.Enabled, 1400 }))
	}
	i.Unread = unreadInterface
	return i
}

// unreadInterface fills in the MAC address and the MTU that VPP chose because the configuration
// has none. It takes the link as it was read: a resync checks whether that is equivalent.
func unreadInterface(want, got proto.Message) {
	w, g := want.(*interfaces.Interface), got.(*interfaces.Interface)
	if w.PhysAddress == "" {
		w.PhysAddress = g.PhysAddress
	}
	if w.Mtu == 0 {
		w.Mtu = g.Mtu
	}
	w.Link = g.Link
}

// of is the index of an interface in VPP.
func of(index func(string) uint32, m proto.Message) interface_types.InterfaceIndex {
	return interface_types.InterfaceIndex(index(m.(*interfaces.Interface).Name))
}

// iface is a change of an interface.
func iface(change func(i *interfaces.Interface)) Change { return To(change) }

func loopback() Item {
	return ofInterface(Item{
		Make: func() proto.Message {
			i := Loopback("loop/1", "10.23.1.1/24", "2001:db8:23::1/64")
			i.PhysAddress, i.Mtu = "02:00:00:00:00:01", 1400
			return i
		},
		Capability: "interface SOFTWARE_LOOPBACK",
		Spellings:  []Change{iface(func(i *interfaces.Interface) { i.IpAddresses = []string{"2001:DB8:23:0::1/64", "10.23.1.1/24"} })},
		Updates: []Change{iface(func(i *interfaces.Interface) {
			i.Enabled, i.Mtu, i.PhysAddress, i.IpAddresses = false, 9000, "02:00:00:00:00:02", []string{"10.23.1.2/24"}
		})},
		Recreates: []Change{iface(func(i *interfaces.Interface) {
			i.Type, i.Link = interfaces.Interface_MEMIF, Memif("", 1, "loop.sock").Link
		})},
		Refusals: map[string]Change{
			"type: interfaces of type 99 are not supported": iface(func(i *interfaces.Interface) { i.Type = 99 }),
			"type: UNDEFINED_TYPE":                          iface(func(i *interfaces.Interface) { i.Type = interfaces.Interface_UNDEFINED_TYPE }),
			"phys_address: ":                                iface(func(i *interfaces.Interface) { i.PhysAddress = "02:00" }),
			"mtu: 10000, expected 0 to 9216":                iface(func(i *interfaces.Interface) { i.Mtu = 10000 }),
			"has 64 bytes, expected 1 to 63":                iface(func(i *interfaces.Interface) { i.Name = strings.Repeat("x", 64) }),
			"link: is TapLink, expected none":               iface(func(i *interfaces.Interface) { i.Link = Tap("").Link }),
			"ip_addresses[0]: ":                             iface(func(i *interfaces.Interface) { i.IpAddresses = []string{"10.0.0"} }),
			"refers to a gateway":                           iface(func(i *interfaces.Interface) { i.IpAddresses = []string{"alloc:net1/GW"} }),
			"ip_addresses[1]: fe80::2/64: fe80":             iface(func(i *interfaces.Interface) { i.IpAddresses = []string{"fe80::1/64", "fe80::2/64"} }),
			"unnumbered: ":                                  iface(func(i *interfaces.Interface) { i.Unnumbered = Unnumbered("a") }),
			"unnumbered: an interface that borrows addresses cannot have set_dhcp_client": iface(func(i *interfaces.Interface) {
				i.IpAddresses, i.SetDhcpClient, i.Unnumbered = nil, true, Unnumbered("a")
			}),
			"ip6_nd.install_default_routes: expected together with": iface(func(i *interfaces.Interface) {
				i.Ip6Nd = &interfaces.Interface_IP6ND{InstallDefaultRoutes: true}
			}),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &interfacesapi.DeleteLoopback{SwIfIndex: of(index, m)}, &interfacesapi.DeleteLoopbackReply{}
		},
		Without: map[string]string{
			"Needs": "VPP makes it of nothing", "Conflicts": "VPP chooses the number; addresses are a part",
		},
	})
}
