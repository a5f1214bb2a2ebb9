package catalogue

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	spanapi "go.fd.io/govpp/binapi/span"
	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

func span() Item {
	return Item{
		Name: "vpp.span",
		Make: func() proto.Message {
			return &interfaces.Span{InterfaceFrom: "mirrored", InterfaceTo: "mirror", Direction: interfaces.Span_BOTH}
		},
		Needs:      func() []proto.Message { return []proto.Message{Loopback("mirrored"), Loopback("mirror")} },
		Capability: "SPAN",
		Recreates: []Change{
			To(func(s *interfaces.Span) { s.Direction = interfaces.Span_TX }),
			To(func(s *interfaces.Span) { s.Direction, s.IsL2 = interfaces.Span_RX, true }),
		},
		Refusals: map[string]Change{
			"interface_from: empty":                              To(func(s *interfaces.Span) { s.InterfaceFrom = "" }),
			"interface_to: empty":                                To(func(s *interfaces.Span) { s.InterfaceTo = "" }),
			`interface_to: "mirrored" is the mirrored interface`: To(func(s *interfaces.Span) { s.InterfaceTo = "mirrored" }),
			"direction: UNKNOWN, expected RX, TX or BOTH":        To(func(s *interfaces.Span) { s.Direction = interfaces.Span_UNKNOWN }),
			"direction: 9, expected":                             To(func(s *interfaces.Span) { s.Direction = 9 }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			s := m.(*interfaces.Span)
			return &spanapi.SwInterfaceSpanEnableDisable{
				SwIfIndexFrom: interface_types.InterfaceIndex(index(s.InterfaceFrom)), SwIfIndexTo: interface_types.InterfaceIndex(index(s.InterfaceTo)),
			}, &spanapi.SwInterfaceSpanEnableDisableReply{}
		},
		Without: map[string]string{
			"Spellings": "names have none", "Updates": "the direction is all there is",
			"Conflicts": "the interfaces are the key",
		},
	}
}
