package catalogue

import (
	"go.fd.io/govpp/api"
	l2api "go.fd.io/govpp/binapi/l2"
	"google.golang.org/protobuf/proto"

	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

// BridgeDomain is a bridge domain that learns, floods and forwards.
func BridgeDomain(name string, members ...string) *l2.BridgeDomain {
	bd := &l2.BridgeDomain{Name: name, Flood: true, UnknownUnicastFlood: true, Forward: true, Learn: true}
	for _, m := range members {
		bd.Interfaces = append(bd.Interfaces, &l2.BridgeDomain_Interface{Name: m})
	}
	return bd
}

func bridgeDomain() Item {
	entry := func(addr, mac string) []*l2.BridgeDomain_ArpTerminationEntry {
		return []*l2.BridgeDomain_ArpTerminationEntry{{IpAddress: addr, PhysAddress: mac}}
	}
	return Item{
		Name: "vpp.l2.bridge-domain",
		Make: func() proto.Message {
			bd := BridgeDomain("bd2")
			bd.ArpTermination, bd.MacAge, bd.ArpTerminationTable = true, 5, entry("2001:db8::1", "02:00:00:00:00:0a")
			return bd
		},
		Capability: "bridge domain",
		Spellings:  []Change{To(func(bd *l2.BridgeDomain) { bd.ArpTerminationTable = entry("2001:DB8:0::1", "02:00:00:00:00:0A") })},
		Updates: []Change{
			To(func(bd *l2.BridgeDomain) { bd.Learn, bd.Flood, bd.MacAge = false, false, 0 }),
			To(func(bd *l2.BridgeDomain) { bd.ArpTerminationTable = entry("10.0.0.2", "02:00:00:00:00:02") }),
		},
		Refusals: map[string]Change{
			"mac_age: 300, expected 0 to 255":              To(func(bd *l2.BridgeDomain) { bd.MacAge = 300 }),
			`interfaces[1].name: "member" is listed twice`: To(func(bd *l2.BridgeDomain) { bd.Interfaces = BridgeDomain("", "member", "member").Interfaces }),
			`interfaces[1].bridged_virtual_interface: "a" is the BVI already`: To(func(bd *l2.BridgeDomain) {
				bd.Interfaces = BridgeDomain("", "a", "b").Interfaces
				bd.Interfaces[0].BridgedVirtualInterface, bd.Interfaces[1].BridgedVirtualInterface = true, true
			}),
		},
		ByHand: func(func(string) uint32, proto.Message) (api.Message, api.Message) {
			return &l2api.BridgeDomainAddDel{BdID: 1}, &l2api.BridgeDomainAddDelReply{} // the first one
		},
		Without: map[string]string{
			"Needs": "members are a part", "Recreates": "VPP changes everything but the name", "Conflicts": "the members have them",
		},
	}
}

func bridgeMember() Item {
	return Item{
		Name: "vpp.l2.bridge-domain: interfaces", Part: "vpp/bd/bd3/interface/bridged",
		Make:       func() proto.Message { return BridgeDomain("bd3", "bridged") },
		Needs:      func() []proto.Message { return []proto.Message{Loopback("bridged")} },
		Capability: "bridge domain: interfaces",
		Conflicts: []Conflict{{
			First: BridgeDomain("bd4", "bridged"), Second: BridgeDomain("bd5", "bridged"), Part: "vpp/bd/bd5/interface/bridged",
			Says: `interfaces.name: "bridged": is in bridge domain "bd4" (number 1) already`,
		}},
	}
}
