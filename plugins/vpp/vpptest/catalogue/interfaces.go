package catalogue

import (
	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Base is the loopback "lo" that items stand on, with an address of each version of IP.
func Base() *interfaces.Interface { return Loopback("lo", "10.1.1.1/24", "2001:db8::1/64") }

// Loopback is a loopback that is up.
func Loopback(name string, addrs ...string) *interfaces.Interface {
	return &interfaces.Interface{Name: name, Type: interfaces.Interface_SOFTWARE_LOOPBACK, Enabled: true, IpAddresses: addrs}
}

// ofInterface is what the entries of all types of interface share.
func ofInterface(i Item) Item {
	i.Name = "vpp.interfaces " + i.Make().(*interfaces.Interface).Type.String() + i.Name
	i.Updates = append(i.Updates, To(func(i *interfaces.Interface) { i.Enabled, i.Mtu = !i.Enabled, 1400 }))
	i.Unread = unreadInterface
	return i
}

// unreadInterface: VPP chooses the MAC address and the MTU that nobody asks for. The link
// is as it is read: a resync finds out whether that is the same.
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
