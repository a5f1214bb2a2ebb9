package catalogue

import (
	"go.fd.io/govpp/api"
	afpacketapi "go.fd.io/govpp/binapi/af_packet"
	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// AfPacket is an interface on one of the kernel that is up.
func AfPacket(name, host string) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_AF_PACKET, Enabled: true,
		Link: &interfaces.Interface_Afpacket{Afpacket: &interfaces.AfpacketLink{HostIfName: host}},
	}
}

func afPacket() Item {
	return ofInterface(Item{
		Make:       func() proto.Message { return AfPacket("af", "eth0") },
		Capability: "interface AF_PACKET",
		Recreates:  []Change{iface(func(i *interfaces.Interface) { i.GetAfpacket().HostIfName = "eth1" })},
		Refusals: map[string]Change{
			"link: missing, expected AfpacketLink": iface(func(i *interfaces.Interface) { i.Link = nil }),
		},
		Conflicts: []Conflict{{
			First: AfPacket("af1", "eth1"), Second: AfPacket("af2", "eth1"),
			Says: `create AF_PACKET: afpacket.host_if_name: "eth1": VPP has it already, as interface "af1" (host-eth1): `,
		}},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &afpacketapi.AfPacketDelete{HostIfName: m.(*interfaces.Interface).GetAfpacket().HostIfName}, &afpacketapi.AfPacketDeleteReply{}
		},
		Without: map[string]string{
			"Needs": "the interface of the kernel is no item of VPP", "Spellings": "a name has none",
			"Real": "it needs an interface of the kernel",
		},
	})
}
