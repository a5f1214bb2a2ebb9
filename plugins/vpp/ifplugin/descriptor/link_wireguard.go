package descriptor

import (
	"encoding/base64"
	"errors"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/wireguard"
	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

type wireguardParams struct {
	key  [32]byte
	port uint16
	src  ip_types.Address
}

// A WireGuard interface has a key and sends from an address and a port; its
// peers are items of their own. VPP knows no other identity of it: one that is left over
// without tag is not found again.
var wireguards = linkSpec[wireguardParams]{
	op:     declareLinks("interface WIREGUARD_TUNNEL", "wireguard", linkCalls[wireguardParams]{setWireguard, dumpWireguard}),
	device: "Wireguard Tunnel",
	facts: traits{
		packetMTU: true, link: func() proto.Message { return &interfaces.WireguardLink{} },
		noMAC: func(*interfaces.Interface) string { return "a WireGuard interface" },
	},
	valid: func(i *interfaces.Interface) []error {
		l := i.GetWireguard()
		_, srcErr := ends{}.addr("wireguard.src_addr", l.GetSrcAddr())
		errs := []error{srcErr, atMost("wireguard.port", l.GetPort(), 65535)}
		if key, err := base64.StdEncoding.DecodeString(l.GetPrivateKey()); err != nil || len(key) != len(wireguardParams{}.key) {
			errs = append(errs, invalid("wireguard.private_key", "expected %d bytes in base64, which is 44 characters", len(wireguardParams{}.key)))
		}
		return errs
	},
	params: func(i *interfaces.Interface, _ ifIndex) (p wireguardParams, err error) {
		key, err := base64.StdEncoding.DecodeString(i.GetWireguard().GetPrivateKey())
		if err != nil {
			return p, errors.New("wireguard.private_key: expected base64")
		}
		copy(p.key[:], key)
		p.port = uint16(i.GetWireguard().GetPort())
		p.src, _, err = ends{src: i.GetWireguard().GetSrcAddr()}.parse()
		return p, err
	},
	describe: func(i *interfaces.Interface, p wireguardParams, _ *interfaces.Interface, _ func(ifIndex) string) {
		i.Type, i.Link = interfaces.Interface_WIREGUARD_TUNNEL, &interfaces.Interface_Wireguard{Wireguard: &interfaces.WireguardLink{
			PrivateKey: base64.StdEncoding.EncodeToString(p.key[:]), Port: uint32(p.port), SrcAddr: addressText(p.src),
		}}
	},
	delete: func(idx ifIndex) (req, reply api.Message) {
		return &wireguard.WireguardInterfaceDelete{SwIfIndex: idx}, &wireguard.WireguardInterfaceDeleteReply{}
	},
	gone: []api.VPPApiError{api.INVALID_SW_IF_INDEX_2},
}

func setWireguard(_ bool, p wireguardParams) (req, reply api.Message, swIfIndex *ifIndex) {
	done := &wireguard.WireguardInterfaceCreateReply{}
	return &wireguard.WireguardInterfaceCreate{Interface: wireguard.WireguardInterface{
		UserInstance: anyInstance, PrivateKey: p.key[:], PublicKey: make([]byte, len(p.key)), Port: p.port, SrcIP: p.src,
	}}, done, &done.SwIfIndex
}

var dumpWireguard = dumpOf(func(which ifIndex) api.Message {
	return &wireguard.WireguardInterfaceDump{ShowPrivateKey: true, SwIfIndex: which}
}, func(d *wireguard.WireguardInterfaceDetails) (ifIndex, wireguardParams) {
	p := wireguardParams{port: d.Interface.Port, src: plain(d.Interface.SrcIP)}
	copy(p.key[:], d.Interface.PrivateKey)
	return d.Interface.SwIfIndex, p
})
