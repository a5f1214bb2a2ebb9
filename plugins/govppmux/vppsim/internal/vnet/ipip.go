package vnet

import (
	"fmt"
	"net/netip"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/ipip"
	"go.fd.io/govpp/binapi/tunnel_types"
)

const ipipDevice = "IPIP tunnel device"

type ipips struct {
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

func (n *VNet) handleIpips() {
	wire.Handle(n.server, func(_ *wire.Call, req *ipip.IpipAddTunnel) *ipip.IpipAddTunnelReply {
		index, rv := n.addIpip(&ipipTunnel{IpipTunnel: req.Tunnel})
		return &ipip.IpipAddTunnelReply{Retval: int32(rv), SwIfIndex: index}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *ipip.IpipDelTunnel) *ipip.IpipDelTunnelReply {
		i := n.byIndex(req.SwIfIndex)
		if i == nil || i.isSub || i.hw.device != ipipDevice {
			return &ipip.IpipDelTunnelReply{Retval: int32(api.NO_SUCH_ENTRY)}
		}
		n.tunnels.ipips.names.release(n.tunnels.ipips.at(i.hw.instance).Instance)
		n.tunnels.ipips.remove(i.hw.instance)
		n.deleteHardware(i.hw)
		return &ipip.IpipDelTunnelReply{}
	})
	wire.HandleDump(n.server, func(c *wire.Call, req *ipip.IpipTunnelDump) {
		for _, t := range n.tunnels.ipips.all() {
			if req.SwIfIndex == noInterface || uint32(req.SwIfIndex) == t.swIndex {
				d := &ipip.IpipTunnelDetails{Tunnel: t.IpipTunnel}
				d.Tunnel.SwIfIndex = interface_types.InterfaceIndex(t.swIndex)
				if n.before("23.10") {
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

// addIpip makes ipip<instance>, down. A second tunnel with the same ends is
// refused, with the index of the first.
func (n *VNet) addIpip(t *ipipTunnel) (interface_types.InterfaceIndex, api.VPPApiError) {
	switch {
	case !sameFamily(t.Src, t.Dst):
		return noInterface, api.INVALID_PROTOCOL
	case addrOf(t.Src) == addrOf(t.Dst):
		return noInterface, api.SAME_SRC_DST
	case n.fibs.Table(familyOf(addrOf(t.Src)), t.TableID) == nil:
		return noInterface, api.NO_SUCH_FIB
	}
	if rv := checkMode(t.Mode, t.Dst); rv != ok {
		return noInterface, rv
	}
	for _, has := range n.tunnels.ipips.all() {
		if has.key() == t.key() {
			return interface_types.InterfaceIndex(has.swIndex), api.IF_ALREADY_EXISTS
		}
	}
	if t.Instance == none {
		t.Instance = n.tunnels.ipips.next()
	}
	if !n.tunnels.ipips.names.claim(t.Instance) {
		return noInterface, api.INSTANCE_IN_USE
	}
	i := n.newTunnel(fmt.Sprintf("ipip%d", t.Instance), ipipDevice, tunnelMTU)
	i.hw.overhead = 20
	if familyOf(addrOf(t.Src)) == ip6 {
		i.hw.overhead = 40
	}
	t.swIndex, i.hw.instance = i.index, n.tunnels.ipips.add(t)
	return interface_types.InterfaceIndex(i.index), ok
}
