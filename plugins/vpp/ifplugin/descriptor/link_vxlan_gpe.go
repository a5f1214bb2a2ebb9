package descriptor

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/vxlan_gpe"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

type gpeTunnel = vxlan_gpe.VxlanGpeAddDelTunnelV2

// A VXLAN-GPE tunnel is a VXLAN tunnel that tells in every packet what it carries. It has no
// MAC address. VPP looks received IPv4 packets up in a VRF table of choice; for IPv6
// it takes the number for an index of its own, whatever that leads to. When such
// a tunnel is deleted VPP only hides the interface, with its tag, and uses it for the next
// one.
var gpeTunnels = linkSpec[gpeTunnel]{
	op:     declareLinks("interface VXLAN_TUNNEL: GPE", "vxlan-gpe", linkCalls[gpeTunnel]{setGpe, dumpGpe}),
	device: "VXLAN_GPE",
	facts:  vxlanTunnels.facts,
	valid: func(i *interfaces.Interface) []error {
		g, errs := i.GetVxlan().GetGpe(), vxlanTunnels.valid(i)
		switch p := g.GetProtocol(); {
		case p == interfaces.VxlanLink_Gpe_UNKNOWN || interfaces.VxlanLink_Gpe_Protocol_name[int32(p)] == "":
			return append(errs, invalid("vxlan.gpe.protocol", "%s, expected IP4, IP6, ETHERNET or NSH", p))
		case p != interfaces.VxlanLink_Gpe_IP4 && g.GetDecapVrfId() != 0:
			return append(errs, invalid("vxlan.gpe.decap_vrf_id",
				"%d, expected 0 for protocol %s: VPP has a table for received IPv4 packets only", g.GetDecapVrfId(), p))
		}
		return errs
	},
	needs: func(i *interfaces.Interface) []kvs.Dependency {
		return append(vxlanTunnels.needs(i), vrfExists("vrf-table-for-vxlan-gpe-exists", i.GetVxlan().GetGpe().GetDecapVrfId(), false)...)
	},
	group: vxlanGroup,
	params: func(i *interfaces.Interface, group ifIndex) (gpeTunnel, error) {
		src, dst, err := vxlanEnds(i).parse()
		l := i.GetVxlan()
		return gpeTunnel{
			Local: src, Remote: dst, McastSwIfIndex: group, EncapVrfID: i.GetVrf(), Vni: l.GetVni(),
			DecapVrfID: l.GetGpe().GetDecapVrfId(), Protocol: ip_types.IPProto(l.GetGpe().GetProtocol()),
		}, err
	},
	describe: func(i *interfaces.Interface, t gpeTunnel, _ *interfaces.Interface, names func(ifIndex) string) {
		i.Type, i.Vrf, i.Link = interfaces.Interface_VXLAN_TUNNEL, t.EncapVrfID, &interfaces.Interface_Vxlan{Vxlan: &interfaces.VxlanLink{
			SrcAddress: addressText(t.Local), DstAddress: addressText(t.Remote), Vni: t.Vni, Multicast: names(t.McastSwIfIndex),
			Gpe: &interfaces.VxlanLink_Gpe{Protocol: interfaces.VxlanLink_Gpe_Protocol(t.Protocol), DecapVrfId: t.DecapVrfID},
		}}
	},
	exists: api.TUNNEL_EXIST,
	taken: func(a, b gpeTunnel) bool {
		return a.Local == b.Local && a.Remote == b.Remote && a.Vni == b.Vni && a.EncapVrfID == b.EncapVrfID
	},
	fields: vxlanFields,
}

func setGpe(add bool, t gpeTunnel) (req, reply api.Message, swIfIndex *ifIndex) {
	done := &vxlan_gpe.VxlanGpeAddDelTunnelV2Reply{}
	t.IsAdd = add
	return &t, done, &done.SwIfIndex
}

var dumpGpe = dumpOf(func(which ifIndex) api.Message { return &vxlan_gpe.VxlanGpeTunnelV2Dump{SwIfIndex: which} },
	func(d *vxlan_gpe.VxlanGpeTunnelV2Details) (ifIndex, gpeTunnel) {
		return d.SwIfIndex, gpeTunnel{
			Local: plain(d.Local), Remote: plain(d.Remote), LocalPort: d.LocalPort, RemotePort: d.RemotePort, McastSwIfIndex: d.McastSwIfIndex,
			EncapVrfID: d.EncapVrfID, DecapVrfID: d.DecapVrfID, Protocol: d.Protocol, Vni: d.Vni,
		}
	})
