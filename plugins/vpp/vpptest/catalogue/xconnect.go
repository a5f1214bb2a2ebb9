package catalogue

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	l2api "go.fd.io/govpp/binapi/l2"
	"google.golang.org/protobuf/proto"

	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

// XConnect is one direction of a cross-connect.
func XConnect(from, to string) *l2.XConnectPair {
	return &l2.XConnectPair{ReceiveInterface: from, TransmitInterface: to}
}

func xconnect() Item {
	return Item{
		Name:       "vpp.l2.xconnect",
		Make:       func() proto.Message { return XConnect("x1", "x2") },
		Needs:      func() []proto.Message { return []proto.Message{Loopback("x1"), Loopback("x2")} },
		Capability: "L2 cross-connect",
		Refusals: map[string]Change{
			"transmit_interface: ": To(func(x *l2.XConnectPair) { x.TransmitInterface = "x1" }),
		},
		Conflicts: []Conflict{{
			First: BridgeDomain("bd4", "x1"), Second: XConnect("x1", "x2"),
			Says: `receive_interface: "x1": is in bridge domain "bd4" (number 1) already`,
		}, {
			First: XConnect("x1", "x2"), Second: BridgeDomain("bd4", "x1"), Part: "vpp/bd/bd4/interface/x1",
			Says: `interfaces.name: "x1": is cross-connected to interface "x2" already`,
		}},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			x := m.(*l2.XConnectPair)
			return &l2api.SwInterfaceSetL2Xconnect{
				RxSwIfIndex: interface_types.InterfaceIndex(index(x.ReceiveInterface)), TxSwIfIndex: interface_types.InterfaceIndex(index(x.TransmitInterface)),
			}, &l2api.SwInterfaceSetL2XconnectReply{}
		},
		Without: map[string]string{
			"Spellings": "names have none", "Updates": "the transmitting interface is all there is",
			"Recreates": "another interface would be another need",
		},
	}
}
