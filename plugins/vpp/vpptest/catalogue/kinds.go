package catalogue

import (
	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Kind is a kind of interface, which other items may name.
type Kind struct {
	// Name is what the reference calls it.
	Name string
	// Make returns an interface of the kind that is up and has no addresses.
	Make func(name string) *interfaces.Interface
	// Needs are the items that it needs.
	Needs []proto.Message
	// Without is why a real VPP cannot have one on this machine; "": it can.
	Without string
}

// KindHost is the interface of the kernel that the kind AF_PACKET needs.
const KindHost = "kindhost"

// Kinds returns the kinds of interfaces.
func Kinds() []Kind {
	kind := func(name string, make func(name string) *interfaces.Interface, needs ...proto.Message) Kind {
		return Kind{Name: name, Make: make, Needs: needs}
	}
	tap := func(tun bool) Kind {
		k := Kind{Name: "TAP", Without: withoutTAPs(), Make: func(name string) *interfaces.Interface {
			i := Tap(name)
			i.GetTap().EnableTunnel = tun
			return i
		}}
		if tun {
			k.Name = "TUN"
		}
		return k
	}
	return []Kind{
		kind("loopback", func(name string) *interfaces.Interface { return Loopback(name) }),
		kind("AF_PACKET", func(name string) *interfaces.Interface { return AfPacket(name, KindHost) }),
		tap(false), tap(true),
		kind("memif", func(name string) *interfaces.Interface { return Memif(name, 77, "kinds.sock") }),
		kind("memif, mode IP", func(name string) *interfaces.Interface {
			i := Memif(name, 78, "kinds.sock")
			i.GetMemif().Mode = interfaces.MemifLink_IP
			return i
		}),
		kind("bond", func(name string) *interfaces.Interface { return Bond(name, 77) }),
		kind("sub-interface", func(name string) *interfaces.Interface { return SubInterface(name, "kindparent", 77) },
			Memif("kindparent", 79, "kinds.sock")),
		kind("VXLAN", func(name string) *interfaces.Interface { return Vxlan(name, "10.255.0.1", "10.255.0.2", 77) }),
		kind("VXLAN-GPE", func(name string) *interfaces.Interface { return VxlanGpe(name, "10.255.0.1", "10.255.0.2", 77) }),
		kind("GRE, type L3", func(name string) *interfaces.Interface {
			return Gre(name, "10.255.0.1", "10.255.0.2", interfaces.GreLink_L3)
		}),
		kind("GRE, type TEB", func(name string) *interfaces.Interface {
			return Gre(name, "10.255.0.1", "10.255.0.3", interfaces.GreLink_TEB)
		}),
		kind("GRE, type ERSPAN", func(name string) *interfaces.Interface {
			i := Gre(name, "10.255.0.1", "10.255.0.4", interfaces.GreLink_ERSPAN)
			i.GetGre().SessionId = 7
			return i
		}),
		kind("IPIP", func(name string) *interfaces.Interface { return Ipip(name, "10.255.0.1", "10.255.0.2") }),
		kind("IPIP, many ends", func(name string) *interfaces.Interface { return Ipip(name, "10.255.0.9", "") }),
		kind("GTP-U", func(name string) *interfaces.Interface { return Gtpu(name, "10.255.0.1", "10.255.0.2", 77) }),
		kind("IPsec", func(name string) *interfaces.Interface { return IpsecInterface(name) }),
		kind("WireGuard", func(name string) *interfaces.Interface { return Wireguard(name) }),
		kind("MPLS tunnel", func(name string) *interfaces.Interface { return mplsKind(name, false) }, Loopback("kindcore", "10.254.0.1/24")),
		kind("MPLS tunnel, Ethernet", func(name string) *interfaces.Interface { return mplsKind(name, true) }, Loopback("kindcore", "10.254.0.1/24")),
	}
}

func mplsKind(name string, l2 bool) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_MPLS_TUNNEL, Enabled: true,
		Link: &interfaces.Interface_MplsTunnel{MplsTunnel: &interfaces.MplsTunnelLink{
			L2Only: l2, Paths: []*interfaces.MplsTunnelLink_Path{{NextHopAddr: "10.254.0.2", OutgoingInterface: "kindcore", OutLabels: []uint32{100}}},
		}},
	}
}

// With returns i as an interface of the kind: what does not depend on the kind stays.
func (k Kind) With(i *interfaces.Interface) *interfaces.Interface {
	out := k.Make(i.GetName())
	out.Enabled, out.IpAddresses, out.Vrf, out.Unnumbered = i.Enabled, i.IpAddresses, i.Vrf, i.Unnumbered
	out.SetDhcpClient, out.Ip6Nd, out.RxModes, out.RxPlacements = i.SetDhcpClient, i.Ip6Nd, i.RxModes, i.RxPlacements
	return out
}
