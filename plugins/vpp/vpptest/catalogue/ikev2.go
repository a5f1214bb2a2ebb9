package catalogue

import (
	"strings"

	"go.fd.io/govpp/api"
	ikev2api "go.fd.io/govpp/binapi/ikev2"
	"google.golang.org/protobuf/proto"

	dns "github.com/tenuto-dev/tenuto/proto/ligato/vpp/dns"
	ikev2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ikev2"
)

// ikev2Items are the settings of the key exchange and its profiles.
// IKEv2Profile returns a profile that waits for a peer with a shared secret.
func IKEv2Profile(name string) *ikev2.Profile {
	return &ikev2.Profile{
		Name: name, Auth: &ikev2.Profile_Auth{Secret: "4a506a794f57426555"},
		LocalId: &ikev2.Profile_Identity{Value: name + ".left"}, RemoteId: &ikev2.Profile_Identity{Value: name + ".right"},
		LocalTs: ikev2TS(), RemoteTs: ikev2TS(),
		Ike: &ikev2.Profile_IKETransforms{DhGroup: ikev2.Profile_ECP_256}, Esp: &ikev2.Profile_ESPTransforms{},
	}
}

func ikev2TS() *ikev2.Profile_TrafficSelector {
	return &ikev2.Profile_TrafficSelector{Addresses: "0.0.0.0/0", EndPort: 65535}
}

func ikev2Global() Item {
	global := To[*ikev2.Global]
	return Item{
		Name:       "vpp.ikev2.global",
		Make:       func() proto.Message { return &ikev2.Global{LivenessPeriod: 10, LivenessMaxRetries: 5} },
		Capability: "IKEv2 settings",
		Updates:    []Change{global(func(g *ikev2.Global) { g.LivenessPeriod, g.LivenessMaxRetries = 0, 7 })},
		Refusals: map[string]Change{
			"local_key_file: 256 bytes, expected at most 255": global(func(g *ikev2.Global) { g.LocalKeyFile = strings.Repeat("x", 256) }),
		},
		Without: map[string]string{
			"Needs": "it names nothing", "Spellings": "there are none", "Conflicts": "there is one value",
			"Recreates": "it needs a file with a key: TestIKEv2Certificates", "Retrieve": "VPP does not report it",
			"ByHand": "VPP does not report it", "Restart": "VPP does not report it",
		},
	}
}

func ikev2Profile() Item {
	profile := To[*ikev2.Profile]
	return Item{
		Name: "vpp.ikev2.profile",
		Make: func() proto.Message {
			p := IKEv2Profile("branch")
			p.RemoteId = &ikev2.Profile_Identity{Type: ikev2.Profile_Identity_ADDRESS, Value: "10.72.0.1"}
			p.LocalTs = &ikev2.Profile_TrafficSelector{Addresses: "10.72.0.5-10.72.0.9", Protocol: 17, StartPort: 100, EndPort: 200}
			p.Responder = &ikev2.Profile_Responder{Interface: "lo", Address: "192.0.2.2"}
			p.Esp = &ikev2.Profile_ESPTransforms{Encryption: ikev2.Profile_AES_CBC_128, Integrity: ikev2.Profile_SHA2_512}
			p.Lifetime = &ikev2.Profile_Lifetime{Seconds: 3600, Jitter: 10, Handover: 5, Bytes: 1 << 40}
			p.TunnelInterface, p.UdpPort = "ike", 4501
			return p
		},
		Needs:      func() []proto.Message { return []proto.Message{Base(), Ipip("ike", "192.0.2.41", "192.0.2.2")} },
		Capability: "IKEv2 profile",
		Spellings: []Change{
			profile(func(p *ikev2.Profile) {
				p.Auth.Secret = "0x346135303661373934663537343236353535"
			}),
			profile(func(p *ikev2.Profile) { p.RemoteId.Value = "::ffff:10.72.0.1" }),
			profile(func(p *ikev2.Profile) { p.RemoteTs, p.Ike = nil, nil }),
			profile(func(p *ikev2.Profile) { p.RemoteTs.Addresses = "0.0.0.0-255.255.255.255" }),
		},
		Updates: []Change{
			profile(func(p *ikev2.Profile) { p.Auth.Secret = "0x00ff80" }),
			profile(func(p *ikev2.Profile) {
				p.LocalId, p.RemoteId = &ikev2.Profile_Identity{Type: ikev2.Profile_Identity_EMAIL, Value: "left@example.com"},
					&ikev2.Profile_Identity{Type: ikev2.Profile_Identity_ADDRESS, Value: "2001:db8::1"}
			}),
			profile(func(p *ikev2.Profile) {
				p.LocalTs.Addresses, p.RemoteTs.Addresses = "2001:db8:1::/48", "2001:db8:2::/48"
			}),
			profile(func(p *ikev2.Profile) {
				p.Ike = &ikev2.Profile_IKETransforms{
					Encryption: ikev2.Profile_AES_CBC_256, Integrity: ikev2.Profile_SHA2_384, DhGroup: ikev2.Profile_MODP_2048,
				}
			}),
			profile(func(p *ikev2.Profile) { p.Responder.Address, p.Lifetime, p.UdpPort = "192.0.2.3", nil, 4502 }),
			profile(func(p *ikev2.Profile) { p.Responder, p.UdpPort, p.DisableNatt = nil, 0, true }),
		},
		Recreates: []Change{
			profile(func(p *ikev2.Profile) { p.TunnelInterface = "" }),
			profile(func(p *ikev2.Profile) { p.UdpEncap = true }),
		},
		Refusals: ikev2Refusals(),
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &ikev2api.Ikev2ProfileAddDel{Name: m.(*ikev2.Profile).Name}, &ikev2api.Ikev2ProfileAddDelReply{}
		},
		Without: map[string]string{"Conflicts": "the name is the key"},
	}
}

func ikev2Refusals() map[string]Change {
	profile := To[*ikev2.Profile]
	return map[string]Change{
		"name: 64 bytes, expected 1 to 63":                    profile(func(p *ikev2.Profile) { p.Name = strings.Repeat("x", 64) }),
		"auth: missing, expected how the peers":               profile(func(p *ikev2.Profile) { p.Auth = nil }),
		"auth.secret: not hexadecimal after 0x":               profile(func(p *ikev2.Profile) { p.Auth.Secret = "0xswordfish" }),
		"auth.secret: set, expected none with":                profile(func(p *ikev2.Profile) { p.Auth.Method, p.Auth.CertificateFile = ikev2.Profile_Auth_CERTIFICATE, "/x" }),
		"auth.certificate_file: set, expected method":         profile(func(p *ikev2.Profile) { p.Auth.CertificateFile = "/x" }),
		"auth.certificate_file: 0 bytes, expected 1 to 1023":  profile(func(p *ikev2.Profile) { p.Auth.Method = ikev2.Profile_Auth_CERTIFICATE }),
		"auth.method: 2, expected SHARED_SECRET, CERTIFICATE": profile(func(p *ikev2.Profile) { p.Auth.Method = 2 }),
		"local_id: missing, expected the identity":            profile(func(p *ikev2.Profile) { p.LocalId = nil }),
		"remote_id: missing, expected the identity":           profile(func(p *ikev2.Profile) { p.RemoteId = nil }),
		`remote_id.value: "x": expected an IP`:                profile(func(p *ikev2.Profile) { p.RemoteId.Value = "x" }),
		`local_ts.addresses: "10.0.0.1/8", expected a net`:    profile(func(p *ikev2.Profile) { p.LocalTs.Addresses = "10.0.0.1/8" }),
		`local_ts.addresses: "10.0.0.2-10.0.0.1", expected`:   profile(func(p *ikev2.Profile) { p.LocalTs.Addresses = "10.0.0.2-10.0.0.1" }),
		"local_ts.end_port: 99, expected at least start":      profile(func(p *ikev2.Profile) { p.LocalTs.EndPort = 99 }),
		"remote_ts.protocol: 256, expected 0 to 255":          profile(func(p *ikev2.Profile) { p.RemoteTs.Protocol = 256 }),
		"responder.interface: empty":                          profile(func(p *ikev2.Profile) { p.Responder.Interface = "" }),
		"responder.address: 0.0.0.0, expected the":            profile(func(p *ikev2.Profile) { p.Responder.Address = "0.0.0.0" }),
		"responder.address, responder.hostname: both":         profile(func(p *ikev2.Profile) { p.Responder.Hostname = "peer" }),
		"responder: missing, expected the peer":               profile(func(p *ikev2.Profile) { p.Responder, p.Initiate = nil, true }),
		"tunnel_interface: empty, expected a tunnel":          profile(func(p *ikev2.Profile) { p.Responder.Address, p.TunnelInterface = "2001:db8::2", "" }),
		"ike.encryption: 9, expected AES_GCM_256":             profile(func(p *ikev2.Profile) { p.Ike.Encryption = 9 }),
		"ike.integrity: SHA1, expected DEFAULT: AES_GCM_256":  profile(func(p *ikev2.Profile) { p.Ike.Integrity = ikev2.Profile_SHA1 }),
		"ike.dh_group: 1, expected DEFAULT_GROUP":             profile(func(p *ikev2.Profile) { p.Ike.DhGroup = 1 }),
		"esp.integrity: 9, expected DEFAULT":                  profile(func(p *ikev2.Profile) { p.Esp.Integrity = 9 }),
		"udp_port: 65535, expected 0 to 65534":                profile(func(p *ikev2.Profile) { p.UdpPort = 65535 }),
	}
}

// IKEv2ByName returns a profile whose peer has a host name, and what it needs besides the
// interface "lo".
func IKEv2ByName(name string) []proto.Message {
	p := IKEv2Profile(name)
	p.Responder = &ikev2.Profile_Responder{Interface: "lo", Hostname: "peer.example.com"}
	return []proto.Message{p, &dns.DNSCache{UpstreamDnsServers: []string{"192.0.2.53"}}}
}
