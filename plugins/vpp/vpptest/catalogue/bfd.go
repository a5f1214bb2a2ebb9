package catalogue

import (
	"net/netip"

	"go.fd.io/govpp/api"
	bfdapi "go.fd.io/govpp/binapi/bfd"
	"go.fd.io/govpp/binapi/interface_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	bfd "github.com/tenuto-dev/tenuto/proto/ligato/vpp/bfd"
)

// BFDAuthKey is a key.
func BFDAuthKey(id uint32) *bfd.AuthKey {
	return &bfd.AuthKey{Id: id, Secret: "4a506a794f57426555"}
}

func bfdAuthKey() Item {
	key := To[*bfd.AuthKey]
	return Item{
		Name:       "vpp.bfd.auth-key",
		Make:       func() proto.Message { return BFDAuthKey(70) },
		Capability: "BFD authentication key",
		Spellings:  []Change{key(func(k *bfd.AuthKey) { k.Secret = "4A506A794F57426555" })},
		Recreates: []Change{
			key(func(k *bfd.AuthKey) { k.Type = bfd.AuthKey_KEYED_SHA1 }),
			key(func(k *bfd.AuthKey) { k.Secret = "4a506a794f5742655542" }),
		},
		Refusals: map[string]Change{
			"type: 9, expected METICULOUS_KEYED_SHA1": key(func(k *bfd.AuthKey) { k.Type = 9 }),
			"secret: not hexadecimal":                 key(func(k *bfd.AuthKey) { k.Secret = "swordfish" }),
			"secret: empty, expected 1 to 20 bytes":   key(func(k *bfd.AuthKey) { k.Secret = "" }),
			"secret: 21 bytes, expected 1 to 20":      key(func(k *bfd.AuthKey) { k.Secret = "000102030405060708090a0b0c0d0e0f1011121314" }),
		},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &bfdapi.BfdAuthDelKey{ConfKeyID: m.(*bfd.AuthKey).Id}, &bfdapi.BfdAuthDelKeyReply{}
		},
		Without: map[string]string{
			"Needs": "it names nothing", "Updates": "VPP changes no key that sessions use", "Conflicts": "the number is the key",
		},
	}
}

func bfdSession() Item {
	session := To[*bfd.Session]
	return Item{
		Name: "vpp.bfd.session",
		Make: func() proto.Message {
			return &bfd.Session{
				Interface: "bfd", LocalAddress: "10.71.0.1", PeerAddress: "10.71.0.2",
				DesiredMinTx: 100000, RequiredMinRx: 50000, DetectMultiplier: 5,
				Authentication: &bfd.Session_Authentication{Key: 71, KeyId: 3},
			}
		},
		Needs:      func() []proto.Message { return []proto.Message{Loopback("bfd", "10.71.0.1/24"), BFDAuthKey(71)} },
		Capability: "BFD session",
		Spellings: []Change{
			session(func(s *bfd.Session) { s.LocalAddress = "::ffff:10.71.0.1" }),
			session(func(s *bfd.Session) { s.Authentication.Delayed = true }),
		},
		Updates: []Change{
			session(func(s *bfd.Session) { s.DesiredMinTx, s.RequiredMinRx, s.DetectMultiplier = 0, 0, 0 }),
			session(func(s *bfd.Session) { s.AdminDown = true }),
			session(func(s *bfd.Session) { s.Authentication.KeyId = 4 }),
			session(func(s *bfd.Session) { s.Authentication = nil }),
		},
		Recreates: []Change{session(func(s *bfd.Session) { s.LocalAddress = "10.71.0.3" })},
		Refusals: map[string]Change{
			"interface: empty":                       session(func(s *bfd.Session) { s.Interface = "" }),
			"local_address: 0.0.0.0, expected":       session(func(s *bfd.Session) { s.LocalAddress = "0.0.0.0" }),
			`peer_address: empty, expected`:          session(func(s *bfd.Session) { s.PeerAddress = "" }),
			"peer_address: 224.0.0.1, expected":      session(func(s *bfd.Session) { s.PeerAddress = "224.0.0.1" }),
			"peer_address: 2001:db8::1, expected":    session(func(s *bfd.Session) { s.PeerAddress = "2001:db8::1" }),
			"peer_address: 10.71.0.1 is local":       session(func(s *bfd.Session) { s.PeerAddress = "10.71.0.1" }),
			"detect_multiplier: 256, expected 0":     session(func(s *bfd.Session) { s.DetectMultiplier = 256 }),
			"authentication.key_id: 256, expected 0": session(func(s *bfd.Session) { s.Authentication.KeyId = 256 }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			s := m.(*bfd.Session)
			return &bfdapi.BfdUDPDel{
				SwIfIndex: interface_types.InterfaceIndex(index(s.Interface)),
				LocalAddr: ipconv.Address(netip.MustParseAddr(s.LocalAddress)), PeerAddr: ipconv.Address(netip.MustParseAddr(s.PeerAddress)),
			}, &bfdapi.BfdUDPDelReply{}
		},
		Without: map[string]string{"Conflicts": "the interface and the peer are the key"},
	}
}

func bfdEchoSource() Item {
	return Item{
		Name:       "vpp.bfd.echo-source",
		Make:       func() proto.Message { return &bfd.EchoSource{Interface: "echo"} },
		Needs:      func() []proto.Message { return []proto.Message{Loopback("echo", "10.72.0.1/24")} },
		Capability: "BFD echo source",
		Refusals:   map[string]Change{"interface: empty": To(func(s *bfd.EchoSource) { s.Interface = "" })},
		ByHand: func(func(string) uint32, proto.Message) (api.Message, api.Message) {
			return &bfdapi.BfdUDPDelEchoSource{}, &bfdapi.BfdUDPDelEchoSourceReply{}
		},
		Without: map[string]string{
			"Spellings": "a name has none", "Updates": "the suite has one interface for it", "Recreates": "VPP replaces the interface",
			"Conflicts": "there is one value",
		},
	}
}
