package catalogue

import (
	"strings"

	"go.fd.io/govpp/api"
	classifyapi "go.fd.io/govpp/binapi/classify"
	"go.fd.io/govpp/binapi/interface_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	classify "github.com/tenuto-dev/tenuto/proto/ligato/vpp/classify"
)

// destinationMask selects the destination address of an IPv4 header.
const destinationMask = "00000000000000000000000000000000ffffffff"

// ClassifyTable is a table that compares the destination address of IPv4.
func ClassifyTable(name string) *classify.Table {
	return &classify.Table{Name: name, Mask: destinationMask, CurrentData: true}
}

// frameDestinationMask selects the last byte of the destination address of IPv4, from the Ethernet header on.
const frameDestinationMask = "000000000000000000000000000000000000000000000000000000000000000000ff"

// ClassifyPolicers is a table for policers that compares the last byte of the destination address of IPv4.
func ClassifyPolicers(name string) *classify.Table {
	return &classify.Table{Name: name, Mask: frameDestinationMask, Use: classify.Table_POLICER}
}

// ClassifyFlows is a table for flows, which the last byte of the destination address of IPv4 distinguishes.
func ClassifyFlows(name string) *classify.Table {
	return &classify.Table{Name: name, Mask: frameDestinationMask, Use: classify.Table_FLOW}
}

func classifyTable() Item {
	return Item{
		Name: "vpp.classify.table",
		Make: func() proto.Message {
			return &classify.Table{
				Name: "sources", Mask: "00ff", Skip: 1, Miss: classify.Next_DENY, MaxSessions: 2048,
				CurrentData: true, CurrentDataOffset: -14,
			}
		},
		Capability: "classifier table",
		Spellings: []Change{
			To(func(t *classify.Table) { t.Mask = "00ff" + strings.Repeat("00", 14) }),
			To(func(t *classify.Table) { t.MaxSessions = 1025 }),
		},
		Recreates: []Change{
			To(func(t *classify.Table) { t.Mask = "00f0" }),
			To(func(t *classify.Table) { t.Mask = strings.Repeat("00", 20) + "ff" }),
			To(func(t *classify.Table) { t.Skip = 0 }),
			To(func(t *classify.Table) { t.Miss = classify.Next_CONTINUE }),
			To(func(t *classify.Table) { t.MaxSessions = 0 }),
			To(func(t *classify.Table) { t.CurrentData, t.CurrentDataOffset = false, 0 }),
			To(func(t *classify.Table) { t.CurrentData, t.CurrentDataOffset, t.Use = false, 0, classify.Table_POLICER }),
			classifyFlows(func(*classify.Table) {}),
		},
		Refusals: map[string]Change{
			`mask: "00f", expected pairs of hexade`: To(func(t *classify.Table) { t.Mask = "00f" }),
			`mask: "00FF", expected pairs of hexad`: To(func(t *classify.Table) { t.Mask = "00FF" }),
			"mask: empty, expected 1 to 80":         To(func(t *classify.Table) { t.Mask = "" }),
			"mask: has 81 bytes, expected 1 to 80":  To(func(t *classify.Table) { t.Mask = strings.Repeat("00", 81) }),
			"skip: 17, expected 0 to 16":            To(func(t *classify.Table) { t.Skip = 17 }),
			"max_sessions: 1048577, expected 0 to ": To(func(t *classify.Table) { t.MaxSessions = 1<<20 + 1 }),
			"miss: 2, expected CONTINUE, DENY":      To(func(t *classify.Table) { t.Miss = 2 }),
			"next_table: is the table itself":       To(func(t *classify.Table) { t.NextTable = "sources" }),
			"current_data_offset: -257, expected -": To(func(t *classify.Table) { t.CurrentDataOffset = -257 }),
			"current_data_offset: -14, expected 0 ": To(func(t *classify.Table) { t.CurrentData = false }),
			"use: 3, expected ACL, POLICER, FLOW":   To(func(t *classify.Table) { t.Use = 3 }),
			"current_data: true, expected false: V": To(func(t *classify.Table) { t.Use = classify.Table_POLICER }),
			`next_table: "others", expected none: `: classifyFlows(func(t *classify.Table) { t.NextTable = "others" }),
			"miss: DENY, expected CONTINUE: VPP ad": classifyFlows(func(t *classify.Table) { t.Miss = classify.Next_DENY }),
			"mask: has 12 set bits, expected at mo": classifyFlows(func(t *classify.Table) { t.Mask = "0fff" }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &classifyapi.ClassifyAddDelTable{TableIndex: index(m.(*classify.Table).Name)}, &classifyapi.ClassifyAddDelTableReply{}
		},
		Without: map[string]string{
			"Needs":     "a table needs nothing but its next one, which is a table too: TestClassifierAfterRestart",
			"Updates":   "VPP changes the next table alone: TestClassifierAfterRestart",
			"Conflicts": "the name is the key, and VPP has equal tables as often as it is asked to",
		},
	}
}

// classifyFlows makes a table one for flows, with room for 11 bits.
func classifyFlows(change func(*classify.Table)) Change {
	return To(func(t *classify.Table) {
		t.CurrentData, t.CurrentDataOffset, t.Miss, t.Use = false, 0, classify.Next_CONTINUE, classify.Table_FLOW
		change(t)
	})
}

// classifyPoliced gives a session a policer.
func classifyPoliced(change func(*classify.Session)) Change {
	return To(func(s *classify.Session) {
		s.Next, s.Opaque, s.Advance, s.Policer = classify.Next_CONTINUE, 0, 0, "gold"
		change(s)
	})
}

func classifySession() Item {
	return Item{
		Name: "vpp.classify.session",
		Make: func() proto.Message {
			return &classify.Session{
				Table: "others", Match: strings.Repeat("00", 16) + "c0000201", Next: classify.Next_DENY, Opaque: 7, Advance: -4,
			}
		},
		Needs:      func() []proto.Message { return []proto.Message{ClassifyTable("others")} },
		Capability: "classifier session",
		Recreates: []Change{
			To(func(s *classify.Session) { s.Next = classify.Next_CONTINUE }),
			To(func(s *classify.Session) { s.Opaque, s.Advance = 0, 0 }),
			To(func(s *classify.Session) { s.Action = classify.Session_IP4_VRF }),
			To(func(s *classify.Session) { s.Match = strings.Repeat("00", 16) + "c0000202" }),
		},
		Refusals: map[string]Change{
			`match: "c", expected pairs of hexadec`: To(func(s *classify.Session) { s.Match = "c" }),
			"match: has 81 bytes, expected 1 to 80": To(func(s *classify.Session) { s.Match = strings.Repeat("00", 81) }),
			"next: 2, expected CONTINUE, DENY":      To(func(s *classify.Session) { s.Next = 2 }),
			"action: 3, expected NONE, IP4_VRF, IP": To(func(s *classify.Session) { s.Action = 3 }),
			"vrf_id: 7, expected 0 without an acti": To(func(s *classify.Session) { s.VrfId = 7 }),
			"next: DENY, expected CONTINUE: the po": classifyPoliced(func(s *classify.Session) { s.Next = classify.Next_DENY }),
			"action: IP4_VRF, expected NONE with a": classifyPoliced(func(s *classify.Session) { s.Action = classify.Session_IP4_VRF }),
			"advance: -4, expected 0 with a police": classifyPoliced(func(s *classify.Session) { s.Advance = -4 }),
			"opaque: 3, expected 0 to 2":            classifyPoliced(func(s *classify.Session) { s.Opaque = 3 }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			match := make([]byte, 32)
			copy(match[16:], []byte{192, 0, 2, 1})
			return &classifyapi.ClassifyAddDelSession{TableIndex: index(m.(*classify.Session).Table), Match: match}, &classifyapi.ClassifyAddDelSessionReply{}
		},
		Without: map[string]string{
			"Updates":   "VPP would keep VRF tables of former actions",
			"Spellings": "another spelling of the match is another key", "Conflicts": "table and match are the key",
		},
	}
}

func classifyBinding() Item {
	return Item{
		Name: "vpp.classify.binding",
		Make: func() proto.Message {
			return &classify.Binding{Interface: "lo", Hook: classify.Binding_OUTPUT_ACL, Packets: classify.Binding_IP6, Table: "others"}
		},
		Needs:      func() []proto.Message { return []proto.Message{Base(), ClassifyTable("others")} },
		Capability: "classifier binding",
		Recreates: []Change{
			To(func(b *classify.Binding) { b.Hook = classify.Binding_INPUT_ACL }),
			To(func(b *classify.Binding) { b.Packets = classify.Binding_L2 }),
		},
		Refusals: map[string]Change{
			"table: empty, expected the name of a": To(func(b *classify.Binding) { b.Table = "" }),
			"hook: 4, expected INPUT_ACL, OUTPUT_": To(func(b *classify.Binding) { b.Hook = 4 }),
			"packets: L2, expected IP4 or IP6 for": To(func(b *classify.Binding) { b.Hook, b.Packets = classify.Binding_FLOW, classify.Binding_L2 }),
			"packets: 3, expected IP4, IP6, L2":    To(func(b *classify.Binding) { b.Packets = 3 }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			b := m.(*classify.Binding)
			return &classifyapi.OutputACLSetInterface{
				SwIfIndex: interface_types.InterfaceIndex(index(b.Interface)), IP4TableIndex: item.NoInterface, L2TableIndex: item.NoInterface,
				IP6TableIndex: index(b.Table),
			}, &classifyapi.OutputACLSetInterfaceReply{}
		},
		Without: map[string]string{
			"Spellings": "names have none", "Updates": "VPP ignores another table where one is used",
			"Conflicts": "interface, hook and packets are the key",
		},
	}
}
