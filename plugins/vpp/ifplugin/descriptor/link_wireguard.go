package descriptor

import (
	"encoding/base64"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/wireguard"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

type wireguardParams struct {
	key  [32]byte
	port uint16
	src  ip_types.Address
}

// A WireGuard interface has a key and sends from an address and a port; its
// peers are items of their own. VPP knows no other identity of it: one that is left over
// without tag is not found again. Several may have one port, but VPP may forget a wrong one of
// them when it deletes one: an interface leaves its port before another one takes it over.
var wireguards = linkSpec[wireguardParams]{
	op: declareLinks("interface WIREGUARD_TUNNEL", "wireguard", linkCalls[wireguardParams]{
		set: func(_ bool, p wireguardParams) (req, reply api.Message) {
			return &wireguard.WireguardInterfaceCreate{Interface: wireguard.WireguardInterface{
				UserInstance: anyInstance, PrivateKey: p.key[:], PublicKey: make([]byte, len(p.key)), Port: p.port, SrcIP: p.src,
			}}, &wireguard.WireguardInterfaceCreateReply{}
		},
		dump: dumpWith(func(which ifIndex) api.Message {
			return &wireguard.WireguardInterfaceDump{ShowPrivateKey: true, SwIfIndex: which}
		}, func(d *wireguard.WireguardInterfaceDetails) (ifIndex, wireguardParams) {
			p := wireguardParams{port: d.Interface.Port, src: d.Interface.SrcIP}
			copy(p.key[:], d.Interface.PrivateKey)
			return d.Interface.SwIfIndex, p
		}),
	}),
	device: "Wireguard Tunnel",
	facts: traits{
		packetMTU: true, initialMTU: noInitialMTU, link: func() proto.Message { return &interfaces.WireguardLink{} },
	},
	resolve: func(r *item.Resolver, i *interfaces.Interface) (p wireguardParams) {
		l := i.GetWireguard()
		key, err := base64.StdEncoding.DecodeString(l.GetPrivateKey())
		if copy(p.key[:], key); err != nil || len(key) != len(p.key) {
			r.Fail("wireguard.private_key", "expected %d bytes in base64, which is 44 characters", len(p.key))
		}
		p.src = ipconv.Address(end(r, "wireguard.src_addr", l.GetSrcAddr()))
		p.port = uint16(l.GetPort())
		return p
	},
	describe: func(i *interfaces.Interface, p wireguardParams, _ about) {
		i.Type, i.Link = interfaces.Interface_WIREGUARD_TUNNEL, &interfaces.Interface_Wireguard{Wireguard: &interfaces.WireguardLink{
			PrivateKey: base64.StdEncoding.EncodeToString(p.key[:]), Port: uint32(p.port), SrcAddr: item.Addr(p.src),
		}}
	},
	identity: func(i *interfaces.Interface) string {
		return identity("wireguard port", field{value: i.GetWireguard().GetPort()})
	},
	chosen: func(*wireguardParams, wireguardParams) {},
	delete: deletion[*wireguard.WireguardInterfaceDelete, *wireguard.WireguardInterfaceDeleteReply],
	gone:   []api.VPPApiError{api.INVALID_SW_IF_INDEX_2},
}
