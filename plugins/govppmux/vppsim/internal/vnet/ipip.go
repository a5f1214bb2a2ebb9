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
	pool[ipipTunnel]
	names instances
}

type ipipTunnel struct {
	swIndex uint32
	ipip.IpipTunnel
}

// key is what no two tunnels may share.
func (t *ipipTunnel) key() any {
	return struct {
		src, dst netip.Addr
		table    uint32
		mode     tunnel_types.TunnelMode
	}{addrOf(t.Src), addrOf(t.Dst), t.TableID, t.Mode}
}

func (is *ipips) register(server *wire.Server) {
	handleCreate[ipip.IpipAddTunnelReply](server, func(req *ipip.IpipAddTunnel) (ifIndex, retval) {
		return is.addIpip(&ipipTunnel{IpipTunnel: req.Tunnel})
	})
	handle[ipip.IpipDelTunnelReply](server, func(req *ipip.IpipDelTunnel) retval {
		i := is.byIndex(req.SwIfIndex)
		if i == nil || i.isSub || i.hw.device != ipipDevice {
			return api.NO_SUCH_ENTRY
		}
		is.names.release(is.at(i.hw.instance).Instance)
		is.remove(i.hw.instance)
		is.deleteHardware(i.hw)
		return ok
	})
	wire.HandleDump(server, func(c *wire.Call, req *ipip.IpipTunnelDump) {
		for _, t := range is.all() {
			if selects(req.SwIfIndex, t.swIndex) {
				d := &ipip.IpipTunnelDetails{Tunnel: t.IpipTunnel}
				d.Tunnel.SwIfIndex = ifIndex(t.swIndex)
				if is.before("23.10") {
					d.Tunnel.Mode = tunnel_types.TUNNEL_API_MODE_P2P // never filled in
					if d.Tunnel.Dst.Un == (ip_types.AddressUnion{}) {
						d.Tunnel.Dst.Af = ip_types.ADDRESS_IP4
					}
				}
				c.Send(d)
			}
		}
	})
}

func (is *ipips) reset() { is.pool, is.names = pool[ipipTunnel]{}, instances{} }

// addIpip makes ipip<instance>, down. A second tunnel with the same ends is
// refused, with the index of the first.
func (is *ipips) addIpip(t *ipipTunnel) (ifIndex, retval) {
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
	for _, has := range is.all() {
		if has.key() == t.key() {
			return ifIndex(has.swIndex), api.IF_ALREADY_EXISTS
		}
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
	t.swIndex, i.hw.instance = i.index, is.add(t)
	return ifIndex(i.index), ok
}
