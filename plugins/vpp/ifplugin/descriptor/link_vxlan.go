package descriptor

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/vxlan"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

type vxlanTunnel = vxlan.VxlanAddDelTunnelV3

// What VPP lists for parameters that the requests of the agent leave to it.
const (
	vxlanPort    = 4789
	vxlanDecapL2 = 1 // VXLAN_INPUT_NEXT_L2_INPUT in src/plugins/vxlan/vxlan.h
)

// A VXLAN tunnel carries Ethernet frames in UDP to another end, or to all members
// of a multicast group, which an interface is then named for. VPP identifies it
// by its ends, the number of the network and the VRF table of the interface, and
// creates it up.
var vxlanTunnels = linkSpec[vxlanTunnel]{
	op: declareLinks("interface VXLAN_TUNNEL", "vxlan", linkCalls[vxlanTunnel]{
		set:  asRequest[*vxlan.VxlanAddDelTunnelV3Reply, vxlanTunnel],
		dump: dumpSame[*vxlan.VxlanTunnelV2Dump, *vxlan.VxlanTunnelV2Details, vxlanTunnel](),
	}),
	device: "VXLAN",
	facts: traits{
		macInPlace: true, macAfter: true, packetMTU: true, startsUp: true, hidden: true,
		link: func() proto.Message { return &interfaces.VxlanLink{} },
		initialMTU: func(i *interfaces.Interface) uint32 {
			if isGpe(i) {
				return 0
			}
			return etherMTU
		},
	},
	resolve: func(r *item.Resolver, i *interfaces.Interface) vxlanTunnel {
		l := i.GetVxlan()
		src, dst := ends(r, "vxlan.src_address", l.GetSrcAddress(), "vxlan.dst_address", l.GetDstAddress())
		return vxlanTunnel{
			Instance: anyInstance, SrcAddress: src, DstAddress: dst, DecapNextIndex: anyNext,
			McastSwIfIndex: multicast(r, "vxlan-multicast-interface-exists", "vxlan.multicast", l.GetMulticast(), dst, i),
			EncapVrfID:     r.TableAs("vrf-table-for-vxlan-exists", i.GetVrf(), src),
			Vni:            l.GetVni(),
		}
	},
	describe: func(i *interfaces.Interface, t vxlanTunnel, known about) {
		i.Type, i.Vrf, i.Link = interfaces.Interface_VXLAN_TUNNEL, t.EncapVrfID, &interfaces.Interface_Vxlan{Vxlan: &interfaces.VxlanLink{
			SrcAddress: item.Addr(t.SrcAddress), DstAddress: item.Addr(t.DstAddress), Vni: t.Vni, Multicast: known.names(t.McastSwIfIndex),
		}}
	},
	chosen: func(p *vxlanTunnel, found vxlanTunnel) {
		p.IsAdd, p.Instance, p.McastSwIfIndex = found.IsAdd, found.Instance, found.McastSwIfIndex
		p.SrcPort, p.DstPort, p.DecapNextIndex = vxlanPort, vxlanPort, vxlanDecapL2
	},
	exists: api.TUNNEL_EXIST,
	key:    []string{"vxlan.src_address", "vxlan.dst_address", "vxlan.vni", "vrf"},
}
