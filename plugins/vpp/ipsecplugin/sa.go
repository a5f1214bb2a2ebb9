package ipsecplugin

import (
	"context"
	"encoding/hex"
	"math/bits"
	"reflect"
	"slices"

	"go.fd.io/govpp/api"
	ipsecapi "go.fd.io/govpp/binapi/ipsec"
	"go.fd.io/govpp/binapi/ipsec_types"
	"go.fd.io/govpp/binapi/tunnel_types"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipsecplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	ipsec "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipsec"
)

// sa is an association as every release lists it. UDP ports are 0 without UDP encapsulation,
// and of the tunnel it has the addresses alone.
type sa = ipsec_types.IpsecSadEntryV3

// defaultPort is the UDP port of encapsulated packets.
const defaultPort = 4500

// maxPort is the largest UDP port of an association; VPP takes 65535 for none.
const maxPort = 65534

// saFlags are the flags that items have. VPP derives some flags by itself.
const saFlags = ipsec_types.IPSEC_API_SAD_FLAG_USE_ESN | ipsec_types.IPSEC_API_SAD_FLAG_USE_ANTI_REPLAY |
	ipsec_types.IPSEC_API_SAD_FLAG_IS_TUNNEL | ipsec_types.IPSEC_API_SAD_FLAG_UDP_ENCAP

// cryptoKeys are the lengths in bytes of keys for encryption. The algorithms have VPP's numbers.
var cryptoKeys = map[ipsec.CryptoAlg]int{
	ipsec.CryptoAlg_NONE_CRYPTO: 0,
	ipsec.CryptoAlg_AES_CBC_128: 16, ipsec.CryptoAlg_AES_CBC_192: 24, ipsec.CryptoAlg_AES_CBC_256: 32,
	ipsec.CryptoAlg_AES_CTR_128: 16, ipsec.CryptoAlg_AES_CTR_192: 24, ipsec.CryptoAlg_AES_CTR_256: 32,
	ipsec.CryptoAlg_AES_GCM_128: 16, ipsec.CryptoAlg_AES_GCM_192: 24, ipsec.CryptoAlg_AES_GCM_256: 32,
	ipsec.CryptoAlg_DES_CBC: 8, ipsec.CryptoAlg_DES3_CBC: 24,
}

// integKeys are the lengths in bytes of keys for integrity (RFC 2403, 2404 and 4868).
var integKeys = map[ipsec.IntegAlg]int{
	ipsec.IntegAlg_NONE_INTEG: 0, ipsec.IntegAlg_MD5_96: 16, ipsec.IntegAlg_SHA1_96: 20,
	ipsec.IntegAlg_SHA_256_96: 32, ipsec.IntegAlg_SHA_256_128: 32,
	ipsec.IntegAlg_SHA_384_192: 48, ipsec.IntegAlg_SHA_512_256: 64,
}

var saOperation = item.Declare("IPsec SA", "", item.Variant[sa]{
	Change: func(a sa, add bool) (request, reply api.Message) {
		if add {
			return &ipsecapi.IpsecSadEntryAdd{Entry: a}, &ipsecapi.IpsecSadEntryAddReply{}
		}
		return &ipsecapi.IpsecSadEntryDel{ID: a.SadID}, &ipsecapi.IpsecSadEntryDelReply{}
	},
	Dumps: []item.Dump[sa]{item.List(&ipsecapi.IpsecSaV3Dump{SaID: ^uint32(0)},
		func(d *ipsecapi.IpsecSaV3Details) (sa, bool) { return saOf(d.Entry), true })},
})

// saUpdate changes the tunnel and the UDP ports of an association.
var saUpdate = session.Step("IPsec SA: update", session.Variant(struct{}{},
	(*ipsecapi.IpsecSadEntryUpdate)(nil), (*ipsecapi.IpsecSadEntryUpdateReply)(nil)))

// SA is the metadata of an association.
type SA struct {
	// SPI is its security parameter index.
	SPI uint32
	// Tunnel: it is in tunnel mode.
	Tunnel bool
}

// SAs are the associations that exist in VPP, by the text of their numbers.
type SAs struct{ m idxmap.Map[*SA] }

// NewSAs makes the view of the metadata map of the descriptor SAName.
func NewSAs(r idxmap.Reader) (SAs, error) {
	m, err := idxmap.Of[*SA](r)
	return SAs{m}, err
}

// ofIKE reports that the IKEv2 of VPP gives associations such a number.
func ofIKE(id uint32) bool { return id >= 1<<31 }

// NewSA describes security associations. VPP changes the addresses of the tunnel and the UDP ports
// in place since 23.02; the rest is the identity of an association for its peer, so that a change
// makes another one. VPP counts the users of an association: one that a policy or a tunnel uses
// stays after its removal, which the dependencies prevent. IKEv2 adds and removes its own
// associations.
func NewSA(vpp *session.VPP) *kvs.KVDescriptor {
	u := &saUpdater{vpp}
	return item.NewEntry(vpp, nil, item.Entry[*ipsec.SecurityAssociation, sa, uint32]{
		Name: SAName, Model: model.SAModel, Operation: saOperation,
		Resolve:    resolveSA,
		ID:         func(a sa) uint32 { return a.SadID },
		Value:      func(_ *item.Names, a sa) *ipsec.SecurityAssociation { return saValue(a) },
		Changeable: u.can, Update: u.update,
		Implicit: func(a sa) bool { return ofIKE(a.SadID) },
		Metadata: func(a sa) kvs.Metadata { return &SA{SPI: a.Spi, Tunnel: tunnelMode(a)} },
		Gone:     []api.VPPApiError{api.NO_SUCH_ENTRY},
		Explain: map[api.VPPApiError]string{
			api.ENTRY_ALREADY_EXISTS: "index: VPP has another association with this number, or something still uses the one before",
			api.KEY_LENGTH:           "crypto_key, integ_key: VPP expects another length",
			api.UNIMPLEMENTED:        "protocol, crypto_alg, integ_alg: VPP does not have this combination",
		},
	})
}

func resolveSA(r *item.Resolver, v *ipsec.SecurityAssociation) sa {
	a := sa{
		SadID: v.GetIndex(), Spi: v.GetSpi(), Salt: v.GetCryptoSalt(), Protocol: ipsec_types.IPSEC_API_PROTO_ESP,
		CryptoAlgorithm: ipsec_types.IpsecCryptoAlg(v.GetCryptoAlg()), IntegrityAlgorithm: ipsec_types.IpsecIntegAlg(v.GetIntegAlg()),
	}
	switch v.GetProtocol() {
	case ipsec.SecurityAssociation_ESP:
	case ipsec.SecurityAssociation_AH:
		a.Protocol = ipsec_types.IPSEC_API_PROTO_AH
		if v.GetCryptoAlg() != ipsec.CryptoAlg_NONE_CRYPTO {
			r.Fail("crypto_alg", "%s, expected NONE_CRYPTO, as protocol AH does not encrypt, or protocol ESP", v.GetCryptoAlg())
		}
		if v.GetIntegAlg() == ipsec.IntegAlg_NONE_INTEG {
			r.Fail("integ_alg", "NONE_INTEG, expected an algorithm for protocol AH")
		}
	default:
		r.Fail("protocol", "%d, expected AH or ESP", v.GetProtocol())
	}
	size, known := cryptoKeys[v.GetCryptoAlg()]
	a.CryptoKey = key(r, "crypto", v.GetCryptoAlg().String(), v.GetCryptoKey(), size, known)
	size, known = integKeys[v.GetIntegAlg()]
	a.IntegrityKey = key(r, "integ", v.GetIntegAlg().String(), v.GetIntegKey(), size, known)
	if v.GetUseEsn() {
		a.Flags |= ipsec_types.IPSEC_API_SAD_FLAG_USE_ESN
	}
	if v.GetUseAntiReplay() {
		a.Flags |= ipsec_types.IPSEC_API_SAD_FLAG_USE_ANTI_REPLAY
	}
	resolveTunnel(r, v, &a)
	return a
}

// key returns the key of an algorithm, which is encryption ("crypto") or integrity ("integ").
// Errors do not have the key in them.
func key(r *item.Resolver, use, algorithm, text string, size int, known bool) ipsec_types.Key {
	if !known {
		r.Fail(use+"_alg", "%s is unknown", algorithm)
		return ipsec_types.Key{}
	}
	data, err := hex.DecodeString(text)
	switch {
	case err != nil:
		r.Fail(use+"_key", "not hexadecimal, expected %d bytes in %d characters 0-9, a-f for %s", size, 2*size, algorithm)
	case len(data) != size:
		r.Fail(use+"_key", "%d bytes, expected %d for %s", len(data), size, algorithm)
	}
	return ipsec_types.Key{Length: uint8(len(data)), Data: data}
}

func resolveTunnel(r *item.Resolver, v *ipsec.SecurityAssociation, a *sa) {
	src, dst := v.GetTunnelSrcAddr(), v.GetTunnelDstAddr()
	if src != "" || dst != "" {
		a.Flags |= ipsec_types.IPSEC_API_SAD_FLAG_IS_TUNNEL
		a.Tunnel = tunnel_types.Tunnel{Src: r.Host("tunnel_src_addr", src), Dst: r.Host("tunnel_dst_addr", dst)}
		if a.Tunnel.Src.Af != a.Tunnel.Dst.Af {
			r.Fail("tunnel_dst_addr", "%s, expected an address of the same version of IP as tunnel_src_addr", dst)
		} else if a.Tunnel.Src == a.Tunnel.Dst {
			r.Fail("tunnel_dst_addr", "%s is the same as tunnel_src_addr", dst)
		}
	}
	from := r.Range("tunnel_src_port", v.GetTunnelSrcPort(), 0, maxPort)
	to := r.Range("tunnel_dst_port", v.GetTunnelDstPort(), 0, maxPort)
	if v.GetEnableUdpEncap() {
		a.Flags |= ipsec_types.IPSEC_API_SAD_FLAG_UDP_ENCAP
		a.UDPSrcPort, a.UDPDstPort = udpPort(from), udpPort(to)
	}
}

func udpPort(port uint32) uint16 {
	if port == 0 {
		return defaultPort
	}
	return uint16(port)
}

func tunnelMode(a sa) bool { return a.Flags&ipsec_types.IPSEC_API_SAD_FLAG_IS_TUNNEL != 0 }

// saOf returns what VPP lists, in the form of resolveSA. VPP lists the salt with its bytes
// reversed.
func saOf(e sa) sa {
	out := sa{
		SadID: e.SadID, Spi: e.Spi, Protocol: e.Protocol, CryptoAlgorithm: e.CryptoAlgorithm, CryptoKey: keyOf(e.CryptoKey),
		IntegrityAlgorithm: e.IntegrityAlgorithm, IntegrityKey: keyOf(e.IntegrityKey), Flags: e.Flags & saFlags,
		Salt: bits.ReverseBytes32(e.Salt), UDPSrcPort: e.UDPSrcPort, UDPDstPort: e.UDPDstPort,
	}
	if tunnelMode(e) {
		out.Tunnel = tunnel_types.Tunnel{
			Src: e.Tunnel.Src, Dst: e.Tunnel.Dst, TableID: e.Tunnel.TableID, Dscp: e.Tunnel.Dscp, EncapDecapFlags: e.Tunnel.EncapDecapFlags,
		}
	}
	return out
}

func keyOf(k ipsec_types.Key) ipsec_types.Key {
	length := min(int(k.Length), len(k.Data))
	return ipsec_types.Key{Length: uint8(length), Data: append([]byte{}, k.Data[:length]...)}
}

func saValue(a sa) *ipsec.SecurityAssociation {
	v := &ipsec.SecurityAssociation{
		Index: a.SadID, Spi: a.Spi, CryptoSalt: a.Salt,
		CryptoAlg: ipsec.CryptoAlg(a.CryptoAlgorithm), CryptoKey: hex.EncodeToString(a.CryptoKey.Data),
		IntegAlg: ipsec.IntegAlg(a.IntegrityAlgorithm), IntegKey: hex.EncodeToString(a.IntegrityKey.Data),
		UseEsn:         a.Flags&ipsec_types.IPSEC_API_SAD_FLAG_USE_ESN != 0,
		UseAntiReplay:  a.Flags&ipsec_types.IPSEC_API_SAD_FLAG_USE_ANTI_REPLAY != 0,
		EnableUdpEncap: a.Flags&ipsec_types.IPSEC_API_SAD_FLAG_UDP_ENCAP != 0,
		TunnelSrcPort:  uint32(a.UDPSrcPort), TunnelDstPort: uint32(a.UDPDstPort),
	}
	if a.Protocol == ipsec_types.IPSEC_API_PROTO_ESP {
		v.Protocol = ipsec.SecurityAssociation_ESP
	}
	if tunnelMode(a) {
		v.TunnelSrcAddr, v.TunnelDstAddr = item.Addr(a.Tunnel.Src), item.Addr(a.Tunnel.Dst)
	}
	return v
}

// saUpdater changes associations in place.
type saUpdater struct{ vpp *session.VPP }

// can reports that VPP changes an association in place: only the addresses of its tunnel and
// its UDP ports differ. VPP keeps the version of IP of a tunnel.
func (u *saUpdater) can(old, a sa) bool {
	if saUpdate.Check(u.vpp) != nil || old.Tunnel.Src.Af != a.Tunnel.Src.Af {
		return false
	}
	old.Tunnel, old.UDPSrcPort, old.UDPDstPort = a.Tunnel, a.UDPSrcPort, a.UDPDstPort
	return reflect.DeepEqual(old, a)
}

func (u *saUpdater) update(ctx context.Context, old, all []sa) []error {
	requests, replies := make([]api.Message, len(all)), make([]api.Message, len(all))
	for i, a := range all {
		requests[i], replies[i] = &ipsecapi.IpsecSadEntryUpdate{
			SadID: a.SadID, IsTun: tunnelMode(a), Tunnel: a.Tunnel, UDPSrcPort: a.UDPSrcPort, UDPDstPort: a.UDPDstPort,
		}, &ipsecapi.IpsecSadEntryUpdateReply{}
	}
	errs := u.vpp.CallAll(ctx, requests, replies)
	moved := map[uint32]int{} // by number
	for i, a := range all {
		if errs[i] == nil && a.Tunnel.Src != old[i].Tunnel.Src {
			moved[a.SadID] = i
		}
	}
	if len(moved) > 0 {
		u.protectAgain(ctx, moved, errs)
	}
	return errs
}

// protectAgain notifies the tunnels that receive by associations whose source has moved: VPP looks
// packets up by the address that the association had when the tunnel was protected with it.
func (u *saUpdater) protectAgain(ctx context.Context, moved map[uint32]int, errs []error) {
	found, err := session.Dump[*ipsecapi.IpsecTunnelProtectDetails](ctx, u.vpp,
		&ipsecapi.IpsecTunnelProtectDump{SwIfIndex: allInterfaces})
	for _, d := range found {
		if err != nil {
			break
		}
		if slices.ContainsFunc(d.Tun.SaIn, func(id uint32) bool { _, has := moved[id]; return has }) {
			err = u.vpp.Call(ctx, &ipsecapi.IpsecTunnelProtectUpdate{Tunnel: d.Tun}, &ipsecapi.IpsecTunnelProtectUpdateReply{})
		}
	}
	for _, i := range moved {
		errs[i] = err
	}
}
