package catalogue

import (
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	vxlanapi "go.fd.io/govpp/binapi/vxlan"
	gpeapi "go.fd.io/govpp/binapi/vxlan_gpe"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Vxlan is a VXLAN tunnel that is up.
func Vxlan(name, src, dst string, vni uint32) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_VXLAN_TUNNEL, Enabled: true,
		Link: &interfaces.Interface_Vxlan{Vxlan: &interfaces.VxlanLink{SrcAddress: src, DstAddress: dst, Vni: vni}},
	}
}

// VxlanGpe is a VXLAN-GPE tunnel that is up.
func VxlanGpe(name, src, dst string, vni uint32) *interfaces.Interface {
	i := Vxlan(name, src, dst, vni)
	i.GetVxlan().Gpe = &interfaces.VxlanLink_Gpe{Protocol: interfaces.VxlanLink_Gpe_IP4}
	return i
}

// noIndex is the index of no interface.
const noIndex = ^interface_types.InterfaceIndex(0)

// vxlanLink changes the link of the exemplar.
func vxlanLink(change func(l *interfaces.VxlanLink)) Change {
	return To(func(i *interfaces.Interface) { change(i.GetVxlan()) })
}

func vxlan() Item {
	return ofInterface(Item{
		Make: func() proto.Message {
			i := Vxlan("vxlan1", "192.0.2.1", "192.0.2.2", 10)
			i.PhysAddress, i.IpAddresses = "02:00:00:00:00:07", []string{"10.11.1.1/24"}
			return i
		},
		Capability: "interface VXLAN_TUNNEL",
		Spellings:  []Change{vxlanLink(func(l *interfaces.VxlanLink) { l.DstAddress = "::ffff:192.0.2.2" })},
		Recreates: []Change{
			vxlanLink(func(l *interfaces.VxlanLink) { l.Vni = 11 }),
			vxlanLink(func(l *interfaces.VxlanLink) { l.SrcAddress, l.DstAddress = "2001:db8::1", "2001:db8::2" }),
		},
		Refusals: map[string]Change{
			"vxlan.src_address: empty":                               vxlanLink(func(l *interfaces.VxlanLink) { l.SrcAddress = "" }),
			"vxlan.dst_address: \"x\": expected an IP address":       vxlanLink(func(l *interfaces.VxlanLink) { l.DstAddress = "x" }),
			"vxlan.dst_address: 192.0.2.1 is the same":               vxlanLink(func(l *interfaces.VxlanLink) { l.DstAddress = "192.0.2.1" }),
			"vxlan.dst_address: 2001:db8::1, expected an address of": vxlanLink(func(l *interfaces.VxlanLink) { l.DstAddress = "2001:db8::1" }),
			"vxlan.vni: 16777216, expected 0 to 16777215":            vxlanLink(func(l *interfaces.VxlanLink) { l.Vni = 1 << 24 }),
			"vxlan.multicast: empty, expected an interface":          vxlanLink(func(l *interfaces.VxlanLink) { l.DstAddress = "239.0.0.1" }),
			"vxlan.multicast: is the interface itself":               vxlanLink(func(l *interfaces.VxlanLink) { l.Multicast = "vxlan1" }),
		},
		Conflicts: []Conflict{{
			First: Vxlan("vxlan2", "192.0.2.1", "192.0.2.2", 42), Second: Vxlan("vxlan3", "192.0.2.1", "192.0.2.2", 42),
			Says: `create VXLAN_TUNNEL: vxlan.src_address, vxlan.dst_address, vxlan.vni, vrf: 192.0.2.1, 192.0.2.2, 42, 0: ` +
				`VPP has it already, as interface "vxlan2" (vxlan_tunnel0): vxlan_add_del_tunnel_v3: `,
		}},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			l := m.(*interfaces.Interface).GetVxlan()
			return &vxlanapi.VxlanAddDelTunnelV3{
				SrcAddress: ipconv.Address(netip.MustParseAddr(l.SrcAddress)), DstAddress: ipconv.Address(netip.MustParseAddr(l.DstAddress)),
				Vni: l.Vni, McastSwIfIndex: noIndex,
			}, &vxlanapi.VxlanAddDelTunnelV3Reply{}
		},
		Without: map[string]string{"Needs": "the addresses of the tunnel need not exist"},
	})
}

func vxlanGpe() Item {
	return ofInterface(Item{
		Name:       ": GPE",
		Make:       func() proto.Message { return VxlanGpe("gpe1", "192.0.2.1", "192.0.2.2", 10) },
		Capability: "interface VXLAN_TUNNEL: GPE",
		Recreates:  []Change{vxlanLink(func(l *interfaces.VxlanLink) { l.Gpe.Protocol = interfaces.VxlanLink_Gpe_ETHERNET })},
		Refusals: map[string]Change{
			"vxlan.gpe.protocol: UNKNOWN": vxlanLink(func(l *interfaces.VxlanLink) { l.Gpe = &interfaces.VxlanLink_Gpe{} }),
			"vxlan.gpe.decap_vrf_id: 5, expected 0 for protocol IP6": vxlanLink(func(l *interfaces.VxlanLink) {
				l.Gpe = &interfaces.VxlanLink_Gpe{Protocol: interfaces.VxlanLink_Gpe_IP6, DecapVrfId: 5}
			}),
			"phys_address: a VXLAN-GPE tunnel has no MAC address": To(func(i *interfaces.Interface) { i.PhysAddress = "02:00:00:00:00:01" }),
		},
		Conflicts: []Conflict{{
			First: VxlanGpe("gpe2", "192.0.2.1", "192.0.2.2", 42), Second: VxlanGpe("gpe3", "192.0.2.1", "192.0.2.2", 42),
			Says: `create VXLAN_TUNNEL: vxlan.src_address, vxlan.dst_address, vxlan.vni, vrf: 192.0.2.1, 192.0.2.2, 42, 0: ` +
				`VPP has it already, as interface "gpe2" (vxlan_gpe_tunnel0): `,
		}},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			l := m.(*interfaces.Interface).GetVxlan()
			return &gpeapi.VxlanGpeAddDelTunnelV2{
				Local: ipconv.Address(netip.MustParseAddr(l.SrcAddress)), Remote: ipconv.Address(netip.MustParseAddr(l.DstAddress)),
				Vni: l.Vni, Protocol: 1, McastSwIfIndex: noIndex,
			}, &gpeapi.VxlanGpeAddDelTunnelV2Reply{}
		},
		Without: map[string]string{
			"Needs": "the addresses of the tunnel need not exist", "Spellings": "only addresses have any, as of a VXLAN tunnel",
		},
	})
}
