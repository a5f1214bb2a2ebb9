package catalogue

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	ipsecapi "go.fd.io/govpp/binapi/ipsec"
	"google.golang.org/protobuf/proto"

	ipsec "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipsec"
)

// IpsecTunnelProtection protects a tunnel to one peer.
func IpsecTunnelProtection(iface string, out uint32, in ...uint32) *ipsec.TunnelProtection {
	return &ipsec.TunnelProtection{Interface: iface, SaOut: []uint32{out}, SaIn: in}
}

func ipsecTunnelProtection() Item {
	protection := To[*ipsec.TunnelProtection]
	return Item{
		Name: "vpp.ipsec.tun-protect",
		Make: func() proto.Message { return IpsecTunnelProtection("protected", 31, 32, 33) },
		Needs: func() []proto.Message {
			return []proto.Message{Ipip("protected", "192.0.2.31", "192.0.2.32"), IpsecSA(31, 3001), IpsecSA(32, 3002), IpsecSA(33, 3003)}
		},
		Capability: "IPsec tunnel protection",
		Spellings:  []Change{protection(func(p *ipsec.TunnelProtection) { p.SaIn = []uint32{33, 32} })},
		Updates:    []Change{protection(func(p *ipsec.TunnelProtection) { p.SaOut, p.SaIn = []uint32{33}, []uint32{32} })},
		Recreates:  []Change{protection(func(p *ipsec.TunnelProtection) { p.NextHopAddr = "10.3.3.3" })},
		Refusals: map[string]Change{
			"interface: empty":                       protection(func(p *ipsec.TunnelProtection) { p.Interface, p.NextHopAddr = "", "10.3.3.3" }),
			"sa_out: empty, expected one":            protection(func(p *ipsec.TunnelProtection) { p.SaOut = nil }),
			"sa_out: 2 associations, expected one":   protection(func(p *ipsec.TunnelProtection) { p.SaOut = []uint32{31, 33} }),
			"sa_in: empty, expected 1 to 4":          protection(func(p *ipsec.TunnelProtection) { p.SaIn = nil }),
			"sa_in: 5 associations, expected 1 to 4": protection(func(p *ipsec.TunnelProtection) { p.SaIn = []uint32{1, 2, 3, 4, 5} }),
			"sa_in[1]: 32 is listed twice":           protection(func(p *ipsec.TunnelProtection) { p.SaIn = []uint32{32, 32} }),
			`next_hop_addr: "x": expected an IP`:     protection(func(p *ipsec.TunnelProtection) { p.NextHopAddr = "x" }),
			"next_hop_addr: 224.0.0.1, expected the": protection(func(p *ipsec.TunnelProtection) { p.NextHopAddr = "224.0.0.1" }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &ipsecapi.IpsecTunnelProtectDel{
				SwIfIndex: interface_types.InterfaceIndex(index(m.(*ipsec.TunnelProtection).Interface)),
			}, &ipsecapi.IpsecTunnelProtectDelReply{}
		},
		Without: map[string]string{"Conflicts": "interface and next hop are the key"},
	}
}
