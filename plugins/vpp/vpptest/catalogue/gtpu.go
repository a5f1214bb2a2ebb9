//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be understood or refused

package catalogue

import (
	"net/netip"

	"go.fd.io/govpp/api"
	gtpuapi "go.fd.io/govpp/binapi/gtpu"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Gtpu is a GTP-U tunnel that is up.
func Gtpu(name, src, dst string, teid uint32) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_GTPU_TUNNEL, Enabled: true,
		Link: &interfaces.Interface_Gtpu{Gtpu: &interfaces.GtpuLink{SrcAddr: src, DstAddr: dst, Teid: teid}},
	}
}

func gtpu() Item {
	link := func(change func(l *interfaces.GtpuLink)) Change {
		return iface(func(i *interfaces.Interface) { change(i.GetGtpu()) })
	}
	return ofInterface(Item{
		Make:       func() proto.Message { return Gtpu("gtpu1", "192.0.2.1", "192.0.2.2", 10) },
		Capability: "interface GTPU_TUNNEL",
		Spellings:  []Change{link(func(l *interfaces.GtpuLink) { l.RemoteTeid, l.DecapNextNode = 10, 1 })},
		Recreates: []Change{
			link(func(l *interfaces.GtpuLink) { l.RemoteTeid, l.DecapNext = 11, interfaces.GtpuLink_IP4 }),
			link(func(l *interfaces.GtpuLink) { l.Teid = 11 }),
		},
		Refusals: map[string]Change{
			"gtpu.src_addr: empty":  link(func(l *interfaces.GtpuLink) { l.SrcAddr = "" }),
			"gtpu.multicast: empty": link(func(l *interfaces.GtpuLink) { l.DstAddr = "239.0.0.1" }),
			"gtpu.decap_next: 9":    link(func(l *interfaces.GtpuLink) { l.DecapNext = 9 }),
			"gtpu.decap_next_node: 3, but decap_next is IP4": link(func(l *interfaces.GtpuLink) {
				l.DecapNext, l.DecapNextNode = interfaces.GtpuLink_IP4, 3
			}),
		},
		Conflicts: []Conflict{{
			First: Gtpu("gtpu2", "192.0.2.1", "192.0.2.2", 1), Second: Gtpu("gtpu3", "192.0.2.3", "192.0.2.2", 1),
			Says: `create GTPU_TUNNEL: gtpu.dst_addr, gtpu.teid: 192.0.2.2, 1: VPP has it already, as interface "gtpu2" (gtpu_tunnel0): `,
		}},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			l := m.(*interfaces.Interface).GetGtpu()
			return &gtpuapi.GtpuAddDelTunnel{
				SrcAddress: ipconv.Address(netip.MustParseAddr(l.SrcAddr)), DstAddress: ipconv.Address(netip.MustParseAddr(l.DstAddr)),
				Teid: l.Teid, McastSwIfIndex: noIndex,
			}, &gtpuapi.GtpuAddDelTunnelReply{}
		},
		Without: map[string]string{"Needs": "the addresses of the tunnel need not exist"},
	})
}
