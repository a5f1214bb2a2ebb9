package catalogue

import (
	"go.fd.io/govpp/api"
	interfacesapi "go.fd.io/govpp/binapi/interface"
	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// SubInterface is a sub-interface that is up.
func SubInterface(name, parent string, vlan uint32) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_SUB_INTERFACE, Enabled: true,
		Link: &interfaces.Interface_Sub{Sub: &interfaces.SubInterface{ParentName: parent, SubId: vlan}},
	}
}

// subLink changes the link of the exemplar.
func subLink(change func(l *interfaces.SubInterface)) Change {
	return iface(func(i *interfaces.Interface) { change(i.GetSub()) })
}

func subInterface() Item {
	return ofInterface(Item{
		Make: func() proto.Message {
			i := SubInterface("parent.100", "parent", 100)
			i.IpAddresses = []string{"10.13.1.1/24"}
			return i
		},
		Needs:      func() []proto.Message { return []proto.Message{Loopback("parent")} },
		Capability: "interface SUB_INTERFACE",
		Spellings:  []Change{subLink(func(l *interfaces.SubInterface) { l.Tag1 = 9 })}, // that nothing puts on
		Recreates:  []Change{subLink(func(l *interfaces.SubInterface) { l.SubId = 200 })},
		Refusals: map[string]Change{
			"sub.sub_id: 5000, expected 1 to 4095":             subLink(func(l *interfaces.SubInterface) { l.SubId = 5000 }),
			"sub.sub_id: 0":                                    subLink(func(l *interfaces.SubInterface) { l.SubId = 0 }),
			"sub.parent_name: empty":                           subLink(func(l *interfaces.SubInterface) { l.ParentName = "" }),
			"sub.parent_name: is the interface itself":         subLink(func(l *interfaces.SubInterface) { l.ParentName = "parent.100" }),
			"phys_address: a sub-interface has no MAC address": iface(func(i *interfaces.Interface) { i.PhysAddress = "02:00:00:00:00:01" }),
		},
		Conflicts: []Conflict{{
			First: SubInterface("sub1", "parent", 5), Second: SubInterface("sub2", "parent", 5),
			Says: `create SUB_INTERFACE: sub.parent_name, sub.sub_id: "parent", 5: VPP has it already, as interface "sub1" (loop0.5): create_vlan_subif: `,
		}},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &interfacesapi.DeleteSubif{SwIfIndex: of(index, m)}, &interfacesapi.DeleteSubifReply{}
		},
	})
}

func tagRewrite() Item {
	i := subInterface()
	i.Name, i.Capability = "vpp.interfaces SUB_INTERFACE: tag rewrite", "interface SUB_INTERFACE: tag rewrite"
	i.Make = func() proto.Message {
		m := SubInterface("parent.7", "parent", 7)
		m.GetSub().TagRwOption = interfaces.SubInterface_POP1
		return m
	}
	i.Updates = []Change{
		subLink(func(l *interfaces.SubInterface) { l.TagRwOption, l.Tag1 = interfaces.SubInterface_PUSH1, 5 }),
		subLink(func(l *interfaces.SubInterface) {
			l.TagRwOption, l.PushDot1Q, l.Tag1, l.Tag2 = interfaces.SubInterface_TRANSLATE12, true, 7, 8
		}),
		subLink(func(l *interfaces.SubInterface) { l.TagRwOption = interfaces.SubInterface_DISABLED }),
	}
	i.Refusals = map[string]Change{
		"sub.tag_rw_option: 99 is unknown":         subLink(func(l *interfaces.SubInterface) { l.TagRwOption = 99 }),
		"sub.tag_rw_option: POP2 takes off 2 tags": subLink(func(l *interfaces.SubInterface) { l.TagRwOption = interfaces.SubInterface_POP2 }),
		"sub.tag2: 4096, expected at most 4095": subLink(func(l *interfaces.SubInterface) {
			l.TagRwOption, l.Tag2 = interfaces.SubInterface_PUSH2, 4096
		}),
	}
	i.Conflicts, i.Without = nil, map[string]string{"Conflicts": "the sub-interface has them"}
	return i
}
