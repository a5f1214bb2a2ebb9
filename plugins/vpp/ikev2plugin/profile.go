package ikev2plugin

import (
	"encoding/hex"
	"math"
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenuto-dev/tenuto/plugins/vpp/dnsplugin"

	"go.fd.io/govpp/binapi/ikev2_types"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding/ikev2msg"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ikev2plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	dns "github.com/tenuto-dev/tenuto/proto/ligato/vpp/dns"
	ikev2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ikev2"
)

// Longest texts that VPP takes or lists, in bytes.
const (
	maxName        = 63
	maxSecret      = 1024
	maxCertificate = 1023
)

// hexPrefix begins a secret that is written in hexadecimal.
const hexPrefix = "0x"

// noPort is the UDP port of a profile without one.
const noPort = math.MaxUint16

// profile is a profile as VPP has it, with the numbers of RFC 7296.
type profile struct {
	name          string
	auth          auth
	local, remote identity
	// here and there are the packets of each side.
	here, there selector
	responder   responder
	ike, esp    transforms
	lifetime    lifetime
	tunnel      interface_types.InterfaceIndex
	udpPort     uint16
	udpEncap    bool
	nattOff     bool

	// VPP does not list if it was asked to initiate, nor the name of the responder.
	initiate bool
	listed   bool
}

type auth struct {
	method uint8
	data   string // the secret, or the path of the certificate
	hex    bool   // as the secret was written; VPP does not use it
}

// Methods of authentication.
const (
	rsaSignature = 1
	sharedKey    = 2
)

type identity struct {
	typ  uint8
	data string
}

// Types of identities.
const (
	idIPv4  = 1
	idFQDN  = 2
	idEmail = 3
	idIPv6  = 5
)

type selector struct {
	protocol            uint8
	startPort, endPort  uint16
	startAddr, lastAddr ip_types.Address
}

type responder struct {
	iface    interface_types.InterfaceIndex
	address  ip_types.Address
	hostname string
}

type transforms struct {
	encryption uint8
	bits       uint32
	integrity  uint8
	group      uint8 // of the key exchange
}

type lifetime struct {
	seconds, bytes   uint64
	jitter, handover uint32
}

// blank is a profile that was just added to VPP.
func blank(name string) profile {
	return profile{name: name, responder: responder{iface: noInterface}, tunnel: noInterface, udpPort: noPort}
}

const noInterface = interface_types.InterfaceIndex(item.NoInterface)

const (
	aesCBC = 12
	aesGCM = 20
)

var ciphers = map[ikev2.Profile_Encryption]transforms{
	ikev2.Profile_AES_GCM_256: {encryption: aesGCM, bits: 256}, ikev2.Profile_AES_GCM_192: {encryption: aesGCM, bits: 192},
	ikev2.Profile_AES_GCM_128: {encryption: aesGCM, bits: 128}, ikev2.Profile_AES_CBC_256: {encryption: aesCBC, bits: 256},
	ikev2.Profile_AES_CBC_192: {encryption: aesCBC, bits: 192}, ikev2.Profile_AES_CBC_128: {encryption: aesCBC, bits: 128},
}

var integrities = map[ikev2.Profile_Integrity]uint8{
	ikev2.Profile_DEFAULT: 12, ikev2.Profile_SHA2_256: 12, ikev2.Profile_SHA2_384: 13, ikev2.Profile_SHA2_512: 14, ikev2.Profile_SHA1: 2,
}

func resolveProfile(r *item.Resolver, v *ikev2.Profile) profile {
	p := blank(v.GetName())
	checkLength(r, "name", v.GetName(), maxName)
	p.auth = resolveAuth(r, v.GetAuth())
	p.local = resolveIdentity(r, "local_id", v.GetLocalId())
	if v.GetRemoteId() != nil || !v.GetInitiate() {
		p.remote = resolveIdentity(r, "remote_id", v.GetRemoteId())
	}
	p.here, p.there = resolveSelector(r, "local_ts", v.GetLocalTs()), resolveSelector(r, "remote_ts", v.GetRemoteTs())
	if v.GetResponder() != nil {
		p.responder = resolveResponder(r, v)
	} else if v.GetInitiate() {
		r.Fail("responder", "missing, expected the peer for a profile that initiates")
	}
	p.ike = resolveTransforms(r, "ike", v.GetIke().GetEncryption(), v.GetIke().GetIntegrity())
	p.esp = resolveTransforms(r, "esp", v.GetEsp().GetEncryption(), v.GetEsp().GetIntegrity())
	r.Enum("ike.dh_group", v.GetIke().GetDhGroup())
	if p.ike.group = uint8(v.GetIke().GetDhGroup()); p.ike.group == 0 {
		p.ike.group = uint8(ikev2.Profile_ECP_256)
	}
	l := v.GetLifetime()
	p.lifetime = lifetime{seconds: l.GetSeconds(), bytes: l.GetBytes(), jitter: l.GetJitter(), handover: l.GetHandover()}
	if v.GetTunnelInterface() != "" {
		p.tunnel = r.Interface("tunnel_interface", v.GetTunnelInterface())
	}
	if port := v.GetUdpPort(); port != 0 {
		p.udpPort = uint16(port)
	}
	p.udpEncap, p.nattOff, p.initiate = v.GetUdpEncap(), v.GetDisableNatt(), v.GetInitiate()
	return p
}

func checkLength(r *item.Resolver, field, text string, most int) {
	if n := len(text); n == 0 || n > most {
		r.Fail(field, "%d bytes, expected 1 to %d", n, most)
	}
}

// resolveAuth has no secret in its errors.
func resolveAuth(r *item.Resolver, v *ikev2.Profile_Auth) auth {
	r.Enum("auth.method", v.GetMethod())
	switch v.GetMethod() {
	case ikev2.Profile_Auth_CERTIFICATE:
		checkLength(r, "auth.certificate_file", v.GetCertificateFile(), maxCertificate)
		if strings.ContainsRune(v.GetCertificateFile(), 0) {
			r.Fail("auth.certificate_file", "has a zero byte")
		}
		if v.GetSecret() != "" {
			r.Fail("auth.secret", "set, expected none with method CERTIFICATE")
		}
		r.DependsOn("local-key-exists", model.LocalKeyKey)
		return auth{method: rsaSignature, data: v.GetCertificateFile()}
	default:
		if v.GetCertificateFile() != "" {
			r.Fail("auth.certificate_file", "set, expected method CERTIFICATE")
		}
		return resolveSecret(r, v.GetSecret())
	}
}

func resolveSecret(r *item.Resolver, text string) auth {
	digits, isHex := strings.CutPrefix(text, hexPrefix)
	if !isHex {
		checkLength(r, "auth.secret", text, maxSecret)
		return auth{method: sharedKey, data: text}
	}
	secret, err := hex.DecodeString(digits)
	if err != nil {
		r.Fail("auth.secret", "not hexadecimal after 0x, expected 2 characters for each byte")
		return auth{}
	}
	checkLength(r, "auth.secret", string(secret), maxSecret)
	return auth{method: sharedKey, data: string(secret), hex: true}
}

func resolveIdentity(r *item.Resolver, field string, v *ikev2.Profile_Identity) identity {
	r.Enum(field+".type", v.GetType())
	checkLength(r, field+".value", v.GetValue(), maxName)
	switch v.GetType() {
	case ikev2.Profile_Identity_EMAIL:
		return identity{idEmail, v.GetValue()}
	case ikev2.Profile_Identity_ADDRESS:
		a, err := ipconv.ParseAddr(v.GetValue())
		if err != nil {
			r.Fail(field+".value", "%w", err)
			return identity{}
		}
		if a.Is6() {
			return identity{idIPv6, string(a.AsSlice())}
		}
		return identity{idIPv4, string(a.AsSlice())}
	}
	return identity{idFQDN, v.GetValue()}
}

func resolveSelector(r *item.Resolver, field string, v *ikev2.Profile_TrafficSelector) selector {
	s := selector{protocol: uint8(v.GetProtocol()), startPort: uint16(v.GetStartPort()), endPort: uint16(v.GetEndPort())}
	if s.endPort == 0 {
		s.endPort = math.MaxUint16
	}
	if s.startPort > s.endPort {
		r.Fail(field+".end_port", "%d, expected at least start_port, %d", s.endPort, s.startPort)
	}
	first, last, ok := addressRange(v.GetAddresses())
	if !ok {
		r.Fail(field+".addresses", "%q, expected a network such as 10.1.0.0/16 or a range such as 10.1.0.5-10.1.0.9", v.GetAddresses())
		return s
	}
	s.startAddr, s.lastAddr = ipconv.Address(first), ipconv.Address(last)
	return s
}

// addressRange returns the first and the last address of a network or range.
func addressRange(text string) (first, last netip.Addr, ok bool) {
	if text == "" {
		text = "0.0.0.0/0"
	}
	if low, high, isRange := strings.Cut(text, "-"); isRange {
		first, errFirst := ipconv.ParseAddr(low)
		last, errLast := ipconv.ParseAddr(high)
		return first, last, errFirst == nil && errLast == nil && first.Is4() == last.Is4() && first.Compare(last) <= 0
	}
	network, err := ipconv.ParsePrefix(text)
	if err != nil || network != network.Masked() {
		return first, last, false
	}
	return network.Addr(), lastOf(network), true
}

// lastOf returns the last address of a network.
func lastOf(network netip.Prefix) netip.Addr {
	b := network.Addr().AsSlice()
	for bit := network.Bits(); bit < 8*len(b); bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(b)
	return last
}

func resolveResponder(r *item.Resolver, v *ikev2.Profile) responder {
	in := v.GetResponder()
	out := responder{iface: r.Interface("responder.interface", in.GetInterface()), hostname: in.GetHostname()}
	switch {
	case in.GetHostname() == "":
		out.address = r.Host("responder.address", in.GetAddress())
		if out.address.Af == ip_types.ADDRESS_IP6 && v.GetTunnelInterface() == "" {
			r.Fail("tunnel_interface", "empty, expected a tunnel: VPP makes one over IPv4 only")
		}
	case in.GetAddress() != "":
		r.Fail("responder.address, responder.hostname", "both set, expected one")
	default:
		// VPP crashes if it has no server to ask.
		checkLength(r, "responder.hostname", in.GetHostname(), maxName)
		r.DependsOn("dns-cache-exists", dnsplugin.DNSCacheModel.Key(&dns.DNSCache{}))
	}
	return out
}

func resolveTransforms(r *item.Resolver, field string, e ikev2.Profile_Encryption, i ikev2.Profile_Integrity) transforms {
	r.Enum(field+".encryption", e)
	r.Enum(field+".integrity", i)
	t := ciphers[e]
	switch {
	case t.encryption != aesGCM:
		t.integrity = integrities[i]
	case i != ikev2.Profile_DEFAULT:
		r.Fail(field+".integrity", "%s, expected DEFAULT: %s needs no other integrity", i, e)
	}
	return t
}

// profileOf returns what VPP lists.
func profileOf(d *ikev2msg.ProfileDetails) (profile, bool) {
	in := d.Profile
	p := profile{
		name: in.Name, auth: auth{method: in.Auth.Method, data: string(in.Auth.Data), hex: in.Auth.Hex != 0},
		local: identity{in.LocID.Type, string(d.LocalID)}, remote: identity{in.RemID.Type, string(d.RemoteID)},
		here: selectorOf(in.LocTs), there: selectorOf(in.RemTs), responder: responder{iface: in.Responder.SwIfIndex, address: in.Responder.Addr},
		ike:      transforms{in.IkeTs.CryptoAlg, in.IkeTs.CryptoKeySize, in.IkeTs.IntegAlg, in.IkeTs.DhGroup},
		esp:      transforms{encryption: in.EspTs.CryptoAlg, bits: in.EspTs.CryptoKeySize, integrity: in.EspTs.IntegAlg},
		lifetime: lifetime{in.Lifetime, in.LifetimeMaxdata, in.LifetimeJitter, in.Handover},
		tunnel:   interface_types.InterfaceIndex(in.TunItf), udpPort: in.IpsecOverUDPPort, udpEncap: in.UDPEncap, nattOff: in.NattDisabled, listed: true,
	}
	if p.auth.method == rsaSignature {
		p.auth.data = strings.TrimRight(p.auth.data, "\x00")
	}
	return p, true
}

func selectorOf(t ikev2_types.Ikev2Ts) selector {
	return selector{t.ProtocolID, t.StartPort, t.EndPort, t.StartAddr, t.EndAddr}
}

func profileValue(n *item.Names, p profile) *ikev2.Profile {
	v := &ikev2.Profile{
		Name: p.name, Auth: authValue(p.auth), LocalId: identityValue(p.local), RemoteId: identityValue(p.remote),
		LocalTs: selectorValue(p.here), RemoteTs: selectorValue(p.there),
		Ike: &ikev2.Profile_IKETransforms{DhGroup: ikev2.Profile_DHGroup(p.ike.group)}, Esp: &ikev2.Profile_ESPTransforms{},
		UdpEncap: p.udpEncap, DisableNatt: p.nattOff, Initiate: p.initiate,
	}
	v.Ike.Encryption, v.Ike.Integrity = transformsValue(p.ike)
	v.Esp.Encryption, v.Esp.Integrity = transformsValue(p.esp)
	if p.lifetime != (lifetime{}) {
		l := p.lifetime
		v.Lifetime = &ikev2.Profile_Lifetime{Seconds: l.seconds, Bytes: l.bytes, Jitter: l.jitter, Handover: l.handover}
	}
	if p.responder.iface != noInterface {
		v.Responder = &ikev2.Profile_Responder{Interface: n.Interface(p.responder.iface), Hostname: p.responder.hostname}
		if p.responder.hostname == "" {
			v.Responder.Address = item.Addr(p.responder.address)
		}
	}
	if p.tunnel != noInterface {
		v.TunnelInterface = n.Interface(p.tunnel)
	}
	if p.udpPort != noPort {
		v.UdpPort = uint32(p.udpPort)
	}
	return v
}

func authValue(a auth) *ikev2.Profile_Auth {
	switch {
	case a.method == rsaSignature:
		return &ikev2.Profile_Auth{Method: ikev2.Profile_Auth_CERTIFICATE, CertificateFile: a.data}
	case a.method != sharedKey:
		return nil
	case a.hex || !utf8.ValidString(a.data) || strings.ContainsFunc(a.data, unicode.IsControl) || strings.HasPrefix(a.data, hexPrefix):
		return &ikev2.Profile_Auth{Secret: hexPrefix + hex.EncodeToString([]byte(a.data))}
	}
	return &ikev2.Profile_Auth{Secret: a.data}
}

func identityValue(id identity) *ikev2.Profile_Identity {
	switch id.typ {
	case 0:
		return nil
	case idFQDN:
		return &ikev2.Profile_Identity{Value: strings.ToValidUTF8(id.data, "\uFFFD")}
	case idEmail:
		return &ikev2.Profile_Identity{Type: ikev2.Profile_Identity_EMAIL, Value: strings.ToValidUTF8(id.data, "\uFFFD")}
	}
	a, _ := netip.AddrFromSlice([]byte(id.data))
	return &ikev2.Profile_Identity{Type: ikev2.Profile_Identity_ADDRESS, Value: a.String()}
}

func selectorValue(s selector) *ikev2.Profile_TrafficSelector {
	first, last := ipconv.FromAddress(s.startAddr), ipconv.FromAddress(s.lastAddr)
	v := &ikev2.Profile_TrafficSelector{
		Addresses: first.String() + "-" + last.String(), Protocol: uint32(s.protocol), StartPort: uint32(s.startPort), EndPort: uint32(s.endPort),
	}
	for bits := range first.BitLen() + 1 {
		if network, _ := first.Prefix(bits); network.Addr() == first && lastOf(network) == last {
			v.Addresses = network.String()
			break
		}
	}
	return v
}

func transformsValue(t transforms) (e ikev2.Profile_Encryption, i ikev2.Profile_Integrity) {
	for name, c := range ciphers {
		if c.encryption == t.encryption && c.bits == t.bits {
			e = name
		}
	}
	for name, number := range integrities {
		if number == t.integrity && name != ikev2.Profile_DEFAULT {
			i = name
		}
	}
	return e, i
}
