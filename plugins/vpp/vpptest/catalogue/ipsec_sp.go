package catalogue

import (
	"net/netip"

	"go.fd.io/govpp/api"
	ipsecapi "go.fd.io/govpp/binapi/ipsec"
	"go.fd.io/govpp/binapi/ipsec_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	ipsec "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipsec"
)

func ipsecSP() Item {
	sp := To[*ipsec.SecurityPolicy]
	return Item{
		Name: "vpp.ipsec.sp",
		Make: func() proto.Message {
			return &ipsec.SecurityPolicy{
				SpdIndex: 110, SaIndex: 20, Priority: -10, IsOutbound: true, Protocol: 6, Action: ipsec.SecurityPolicy_PROTECT,
				RemoteAddrStart: "10.2.0.0", RemoteAddrStop: "10.2.0.255", LocalAddrStart: "10.1.0.0", LocalAddrStop: "10.1.0.255",
				RemotePortStart: 80, RemotePortStop: 90, LocalPortStop: 65535,
			}
		},
		Needs:      func() []proto.Message { return []proto.Message{IpsecSPD(110), IpsecSA(20, 2001)} },
		Capability: "IPsec policy",
		Spellings:  []Change{sp(func(p *ipsec.SecurityPolicy) { p.LocalPortStop = 0 })},
		Recreates: []Change{
			sp(func(p *ipsec.SecurityPolicy) { p.Priority, p.Protocol, p.Action = 5, 0, ipsec.SecurityPolicy_DISCARD }),
			sp(func(p *ipsec.SecurityPolicy) { p.RemotePortStart, p.RemotePortStop, p.LocalPortStart = 0, 0, 1024 }),
		},
		Refusals: map[string]Change{
			"action: RESOLVE, expected BYPASS":                       sp(func(p *ipsec.SecurityPolicy) { p.Action = ipsec.SecurityPolicy_RESOLVE }),
			"protocol: 256, expected 0 to 255":                       sp(func(p *ipsec.SecurityPolicy) { p.Protocol = 256 }),
			`remote_addr_start: empty, expected an IP address`:       sp(func(p *ipsec.SecurityPolicy) { p.RemoteAddrStart = "" }),
			"remote_addr_stop: 10.1.0.0 is before remote_addr_start": sp(func(p *ipsec.SecurityPolicy) { p.RemoteAddrStop = "10.1.0.0" }),
			"local_addr_stop: 2001:db8::1, expected an address of":   sp(func(p *ipsec.SecurityPolicy) { p.LocalAddrStop = "2001:db8::1" }),
			"local_addr_start: 2001:db8::1, expected an address of":  sp(func(p *ipsec.SecurityPolicy) { p.LocalAddrStart, p.LocalAddrStop = "2001:db8::1", "2001:db8::2" }),
			"remote_port_stop: 70 is less than remote_port_start 80": sp(func(p *ipsec.SecurityPolicy) { p.RemotePortStop = 70 }),
			"local_port_start: 70000, expected 0 to 65535":           sp(func(p *ipsec.SecurityPolicy) { p.LocalPortStart = 70000 }),
		},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			p, addr := m.(*ipsec.SecurityPolicy), netip.MustParseAddr
			return &ipsecapi.IpsecSpdEntryAddDelV2{Entry: ipsec_types.IpsecSpdEntryV2{
				SpdID: p.SpdIndex, SaID: p.SaIndex, Priority: p.Priority, IsOutbound: p.IsOutbound, Protocol: uint8(p.Protocol),
				Policy:             ipsec_types.IPSEC_API_SPD_ACTION_PROTECT,
				RemoteAddressStart: ipconv.Address(addr(p.RemoteAddrStart)), RemoteAddressStop: ipconv.Address(addr(p.RemoteAddrStop)),
				LocalAddressStart: ipconv.Address(addr(p.LocalAddrStart)), LocalAddressStop: ipconv.Address(addr(p.LocalAddrStop)),
				RemotePortStart: uint16(p.RemotePortStart), RemotePortStop: uint16(p.RemotePortStop), LocalPortStop: uint16(p.LocalPortStop),
			}}, &ipsecapi.IpsecSpdEntryAddDelV2Reply{}
		},
		Without: map[string]string{
			"Updates": "VPP has no request that changes a policy", "Conflicts": "VPP has any number of policies, also equal ones",
		},
	}
}
