package vnet

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/ipsec"
	"go.fd.io/govpp/binapi/ipsec_types"
	"go.fd.io/govpp/binapi/tunnel_types"
)

const (
	// ipsecPort is the UDP port of encapsulated packets, if noPort is asked for.
	ipsecPort = 4500
	noPort    = 65535
)

// ipsecSA is a security association. It is removed with its last user: the client that added
// it, policies and protected tunnels.
type ipsecSA struct {
	entry   ipsec_types.IpsecSadEntryV3
	users   int
	protect bool
	on      ifIndex // the protected tunnel
}

// ipsecSAs are the security associations.
type ipsecSAs struct {
	*VNet
	pool[ipsecSA]
	byID map[uint32]uint32 // indexes by number
}

// cryptoKeyLengths are the lengths of keys for encryption.
var cryptoKeyLengths = [...]uint8{0, 16, 24, 32, 16, 24, 32, 16, 24, 32, 8, 24, 32, 16, 24, 32} /* ok: a constant */

func newIpsecSAs(n *VNet) feature {
	n.ipsecSAs = &ipsecSAs{VNet: n}
	return n.ipsecSAs
}

func (ss *ipsecSAs) register(server *wire.Server) {
	wire.Handle(server, func(_ *wire.Call, req *ipsec.IpsecSadEntryAdd) *ipsec.IpsecSadEntryAddReply {
		index, rv := ss.addSA(req.Entry)
		return &ipsec.IpsecSadEntryAddReply{Retval: int32(rv), StatIndex: index}
	})
	handle[ipsec.IpsecSadEntryDelReply](server, func(req *ipsec.IpsecSadEntryDel) retval {
		if ss.lookup(req.ID) == nil {
			return api.NO_SUCH_ENTRY
		}
		ss.release(req.ID)
		return ok
	})
	handle[ipsec.IpsecSadEntryUpdateReply](server, ss.updateSA)
	wire.HandleDump(server, func(c *wire.Call, _ *ipsec.IpsecSaV3Dump) {
		for index, a := range ss.all() {
			c.Send(ss.details(index, a))
		}
	})
}

func (ss *ipsecSAs) reset() { ss.pool, ss.byID = pool[ipsecSA]{}, make(map[uint32]uint32) }

func (ss *ipsecSAs) lookup(id uint32) *ipsecSA {
	index, has := ss.byID[id]
	if !has {
		return nil
	}
	return ss.at(index)
}

// hold counts another user of an association; nil if there is none.
func (ss *ipsecSAs) hold(id uint32) *ipsecSA {
	a := ss.lookup(id)
	if a != nil {
		a.users++
	}
	return a
}

// release ends a use of an association.
func (ss *ipsecSAs) release(id uint32) {
	if a := ss.lookup(id); a != nil {
		if a.users--; a.users == 0 {
			ss.remove(ss.byID[id])
			delete(ss.byID, id)
		}
	}
}

func (ss *ipsecSAs) addSA(e ipsec_types.IpsecSadEntryV3) (uint32, retval) {
	switch {
	case e.Protocol != ipsec_types.IPSEC_API_PROTO_ESP && e.Protocol != ipsec_types.IPSEC_API_PROTO_AH:
		return none, api.INVALID_PROTOCOL
	case int(e.CryptoAlgorithm) >= len(cryptoKeyLengths) || e.IntegrityAlgorithm > ipsec_types.IPSEC_API_INTEG_ALG_SHA_512_256:
		return none, api.INVALID_ALGORITHM
	}
	if saIsTunnel(&e) {
		if rv := ss.checkTunnel(e.Tunnel); rv != ok {
			return none, rv
		}
	} else {
		e.Tunnel = tunnel_types.Tunnel{}
	}
	if ss.lookup(e.SadID) != nil {
		return none, api.ENTRY_ALREADY_EXISTS
	}
	if rv := checkKeys(&e); rv != ok {
		return none, rv
	}
	if saIsTunnel(&e) && e.Tunnel.Src.Af == ip_types.ADDRESS_IP6 {
		e.Flags |= ipsec_types.IPSEC_API_SAD_FLAG_IS_TUNNEL_V6
	}
	e.Tunnel.Instance, e.Tunnel.SwIfIndex = 0, 0
	e.UDPSrcPort, e.UDPDstPort = encapPort(&e, e.UDPSrcPort), encapPort(&e, e.UDPDstPort)
	index := ss.add(&ipsecSA{entry: e, users: 1})
	ss.byID[e.SadID] = index
	return index, ok
}

// checkKeys refuses keys without a length that the algorithms have.
func checkKeys(e *ipsec_types.IpsecSadEntryV3) retval {
	switch {
	case e.CryptoAlgorithm != 0 && e.CryptoKey.Length != cryptoKeyLengths[e.CryptoAlgorithm]:
		return api.KEY_LENGTH
	case e.IntegrityAlgorithm != 0 && e.IntegrityKey.Length == 0:
		return api.KEY_LENGTH
	case e.Protocol == ipsec_types.IPSEC_API_PROTO_AH && e.IntegrityAlgorithm == 0:
		return api.UNIMPLEMENTED
	}
	return ok
}

func saIsTunnel(e *ipsec_types.IpsecSadEntryV3) bool {
	return e.Flags&ipsec_types.IPSEC_API_SAD_FLAG_IS_TUNNEL != 0
}

// encapPort is what VPP lists of a port that was asked for.
func encapPort(e *ipsec_types.IpsecSadEntryV3, port uint16) uint16 {
	switch {
	case e.Flags&ipsec_types.IPSEC_API_SAD_FLAG_UDP_ENCAP == 0:
		return 0
	case port == noPort:
		return ipsecPort
	}
	return port
}

// checkTunnel refuses what tunnel_decode in src/vnet/tunnel/tunnel_types_api.c refuses.
func (ss *ipsecSAs) checkTunnel(t tunnel_types.Tunnel) retval {
	switch {
	case !sameFamily(t.Src, t.Dst):
		return api.INVALID_PROTOCOL
	case addrOf(t.Src) == addrOf(t.Dst):
		return api.SAME_SRC_DST
	case ss.fibs.Table(familyOf(addrOf(t.Dst)), t.TableID) == nil:
		return api.NO_SUCH_FIB
	}
	return ok
}

// updateSA changes the tunnel of an association in tunnel mode, and the ports of one with UDP
// encapsulation. It does not look at the rest.
func (ss *ipsecSAs) updateSA(req *ipsec.IpsecSadEntryUpdate) retval {
	if req.IsTun {
		if rv := ss.checkTunnel(req.Tunnel); rv != ok {
			return rv
		}
	}
	a := ss.lookup(req.SadID)
	if a == nil {
		return api.NO_SUCH_ENTRY
	}
	if req.IsTun && saIsTunnel(&a.entry) && (req.Tunnel.Src != a.entry.Tunnel.Src || req.Tunnel.Dst != a.entry.Tunnel.Dst) {
		a.entry.Tunnel = req.Tunnel
		a.entry.Tunnel.Instance, a.entry.Tunnel.SwIfIndex = 0, 0
	}
	if a.entry.Flags&ipsec_types.IPSEC_API_SAD_FLAG_UDP_ENCAP != 0 {
		if req.UDPSrcPort != noPort {
			a.entry.UDPSrcPort = req.UDPSrcPort
		}
		if req.UDPDstPort != noPort {
			a.entry.UDPDstPort = req.UDPDstPort
		}
	}
	return ok
}

// details has the salt with its bytes reversed.
func (ss *ipsecSAs) details(index uint32, a *ipsecSA) *ipsec.IpsecSaV3Details {
	d := &ipsec.IpsecSaV3Details{Entry: a.entry, SwIfIndex: noInterface, StatIndex: index}
	d.Entry.Salt = bits.ReverseBytes32(d.Entry.Salt)
	if a.protect {
		d.SwIfIndex = a.on
	}
	if a.entry.Flags&ipsec_types.IPSEC_API_SAD_FLAG_USE_ANTI_REPLAY != 0 && !ss.before("24.02") {
		d.ReplayWindow = ^uint64(0)
	}
	return d
}

func (ss *ipsecSAs) dump(b *strings.Builder) {
	var lines []string
	for _, a := range ss.all() {
		e := a.entry
		lines = append(lines, fmt.Sprintf("ipsec sa %d spi %d %s %s %x %s %x flags %s salt %08x tunnel %s-%s ports %d-%d users %d\n",
			e.SadID, e.Spi, e.Protocol, e.CryptoAlgorithm, keyBytes(e.CryptoKey), e.IntegrityAlgorithm, keyBytes(e.IntegrityKey),
			e.Flags, e.Salt, addrOf(e.Tunnel.Src), addrOf(e.Tunnel.Dst), e.UDPSrcPort, e.UDPDstPort, a.users))
	}
	dumpSorted(b, lines)
}

func keyBytes(k ipsec_types.Key) []byte { return k.Data[:min(int(k.Length), len(k.Data))] }
