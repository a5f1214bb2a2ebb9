package catalogue

import (
	"go.fd.io/govpp/api"
	wireguardapi "go.fd.io/govpp/binapi/wireguard"
	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Wireguard is a WireGuard interface that is up.
func Wireguard(name string) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_WIREGUARD_TUNNEL, Enabled: true,
		Link: &interfaces.Interface_Wireguard{Wireguard: &interfaces.WireguardLink{
			PrivateKey: "gIjXzrQfIFf80d0O8hJRVrWoKCtn0ROKtKnY8xDpkFM=", Port: 51820, SrcAddr: "192.0.2.1",
		}},
	}
}

func wireguardInterface() Item {
	link := func(change func(l *interfaces.WireguardLink)) Change {
		return iface(func(i *interfaces.Interface) { change(i.GetWireguard()) })
	}
	return ofInterface(Item{
		Make: func() proto.Message {
			i := Wireguard("wg1")
			i.IpAddresses = []string{"10.18.1.1/24"}
			return i
		},
		Capability: "interface WIREGUARD_TUNNEL",
		Spellings:  []Change{link(func(l *interfaces.WireguardLink) { l.SrcAddr = "::ffff:192.0.2.1" })},
		Recreates:  []Change{link(func(l *interfaces.WireguardLink) { l.Port = 51821 })},
		Refusals: map[string]Change{
			"wireguard.private_key: expected 32 bytes in base64": link(func(l *interfaces.WireguardLink) { l.PrivateKey = "c2hvcnQ=" }),
			"wireguard.src_addr: empty":                          link(func(l *interfaces.WireguardLink) { l.SrcAddr = "" }),
			"wireguard.port: 65536, expected 0 to 65535":         link(func(l *interfaces.WireguardLink) { l.Port = 65536 }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &wireguardapi.WireguardInterfaceDelete{SwIfIndex: of(index, m)}, &wireguardapi.WireguardInterfaceDeleteReply{}
		},
		Without: map[string]string{
			"Needs": "the address need not exist", "Conflicts": "VPP lets interfaces share a port",
		},
	})
}
