package catalogue

import (
	"net/netip"

	"go.fd.io/govpp/api"
	greapi "go.fd.io/govpp/binapi/gre"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Gre is a GRE tunnel that is up.
func Gre(name, src, dst string, t interfaces.GreLink_Type) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_GRE_TUNNEL, Enabled: true,
		Link: &interfaces.Interface_Gre{Gre: &interfaces.GreLink{TunnelType: t, SrcAddr: src, DstAddr: dst}},
	}
}

func gre() Item {
	link := func(change func(l *interfaces.GreLink)) Change {
		return iface(func(i *interfaces.Interface) { change(i.GetGre()) })
	}
	return ofInterface(Item{
		Make: func() proto.Message {
			i := Gre("gre1", "2001:db8::1", "2001:db8::2", interfaces.GreLink_L3)
			i.IpAddresses = []string{"10.15.1.1/24"}
			return i
		},
		Capability: "interface GRE_TUNNEL",
		Spellings:  []Change{link(func(l *interfaces.GreLink) { l.DstAddr = "2001:DB8:0::2" })},
		Recreates: []Change{
			link(func(l *interfaces.GreLink) { l.TunnelType, l.SessionId = interfaces.GreLink_ERSPAN, 7 }),
			link(func(l *interfaces.GreLink) { l.DstAddr = "2001:db8::3" }),
		},
		Refusals: map[string]Change{
			"gre.tunnel_type: UNKNOWN":  link(func(l *interfaces.GreLink) { l.TunnelType = 0 }),
			"gre.src_addr: empty":       link(func(l *interfaces.GreLink) { l.SrcAddr = "" }),
			"gre.dst_addr: \"192.0.2\"": link(func(l *interfaces.GreLink) { l.DstAddr = "192.0.2" }),
			"gre.session_id: 1024": link(func(l *interfaces.GreLink) {
				l.TunnelType, l.SessionId = interfaces.GreLink_ERSPAN, 1024
			}),
			"gre.session_id: 1, expected 0 for type TEB": link(func(l *interfaces.GreLink) {
				l.TunnelType, l.SessionId = interfaces.GreLink_TEB, 1
			}),
			"phys_address: a GRE tunnel of type L3": iface(func(i *interfaces.Interface) { i.PhysAddress = "02:00:00:00:00:01" }),
		},
		Conflicts: []Conflict{{
			First:  Gre("gre2", "192.0.2.1", "192.0.2.2", interfaces.GreLink_TEB),
			Second: Gre("gre3", "192.0.2.1", "192.0.2.2", interfaces.GreLink_TEB),
			Says: `create GRE_TUNNEL: gre.src_addr, gre.dst_addr, gre.tunnel_type, gre.outer_fib_id, gre.session_id: ` +
				`192.0.2.1, 192.0.2.2, TEB, 0, 0: VPP has it already, as interface "gre2" (gre0): `,
		}},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			l := m.(*interfaces.Interface).GetGre()
			return &greapi.GreTunnelAddDel{Tunnel: greapi.GreTunnel{
				Src: ipconv.Address(netip.MustParseAddr(l.SrcAddr)), Dst: ipconv.Address(netip.MustParseAddr(l.DstAddr)),
			}}, &greapi.GreTunnelAddDelReply{}
		},
		Without: map[string]string{"Needs": "the addresses of the tunnel need not exist"},
	})
}
