package vnet

import (
	"fmt"
	"net/netip"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/ipip"
	"go.fd.io/govpp/binapi/tunnel_types"
)

const ipipDevice = "IPIP tunnel device"

type ipips struct {
	*VNet
	kind[ipip.IpipTunnel]
}

// ipipKey is what no two tunnels may share.
func ipipKey(t *ipip.IpipTunnel) any {
	return struct {
		src, dst netip.Addr
		table    uint32
		mode     tunnel_types.TunnelMode
	}{addrOf(t.Src), addrOf(t.Dst), t.TableID, t.Mode}
}

func newIpips(n *VNet) feature { return &ipips{VNet: n} }

func (is *ipips) register(server *wire.Server) {
	handleCreate[ipip.IpipAddTunnelReply](server, func(req *ipip.IpipAddTunnel) (ifIndex, retval) {
		return is.addIpip(&req.Tunnel)
	})
	handle[ipip.IpipDelTunnelReply](server, func(req *ipip.IpipDelTunnel) retval {
		i := is.byIndex(req.SwIfIndex)
		if i == nil || i.isSub || i.hw.device != ipipDevice {
			return api.NO_SUCH_ENTRY
		}
		is.names.release(is.at(i.hw.instance).config.Instance)
		is.remove(i.hw.instance)
		is.deleteHardware(i.hw)
		return ok
	})
	wire.HandleDump(server, func(c *wire.Call, req *ipip.IpipTunnelDump) {
		for index, t := range is.of(req.SwIfIndex) {
			d := &ipip.IpipTunnelDetails{Tunnel: *t}
			d.Tunnel.SwIfIndex = index
			if is.before("23.10") {
				d.Tunnel.Mode = tunnel_types.TUNNEL_API_MODE_P2P // never filled in
				if d.Tunnel.Dst.Un == (ip_types.AddressUnion{}) {
					d.Tunnel.Dst.Af = ip_types.ADDRESS_IP4
				}
			}
			c.Send(d)
		}
	})
}

func (is *ipips) reset() { is.kind = kind[ipip.IpipTunnel]{} }

// addIpip makes ipip<instance>, down. A second tunnel with the same ends is
// refused, with the index of the first.
func (is *ipips) addIpip(t *ipip.IpipTunnel) (ifIndex, retval) {
	switch {
	case !sameFamily(t.Src, t.Dst):
		return noInterface, api.INVALID_PROTOCOL
	case addrOf(t.Src) == addrOf(t.Dst):
		return noInterface, api.SAME_SRC_DST
	case is.fibs.Table(familyOf(addrOf(t.Src)), t.TableID) == nil:
		return noInterface, api.NO_SUCH_FIB
	}
	if rv := checkMode(t.Mode, t.Dst); rv != ok {
		return noInterface, rv
	}
	if _, has := is.with(func(has *ipip.IpipTunnel) bool { return ipipKey(has) == ipipKey(t) }); has != nil {
		return ifIndex(has.swIndex), api.IF_ALREADY_EXISTS
	}
	if t.Instance == none {
		t.Instance = is.next()
	}
	if !is.names.claim(t.Instance) {
		return noInterface, api.INSTANCE_IN_USE
	}
	i := is.newTunnel(fmt.Sprintf("ipip%d", t.Instance), ipipDevice, tunnelMTU)
	i.hw.overhead = 20
	if familyOf(addrOf(t.Src)) == ip6 {
		i.hw.overhead = 40
	}
	is.keep(i, t)
	return ifIndex(i.index), ok
}
