package descriptor

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/vxlan_gpe"

	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

func isGpe(i *interfaces.Interface) bool { return i.GetVxlan().GetGpe() != nil }

type gpeTunnel = vxlan_gpe.VxlanGpeAddDelTunnelV2

// A VXLAN-GPE tunnel is a VXLAN tunnel that reports in every packet what it carries. It has no
// MAC address. VPP looks received IPv4 packets up in a VRF table of choice; for IPv6
// it takes the number for an index of its own, whatever that leads to. When such
// a tunnel is deleted VPP only hides the interface, with its tag, and uses it for the next
// one.
// vxlanGPEPort is the port that VPP takes for none.
const vxlanGPEPort = 4790

var gpeTunnels = linkSpec[gpeTunnel]{
	op: declareLinks("interface VXLAN_TUNNEL: GPE", "vxlan-gpe", linkCalls[gpeTunnel]{
		set:  asRequest[*vxlan_gpe.VxlanGpeAddDelTunnelV2Reply, gpeTunnel],
		dump: dumpSame[*vxlan_gpe.VxlanGpeTunnelV2Dump, *vxlan_gpe.VxlanGpeTunnelV2Details, gpeTunnel](),
	}),
	device: "VXLAN_GPE",
	facts:  vxlanTunnels.facts,
	resolve: func(r *item.Resolver, i *interfaces.Interface) gpeTunnel {
		t, g := vxlanTunnels.resolve(r, i), i.GetVxlan().GetGpe()
		switch p := g.GetProtocol(); {
		case p == interfaces.VxlanLink_Gpe_UNKNOWN || interfaces.VxlanLink_Gpe_Protocol_name[int32(p)] == "":
			r.Fail("vxlan.gpe.protocol", "%s, expected IP4, IP6, ETHERNET or NSH", p)
		case p != interfaces.VxlanLink_Gpe_IP4 && g.GetDecapVrfId() != 0:
			r.Fail("vxlan.gpe.decap_vrf_id", "%d, expected 0 for protocol %s: VPP has a table for received IPv4 packets only", g.GetDecapVrfId(), p)
		}
		return gpeTunnel{
			Local: t.SrcAddress, Remote: t.DstAddress, McastSwIfIndex: t.McastSwIfIndex, EncapVrfID: t.EncapVrfID, Vni: t.Vni,
			DecapVrfID: r.TableAs("vrf-table-for-vxlan-gpe-exists", g.GetDecapVrfId(), ip_types.Address{Af: ip_types.ADDRESS_IP4}),
			Protocol:   ip_types.IPProto(g.GetProtocol()),
		}
	},
	describe: func(i *interfaces.Interface, t gpeTunnel, known about) {
		i.Type, i.Vrf, i.Link = interfaces.Interface_VXLAN_TUNNEL, t.EncapVrfID, &interfaces.Interface_Vxlan{Vxlan: &interfaces.VxlanLink{
			SrcAddress: item.Addr(t.Local), DstAddress: item.Addr(t.Remote), Vni: t.Vni, Multicast: known.names(t.McastSwIfIndex),
			Gpe: &interfaces.VxlanLink_Gpe{Protocol: interfaces.VxlanLink_Gpe_Protocol(t.Protocol), DecapVrfId: t.DecapVrfID},
		}}
	},
	chosen: func(p *gpeTunnel, found gpeTunnel) {
		p.IsAdd, p.McastSwIfIndex, p.LocalPort, p.RemotePort = found.IsAdd, found.McastSwIfIndex, vxlanGPEPort, vxlanGPEPort
	},
	exists: api.TUNNEL_EXIST,
	key:    vxlanTunnels.key,
}
