package descriptor

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/vxlan"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

type vxlanTunnel = vxlan.VxlanAddDelTunnelV3

// A VXLAN tunnel carries Ethernet frames in UDP to another end, or to all members
// of a multicast group, which an interface is then named for. It is known by its
// ends, the number of the network and the VRF table, which is that of the
// interface. VPP creates it up.
var vxlanTunnels = linkSpec[vxlanTunnel]{
	op:     declareLinks("interface VXLAN_TUNNEL", "vxlan", linkCalls[vxlanTunnel]{setVxlan, dumpVxlan}),
	device: "VXLAN",
	facts: traits{
		macInPlace: true, macAfter: true, packetMTU: true, startsUp: true, keepsTag: true,
		link: func() proto.Message { return &interfaces.VxlanLink{} },
		noMAC: func(i *interfaces.Interface) string {
			if isGpe(i) {
				return "a VXLAN-GPE tunnel"
			}
			return ""
		},
	},
	valid: func(i *interfaces.Interface) []error {
		return append(vxlanEnds(i).check(), atMost("vxlan.vni", i.GetVxlan().GetVni(), 1<<24-1),
			checkGroup(i, "vxlan.multicast", vxlanEnds(i).dst, vxlanGroup(i)))
	},
	needs: func(i *interfaces.Interface) []kvs.Dependency {
		return append(groupInterface("vxlan-multicast-interface-exists", vxlanGroup(i)),
			vrfExists("vrf-table-for-vxlan-exists", i.GetVrf(), isIPv6(vxlanEnds(i).src))...)
	},
	group: vxlanGroup,
	params: func(i *interfaces.Interface, group ifIndex) (vxlanTunnel, error) {
		src, dst, err := vxlanEnds(i).parse()
		return vxlanTunnel{
			Instance: anyInstance, SrcAddress: src, DstAddress: dst, McastSwIfIndex: group,
			EncapVrfID: i.GetVrf(), DecapNextIndex: anyNext, Vni: i.GetVxlan().GetVni(),
		}, err
	},
	describe: func(i *interfaces.Interface, t vxlanTunnel, _ *interfaces.Interface, names func(ifIndex) string) {
		i.Type, i.Vrf, i.Link = interfaces.Interface_VXLAN_TUNNEL, t.EncapVrfID, &interfaces.Interface_Vxlan{Vxlan: &interfaces.VxlanLink{
			SrcAddress: addressText(t.SrcAddress), DstAddress: addressText(t.DstAddress), Vni: t.Vni, Multicast: names(t.McastSwIfIndex),
		}}
	},
	exists: api.TUNNEL_EXIST,
	taken: func(a, b vxlanTunnel) bool {
		return a.SrcAddress == b.SrcAddress && a.DstAddress == b.DstAddress && a.Vni == b.Vni && a.EncapVrfID == b.EncapVrfID
	},
	fields: vxlanFields,
}

func vxlanEnds(i *interfaces.Interface) ends {
	return ends{"vxlan.src_address", i.GetVxlan().GetSrcAddress(), "vxlan.dst_address", i.GetVxlan().GetDstAddress()}
}

func vxlanGroup(i *interfaces.Interface) string { return i.GetVxlan().GetMulticast() }

func vxlanFields(i *interfaces.Interface) []field {
	return vxlanEnds(i).fields(field{"vxlan.vni", i.GetVxlan().GetVni()}, field{"vrf", i.GetVrf()})
}

func setVxlan(add bool, t vxlanTunnel) (req, reply api.Message, swIfIndex *ifIndex) {
	done := &vxlan.VxlanAddDelTunnelV3Reply{}
	t.IsAdd = add
	return &t, done, &done.SwIfIndex
}

var dumpVxlan = dumpOf(func(which ifIndex) api.Message { return &vxlan.VxlanTunnelV2Dump{SwIfIndex: which} },
	func(d *vxlan.VxlanTunnelV2Details) (ifIndex, vxlanTunnel) {
		return d.SwIfIndex, vxlanTunnel{
			Instance: anyInstance, SrcAddress: plain(d.SrcAddress), DstAddress: plain(d.DstAddress), SrcPort: d.SrcPort, DstPort: d.DstPort,
			McastSwIfIndex: d.McastSwIfIndex, EncapVrfID: d.EncapVrfID, DecapNextIndex: anyNext, Vni: d.Vni,
		}
	})
