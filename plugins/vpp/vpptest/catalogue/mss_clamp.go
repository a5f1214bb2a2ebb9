package catalogue

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	mssapi "go.fd.io/govpp/binapi/mss_clamp"
	"google.golang.org/protobuf/proto"

	mss "github.com/tenuto-dev/tenuto/proto/ligato/vpp/mss"
)

func mssClamp() Item {
	return Item{
		Name: "vpp.mss.clamp",
		Make: func() proto.Message {
			return &mss.Clamp{Interface: "lo", Ipv4Mss: 1360, Ipv6Mss: 1340, Ipv6Direction: mss.Clamp_TX}
		},
		Needs:      func() []proto.Message { return []proto.Message{Base()} },
		Capability: "MSS clamp",
		Updates: []Change{
			To(func(c *mss.Clamp) { c.Ipv4Mss, c.Ipv6Direction = 1300, mss.Clamp_RX }),
			To(func(c *mss.Clamp) { c.Ipv6Mss, c.Ipv6Direction = 0, mss.Clamp_BOTH }),
		},
		Refusals: map[string]Change{
			"ipv4_mss, ipv6_mss: both 0":      To(func(c *mss.Clamp) { c.Ipv4Mss, c.Ipv6Mss = 0, 0 }),
			"ipv4_mss: 65535, expected":       To(func(c *mss.Clamp) { c.Ipv4Mss = 65535 }),
			"ipv6_mss: 70000, expected":       To(func(c *mss.Clamp) { c.Ipv6Mss = 70000 }),
			"ipv4_direction: 3, expected BOT": To(func(c *mss.Clamp) { c.Ipv4Direction = 3 }),
			"ipv6_direction: 3, expected BOT": To(func(c *mss.Clamp) { c.Ipv6Direction = 3 }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &mssapi.MssClampEnableDisable{SwIfIndex: interface_types.InterfaceIndex(index(m.(*mss.Clamp).Interface))},
				&mssapi.MssClampEnableDisableReply{}
		},
		Without: map[string]string{
			"Spellings": "numbers have none", "Recreates": "VPP changes all but the key", "Conflicts": "the interface is the key",
		},
	}
}
