package catalogue

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/interface_types"
	l2api "go.fd.io/govpp/binapi/l2"
	"google.golang.org/protobuf/proto"

	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

func fib() Item {
	return Item{
		Name: "vpp.l2.fib",
		Make: func() proto.Message {
			return &l2.FIBEntry{PhysAddress: "62:89:c6:a3:6d:5c", BridgeDomain: "bd1", OutgoingInterface: "port", StaticConfig: true}
		},
		Needs:      func() []proto.Message { return []proto.Message{BridgeDomain("bd1", "port"), Loopback("port")} },
		Capability: "L2 FIB",
		Updates: []Change{
			To(func(e *l2.FIBEntry) { e.StaticConfig = false }),
			To(func(e *l2.FIBEntry) { e.Action, e.OutgoingInterface = l2.FIBEntry_DROP, "" }),
		},
		Refusals: map[string]Change{
			"phys_address: ":            To(func(e *l2.FIBEntry) { e.PhysAddress = "x" }),
			"outgoing_interface: empty": To(func(e *l2.FIBEntry) { e.OutgoingInterface = "" }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			e := m.(*l2.FIBEntry)
			mac, _ := ethernet_types.ParseMacAddress(e.PhysAddress) // is valid
			return &l2api.L2fibAddDel{
				Mac: mac, BdID: 1, SwIfIndex: interface_types.InterfaceIndex(index(e.OutgoingInterface)), // the first bridge domain
			}, &l2api.L2fibAddDelReply{}
		},
		Without: map[string]string{
			"Spellings": "the MAC address is in the key", "Recreates": "VPP overwrites an entry",
			"Conflicts": "bridge domain and MAC address are the key",
		},
	}
}
