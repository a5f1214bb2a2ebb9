package catalogue

import (
	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	wireguard "github.com/tenuto-dev/tenuto/proto/ligato/vpp/wireguard"
)

func wireguardPeer() Item {
	return Item{
		Name: "vpp.wg.peer",
		Make: func() proto.Message {
			return &wireguard.Peer{
				PublicKey: "La2X30ihDXOqiJXihmcJK/m7ronHfV6geXk0WvTuZgU=", WgIfName: "wg", Endpoint: "10.1.1.9", Port: 51820,
				PersistentKeepalive: 25, AllowedIps: []string{"10.8.0.0/24", "2001:db8:8::/64"},
			}
		},
		Needs: func() []proto.Message {
			return []proto.Message{&interfaces.Interface{
				Name: "wg", Type: interfaces.Interface_WIREGUARD_TUNNEL, Enabled: true, IpAddresses: []string{"10.8.0.1/24"},
				Link: &interfaces.Interface_Wireguard{Wireguard: &interfaces.WireguardLink{
					PrivateKey: "gIjXzrQfIFf80d0O8hJRVrWoKCtn0ROKtKnY8xDpkFM=", Port: 51820, SrcAddr: "10.1.1.1",
				}},
			}}
		},
		Capability: "WireGuard peer",
		Spellings: []Change{To(func(p *wireguard.Peer) {
			p.AllowedIps = []string{"2001:DB8:8::/64", "10.8.0.0/24", "10.8.0.0/24"}
		})},
		Recreates: []Change{
			To(func(p *wireguard.Peer) { p.PublicKey = "YYyMZQ9WaS1WC1Py7iHqyWL+FEYCUCkKTyUFwBQvG1Y=" }),
			To(func(p *wireguard.Peer) { p.AllowedIps, p.PersistentKeepalive = []string{"0.0.0.0/0"}, 0 }),
		},
		Refusals: map[string]Change{
			"wg_if_name: empty":                       To(func(p *wireguard.Peer) { p.WgIfName = "" }),
			"public_key: expected 32 bytes":           To(func(p *wireguard.Peer) { p.PublicKey = "La2X30ihDXOqiJXihmcJ" }),
			"endpoint: 0.0.0.0, expected":             To(func(p *wireguard.Peer) { p.Endpoint = "0.0.0.0" }),
			`endpoint: empty, expected an IP address`: To(func(p *wireguard.Peer) { p.Endpoint = "" }),
			"port: 65536, expected 0 to 65535":        To(func(p *wireguard.Peer) { p.Port = 65536 }),
			"persistent_keepalive: 70000, expected":   To(func(p *wireguard.Peer) { p.PersistentKeepalive = 70000 }),
			"allowed_ips: empty, expected":            To(func(p *wireguard.Peer) { p.AllowedIps = nil }),
			`allowed_ips[0]: "10.8.0.0": expected`:    To(func(p *wireguard.Peer) { p.AllowedIps[0] = "10.8.0.0" }),
		},
		Conflicts: []Conflict{{
			First: &wireguard.Peer{
				PublicKey: "La2X30ihDXOqiJXihmcJK/m7ronHfV6geXk0WvTuZgU=", WgIfName: "wg", Endpoint: "10.1.1.9", Port: 51820,
				AllowedIps: []string{"10.8.0.0/24"},
			},
			Second: &wireguard.Peer{
				PublicKey: "La2X30ihDXOqiJXihmcJK/m7ronHfV6geXk0WvTuZgU=", WgIfName: "wg", Endpoint: "10.1.1.8", Port: 51820,
				AllowedIps: []string{"10.9.0.0/24"},
			},
			Says: "public_key",
		}},
		Without: map[string]string{
			"Updates": "VPP has no request that changes a peer",
			"ByHand":  "a peer is removed by an index that no item has",
		},
	}
}
