package catalogue

import (
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/sr"
	"go.fd.io/govpp/binapi/sr_types"
	"google.golang.org/protobuf/proto"

	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
)

func srLocalSID() Item {
	sid := To[*srv6.LocalSID]
	return Item{
		Name: "vpp.srv6.localsid",
		Make: func() proto.Message {
			return &srv6.LocalSID{Sid: "2001:db8:100::1", InstallationVrfId: 7, EndFunction: endX("lo", "2001:db8::9")}
		},
		Needs: func() []proto.Message {
			return []proto.Message{Base(), &l3.VrfTable{Id: 7, Protocol: l3.VrfTable_IPV6}}
		},
		Capability: "SRv6 local SID",
		Spellings:  []Change{sid(func(s *srv6.LocalSID) { s.EndFunction = endX("lo", "2001:DB8:0::9") })},
		Recreates:  otherBehaviors(),
		Refusals:   localSIDRefusals(),
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &sr.SrLocalsidAddDel{
				IsDel: true, Localsid: netip.MustParseAddr(m.(*srv6.LocalSID).Sid).As16(), Behavior: sr_types.SR_BEHAVIOR_API_X, FibTable: 7,
				SwIfIndex: interface_types.InterfaceIndex(index("lo")),
			}, &sr.SrLocalsidAddDelReply{}
		},
		Conflicts: []Conflict{{
			First: dynamicProxy("2001:db8:100::2", "10.1.1.9"), Second: dynamicProxy("2001:db8:100::3", "10.1.1.8"),
			Says: "end_function_ad.incoming_interface: the segment 2001:db8:100::2 takes the IPv4 packets of this",
		}},
		Without: map[string]string{"Updates": "VPP has no request that changes a segment"},
	}
}

func otherBehaviors() []Change {
	sid := To[*srv6.LocalSID]
	return []Change{
		sid(func(s *srv6.LocalSID) {
			s.EndFunction = &srv6.LocalSID_BaseEndFunction{BaseEndFunction: &srv6.LocalSID_End{Psp: true}}
		}),
		sid(func(s *srv6.LocalSID) {
			s.InstallationVrfId, s.EndFunction = 0, &srv6.LocalSID_EndFunctionT{EndFunctionT: &srv6.LocalSID_EndT{VrfId: 7}}
		}),
		sid(func(s *srv6.LocalSID) {
			s.EndFunction = &srv6.LocalSID_EndFunctionDx2{EndFunctionDx2: &srv6.LocalSID_EndDX2{VlanTag: 5, OutgoingInterface: "lo"}}
		}),
		sid(func(s *srv6.LocalSID) {
			s.EndFunction = &srv6.LocalSID_EndFunctionDx4{EndFunctionDx4: &srv6.LocalSID_EndDX4{OutgoingInterface: "lo", NextHop: "10.1.1.9"}}
		}),
		sid(func(s *srv6.LocalSID) {
			s.EndFunction = &srv6.LocalSID_EndFunctionDx6{EndFunctionDx6: &srv6.LocalSID_EndDX6{OutgoingInterface: "lo", NextHop: "2001:db8::8"}}
		}),
		sid(func(s *srv6.LocalSID) {
			s.EndFunction = &srv6.LocalSID_EndFunctionDt4{EndFunctionDt4: &srv6.LocalSID_EndDT4{}}
		}),
		sid(func(s *srv6.LocalSID) {
			s.EndFunction = &srv6.LocalSID_EndFunctionDt6{EndFunctionDt6: &srv6.LocalSID_EndDT6{VrfId: 7}}
		}),
		endAD("lo", "lo", "10.1.1.9"), endAD("lo", "lo", "2001:db8::9"), endAD("lo", "lo", ""),
	}
}

func localSIDRefusals() map[string]Change {
	sid := To[*srv6.LocalSID]
	return map[string]Change{
		`sid: "10.0.0.1", expected an IPv6 address`:              sid(func(s *srv6.LocalSID) { s.Sid = "10.0.0.1" }),
		"end_function: empty":                                    sid(func(s *srv6.LocalSID) { s.EndFunction = nil }),
		"end_function_x.outgoing_interface: empty":               sid(func(s *srv6.LocalSID) { s.EndFunction = endX("", "2001:db8::9") }),
		`end_function_x.next_hop: "10.1.1.9", expected an IPv6`:  sid(func(s *srv6.LocalSID) { s.EndFunction = endX("lo", "10.1.1.9") }),
		`end_function_x.next_hop: "x", expected an IPv6 address`: sid(func(s *srv6.LocalSID) { s.EndFunction = endX("lo", "x") }),
		"end_function_ad.incoming_interface: empty":              endAD("lo", "", ""),
		"end_function_ad.outgoing_interface: empty":              endAD("", "lo", ""),
		`end_function_ad.l3_service_address: "x"`:                endAD("lo", "lo", "x"),
		`end_function_dx4.next_hop: "2001:db8::1", expected an IPv4`: sid(func(s *srv6.LocalSID) {
			s.EndFunction = &srv6.LocalSID_EndFunctionDx4{EndFunctionDx4: &srv6.LocalSID_EndDX4{OutgoingInterface: "lo", NextHop: "2001:db8::1"}}
		}),
	}
}

func dynamicProxy(sid, service string) *srv6.LocalSID {
	return &srv6.LocalSID{Sid: sid, EndFunction: &srv6.LocalSID_EndFunctionAd{EndFunctionAd: &srv6.LocalSID_EndAD{
		OutgoingInterface: "lo", IncomingInterface: "lo", L3ServiceAddress: service,
	}}}
}

// endAD makes a segment a dynamic proxy.
func endAD(out, in, address string) Change {
	return To(func(s *srv6.LocalSID) {
		s.EndFunction = &srv6.LocalSID_EndFunctionAd{EndFunctionAd: &srv6.LocalSID_EndAD{
			OutgoingInterface: out, IncomingInterface: in, L3ServiceAddress: address,
		}}
	})
}

func endX(iface, nextHop string) *srv6.LocalSID_EndFunctionX {
	return &srv6.LocalSID_EndFunctionX{EndFunctionX: &srv6.LocalSID_EndX{Psp: true, OutgoingInterface: iface, NextHop: nextHop}}
}
