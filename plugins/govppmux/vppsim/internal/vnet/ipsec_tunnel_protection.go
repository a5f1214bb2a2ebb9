package vnet

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ipsec"
	"go.fd.io/govpp/binapi/tunnel_types"
)

// maxProtectIn is how many associations a tunnel receives by.
const maxProtectIn = 4

// ipsecProtections are the protections of tunnels: one for a tunnel to one peer, one for each
// next hop of the others.
type ipsecProtections struct {
	*VNet
	pool[ipsecProtection]
}

// ipsecProtection is a protection, or what is left of one that was refused: nothing finds it,
// but it is listed.
type ipsecProtection struct {
	config  ipsec.IpsecTunnelProtect
	refused bool
}

// ipTunnels is a feature whose interfaces carry IP in a tunnel that can be protected.
type ipTunnels interface {
	// ipTunnel returns the mode and the source of a tunnel; false if the interface is not of
	// the feature.
	ipTunnel(i *swInterface) (mode tunnel_types.TunnelMode, src netip.Addr, has bool)
}

func (is *ipips) ipTunnel(i *swInterface) (tunnel_types.TunnelMode, netip.Addr, bool) {
	if i.isSub || i.hw.device != ipipDevice {
		return 0, netip.Addr{}, false
	}
	t := is.at(i.hw.instance).config
	return t.Mode, addrOf(t.Src), true
}

func (gs *gres) ipTunnel(i *swInterface) (tunnel_types.TunnelMode, netip.Addr, bool) {
	if i.isSub || i.hw.device != greDevice {
		return 0, netip.Addr{}, false
	}
	t := gs.at(i.hw.instance).config
	return t.Mode, addrOf(t.Src), true
}

func (is *ipsecs) ipTunnel(i *swInterface) (tunnel_types.TunnelMode, netip.Addr, bool) {
	if i.isSub || i.hw.device != ipsecDevice {
		return 0, netip.Addr{}, false
	}
	return is.at(i.hw.instance).config.Mode, netip.IPv4Unspecified(), true
}

func newIpsecProtections(n *VNet) feature { return &ipsecProtections{VNet: n} }

func (ps *ipsecProtections) register(server *wire.Server) {
	handle[ipsec.IpsecTunnelProtectUpdateReply](server, func(req *ipsec.IpsecTunnelProtectUpdate) retval {
		if ps.byIndex(req.Tunnel.SwIfIndex) == nil {
			return api.INVALID_SW_IF_INDEX
		}
		return ps.update(req.Tunnel)
	})
	handle[ipsec.IpsecTunnelProtectDelReply](server, func(req *ipsec.IpsecTunnelProtectDel) retval {
		if ps.byIndex(req.SwIfIndex) == nil {
			return api.INVALID_SW_IF_INDEX
		}
		index, p := ps.lookup(ipsec.IpsecTunnelProtect{SwIfIndex: req.SwIfIndex, Nh: req.Nh})
		if p == nil {
			return api.NO_SUCH_ENTRY
		}
		ps.unprotect(p.config)
		ps.remove(index)
		return ok
	})
	wire.HandleDump(server, func(c *wire.Call, req *ipsec.IpsecTunnelProtectDump) {
		for _, p := range ps.all() {
			if selects(req.SwIfIndex, uint32(p.config.SwIfIndex)) {
				d := &ipsec.IpsecTunnelProtectDetails{Tun: p.config}
				d.Tun.NSaIn = uint8(len(d.Tun.SaIn))
				c.Send(d)
			}
		}
	})
}

func (ps *ipsecProtections) reset() { ps.pool = pool[ipsecProtection]{} }

// tunnel returns the mode and the source of a tunnel.
func (ps *ipsecProtections) tunnel(index ifIndex) (tunnel_types.TunnelMode, netip.Addr, bool) {
	if i := ps.byIndex(index); i != nil {
		for _, f := range implementing[ipTunnels](ps.features) {
			if mode, src, has := f.ipTunnel(i); has {
				return mode, src, true
			}
		}
	}
	return 0, netip.Addr{}, false
}

// lookup finds the protection of a tunnel; a tunnel to one peer has one, whatever the next hop.
func (ps *ipsecProtections) lookup(of ipsec.IpsecTunnelProtect) (uint32, *ipsecProtection) {
	mode, _, _ := ps.tunnel(of.SwIfIndex)
	return ps.find(func(p *ipsecProtection) bool {
		return !p.refused && p.config.SwIfIndex == of.SwIfIndex && (mode == tunnel_types.TUNNEL_API_MODE_P2P || p.config.Nh == of.Nh)
	})
}

// update protects a tunnel, or replaces its associations. Where it refuses it does not end the
// uses of associations that it has begun.
func (ps *ipsecProtections) update(p ipsec.IpsecTunnelProtect) retval {
	if len(p.SaIn) > maxProtectIn {
		return api.LIMIT_EXCEEDED
	}
	for _, id := range append(slices.Clone(p.SaIn), p.SaOut) {
		if ps.ipsecSAs.hold(id) == nil {
			return api.INVALID_VALUE
		}
	}
	if index, has := ps.lookup(p); has != nil {
		ps.unprotect(has.config)
		p.Nh = has.config.Nh
		ps.at(index).config = p
	} else {
		_, src, isTunnel := ps.tunnel(p.SwIfIndex)
		if !isTunnel {
			return api.INVALID_SW_IF_INDEX
		}
		if src.IsUnspecified() && !saIsTunnel(&ps.ipsecSAs.lookup(p.SaOut).entry) {
			ps.add(&ipsecProtection{p, true})
			return api.INVALID_DST_ADDRESS
		}
		ps.add(&ipsecProtection{config: p})
	}
	_, src, _ := ps.tunnel(p.SwIfIndex)
	for _, id := range p.SaIn {
		if a := ps.ipsecSAs.lookup(id); saIsTunnel(&a.entry) && !src.IsUnspecified() {
			a.protect, a.on = true, p.SwIfIndex
		}
	}
	return ok // the uses that were begun belong to the protection
}

// unprotect ends the uses of associations by a protection.
func (ps *ipsecProtections) unprotect(p ipsec.IpsecTunnelProtect) {
	for _, id := range p.SaIn {
		if a := ps.ipsecSAs.lookup(id); a != nil {
			a.protect = false
		}
	}
	for _, id := range append(slices.Clone(p.SaIn), p.SaOut) {
		ps.ipsecSAs.release(id)
	}
}

// interfaceRemoved: VPP cleans up since 24.10.
func (ps *ipsecProtections) interfaceRemoved(i *swInterface) {
	if ps.before("24.10") {
		return
	}
	for index, p := range ps.all() {
		if uint32(p.config.SwIfIndex) == i.index && !p.refused {
			ps.unprotect(p.config)
			ps.remove(index)
		}
	}
}

func (ps *ipsecProtections) dump(b *strings.Builder) {
	var lines []string
	for _, p := range ps.all() {
		lines = append(lines, fmt.Sprintf("ipsec protection of %s next hop %s out %d in %v refused %t\n",
			ps.orStaleIf(uint32(p.config.SwIfIndex)), addrOf(p.config.Nh), p.config.SaOut, slices.Sorted(slices.Values(p.config.SaIn)), p.refused))
	}
	dumpSorted(b, lines)
}
