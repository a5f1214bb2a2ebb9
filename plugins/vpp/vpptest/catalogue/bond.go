package catalogue

import (
	"go.fd.io/govpp/api"
	bondapi "go.fd.io/govpp/binapi/bond"
	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Bond is a bond that is up.
func Bond(name string, id uint32, members ...string) *interfaces.Interface {
	l := &interfaces.BondLink{Id: id, Mode: interfaces.BondLink_XOR, Lb: interfaces.BondLink_L34}
	for _, m := range members {
		l.BondedInterfaces = append(l.BondedInterfaces, &interfaces.BondLink_BondedInterface{Name: m})
	}
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_BOND_INTERFACE, Enabled: true, Link: &interfaces.Interface_Bond{Bond: l},
	}
}

func bond() Item {
	link := func(change func(l *interfaces.BondLink)) Change {
		return iface(func(i *interfaces.Interface) { change(i.GetBond()) })
	}
	members := func(names ...string) Change {
		return link(func(l *interfaces.BondLink) { l.BondedInterfaces = Bond("", 0, names...).GetBond().BondedInterfaces })
	}
	return ofInterface(Item{
		Make: func() proto.Message {
			i := Bond("bond1", 3)
			i.PhysAddress, i.IpAddresses = "02:00:00:00:00:03", []string{"10.14.1.1/24"}
			return i
		},
		Capability: "interface BOND_INTERFACE",
		Recreates: []Change{
			link(func(l *interfaces.BondLink) { l.Mode = interfaces.BondLink_LACP }), link(func(l *interfaces.BondLink) { l.Id = 4 }),
		},
		Refusals: map[string]Change{
			"bond.mode: UNKNOWN, expected":                                  link(func(l *interfaces.BondLink) { l.Mode = 0 }),
			"bond.mode: 99, expected":                                       link(func(l *interfaces.BondLink) { l.Mode = 99 }),
			"bond.lb: RR, expected L2, L34 or L23 in mode XOR":              link(func(l *interfaces.BondLink) { l.Lb = interfaces.BondLink_RR }),
			"bond.bonded_interfaces[1].name: \"one\" is listed twice":       members("one", "one"),
			"bond.bonded_interfaces[1].name: empty":                         members("one", ""),
			"bond.bonded_interfaces[0].name: is the bond itself":            members("bond1"),
			"link: is MemifLink, expected BondLink for type BOND_INTERFACE": iface(func(i *interfaces.Interface) { i.Link = Memif("x", 1, "").Link }),
		},
		Conflicts: []Conflict{{
			First: Bond("bond3", 5), Second: Bond("bond4", 5),
			Says: `create BOND_INTERFACE: bond.id: 5: VPP has it already, as interface "bond3" (BondEthernet5): bond_create2: `,
		}},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &bondapi.BondDelete{SwIfIndex: of(index, m)}, &bondapi.BondDeleteReply{}
		},
		Without: map[string]string{
			"Needs": "members are a part", "Spellings": "numbers and MAC addresses of the bond have none",
		},
	})
}

func bondMember() Item {
	return ofInterface(Item{
		Name: ": members", Part: "vpp/bond/bond2/interface/member/",
		Make:       func() proto.Message { return Bond("bond2", 2, "member") },
		Needs:      func() []proto.Message { return []proto.Message{Loopback("member")} },
		Capability: "interface BOND_INTERFACE: members",
		Conflicts: []Conflict{{
			First: Bond("bond3", 3, "member"), Second: Bond("bond4", 4, "member"), Part: "vpp/bond/bond4/interface/member/",
			Says: `bond.bonded_interfaces.name: "member": is in bond "bond3" (ID 3) already: `,
		}},
	})
}
