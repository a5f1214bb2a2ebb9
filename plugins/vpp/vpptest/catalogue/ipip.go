package catalogue

import (
	"go.fd.io/govpp/api"
	ipipapi "go.fd.io/govpp/binapi/ipip"
	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// Ipip is an IPIP tunnel that is up, to any destination if dst is empty.
func Ipip(name, src, dst string) *interfaces.Interface {
	l := &interfaces.IPIPLink{SrcAddr: src, DstAddr: dst}
	if dst == "" {
		l.TunnelMode = interfaces.IPIPLink_POINT_TO_MULTIPOINT
	}
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_IPIP_TUNNEL, Enabled: true, Link: &interfaces.Interface_Ipip{Ipip: l},
	}
}

func ipip() Item {
	link := func(change func(l *interfaces.IPIPLink)) Change {
		return iface(func(i *interfaces.Interface) { change(i.GetIpip()) })
	}
	return ofInterface(Item{
		Make: func() proto.Message {
			i := Ipip("ipip1", "192.0.2.1", "192.0.2.2")
			i.IpAddresses, i.Vrf = []string{"10.16.1.1/24"}, 7
			return i
		},
		Needs:      func() []proto.Message { return []proto.Message{&l3.VrfTable{Id: 7}} },
		Capability: "interface IPIP_TUNNEL",
		Spellings:  []Change{link(func(l *interfaces.IPIPLink) { l.DstAddr = "::ffff:192.0.2.2" })},
		Recreates: []Change{
			iface(func(i *interfaces.Interface) { i.Link = Ipip("", "192.0.2.3", "").Link }),
			link(func(l *interfaces.IPIPLink) { l.DstAddr = "192.0.2.3" }),
		},
		Refusals: map[string]Change{
			"ipip.src_addr: empty": link(func(l *interfaces.IPIPLink) { l.SrcAddr = "" }),
			"ipip.dst_addr: empty": link(func(l *interfaces.IPIPLink) { l.DstAddr = "" }),
			"ipip.tunnel_mode: 9":  link(func(l *interfaces.IPIPLink) { l.TunnelMode = 9 }),
			"ipip.dst_addr: 192.0.2.2, expected none": link(func(l *interfaces.IPIPLink) {
				l.TunnelMode = interfaces.IPIPLink_POINT_TO_MULTIPOINT
			}),
		},
		Conflicts: []Conflict{{
			First: Ipip("ipip2", "192.0.2.1", "192.0.2.2"), Second: Ipip("ipip3", "192.0.2.1", "192.0.2.2"),
			Says: `create IPIP_TUNNEL: ipip.src_addr, ipip.dst_addr, vrf: 192.0.2.1, 192.0.2.2, 0: ` +
				`VPP has it already, as interface "ipip2" (ipip0): `,
		}},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &ipipapi.IpipDelTunnel{SwIfIndex: of(index, m)}, &ipipapi.IpipDelTunnelReply{}
		},
	})
}
