package catalogue

import (
	"net/netip"

	"go.fd.io/govpp/api"
	stnapi "go.fd.io/govpp/binapi/stn"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	stn "github.com/tenuto-dev/tenuto/proto/ligato/vpp/stn"
)

func stnRule() Item {
	return Item{
		Name:       "vpp.stn.rule",
		Make:       func() proto.Message { return &stn.Rule{IpAddress: "10.1.1.1", Interface: "lo"} },
		Needs:      func() []proto.Message { return []proto.Message{Base()} },
		Capability: "STN rule",
		Refusals: map[string]Change{
			"interface: empty":    To(func(r *stn.Rule) { r.Interface = "" }),
			"ip_address: 0.0.0.0": To(func(r *stn.Rule) { r.IpAddress = "0.0.0.0" }),
		},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &stnapi.StnAddDelRule{
				IPAddress: ipconv.Address(netip.MustParseAddr(m.(*stn.Rule).IpAddress)),
			}, &stnapi.StnAddDelRuleReply{}
		},
		Without: map[string]string{
			"Updates": "interface and address are the key", "Recreates": "interface and address are the key",
			"Spellings": "the address is a part of the key", "Conflicts": "one address on two interfaces: TestSTNRulesOfOneAddress",
		},
	}
}
