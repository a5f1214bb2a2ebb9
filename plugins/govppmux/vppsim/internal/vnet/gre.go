package vnet

import (
	"fmt"
	"net/netip"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/gre"
	"go.fd.io/govpp/binapi/tunnel_types"
)

const (
	greDevice = "GRE tunnel device"
	// maxGreSession is the largest number of an ERSPAN session.
	maxGreSession = 1023
	// tunnelMTU is the L3 MTU of new tunnels of some kinds.
	tunnelMTU = 9000
)

type gres struct {
	*VNet
	kind[gre.GreTunnel]
}

// greKey is what no two tunnels may share.
func greKey(t *gre.GreTunnel) any {
	return struct {
		src, dst netip.Addr
		table    uint32
		kind     gre.GreTunnelType
		mode     tunnel_types.TunnelMode
		session  uint16
	}{addrOf(t.Src), addrOf(t.Dst), t.OuterTableID, t.Type, t.Mode, t.SessionID}
}

func newGres(n *VNet) feature { return &gres{VNet: n} }

func (gs *gres) register(server *wire.Server) {
	handleCreate[gre.GreTunnelAddDelReply](server, func(req *gre.GreTunnelAddDel) (ifIndex, retval) {
		return gs.setGre(req.IsAdd, req.Tunnel)
	})
	wire.HandleDump(server, func(c *wire.Call, req *gre.GreTunnelDump) {
		for index, t := range gs.of(req.SwIfIndex) {
			d := &gre.GreTunnelDetails{Tunnel: *t}
			d.Tunnel.SwIfIndex = index
			c.Send(d)
		}
	})
}

func (gs *gres) reset() { gs.kind = kind[gre.GreTunnel]{} }

func (gs *gres) setGre(add bool, req gre.GreTunnel) (ifIndex, retval) {
	switch {
	case !sameFamily(req.Src, req.Dst):
		return noInterface, api.INVALID_PROTOCOL
	case addrOf(req.Src) == addrOf(req.Dst):
		return noInterface, api.SAME_SRC_DST
	case req.Type > gre.GRE_API_TUNNEL_TYPE_ERSPAN:
		return noInterface, api.INVALID_VALUE
	case gs.fibs.Table(familyOf(addrOf(req.Src)), req.OuterTableID) == nil:
		return noInterface, api.NO_SUCH_FIB
	case req.SessionID > maxGreSession:
		return noInterface, api.INVALID_SESSION_ID
	}
	if rv := checkMode(req.Mode, req.Dst); rv != ok {
		return noInterface, rv
	}
	if req.Type != gre.GRE_API_TUNNEL_TYPE_ERSPAN {
		req.SessionID = 0
	}
	instance, has := gs.with(func(has *gre.GreTunnel) bool { return greKey(has) == greKey(&req) })
	switch {
	case add && has != nil:
		return noInterface, api.IF_ALREADY_EXISTS
	case add:
		return gs.addGre(&req)
	case has == nil:
		return noInterface, api.NO_SUCH_ENTRY
	}
	gs.names.release(has.config.Instance)
	gs.remove(instance)
	gs.deleteHardware(gs.ifs.at(has.swIndex).hw)
	return ifIndex(has.swIndex), ok
}

// addGre makes gre<instance>, down. The MAC addresses of those that carry
// Ethernet are made from their number.
func (gs *gres) addGre(t *gre.GreTunnel) (ifIndex, retval) {
	number := gs.next()
	if t.Instance == none {
		t.Instance = number
	}
	if !gs.names.claim(t.Instance) {
		return noInterface, api.INSTANCE_IN_USE
	}
	i := gs.newTunnel(fmt.Sprintf("gre%d", t.Instance), greDevice, tunnelMTU)
	i.hw.overhead = 24
	if familyOf(addrOf(t.Src)) == ip6 {
		i.hw.overhead = 44
	}
	if t.Type != gre.GRE_API_TUNNEL_TYPE_L3 {
		i.hw.ethernet, i.hw.maxFrame = true, defaultMTU+frameOverhead
		i.hw.mac = ethernet_types.MacAddress{0xd0, 0x0b, 0xee, 0xd0, byte(number >> 8), byte(number)}
	}
	gs.keep(i, t)
	return ifIndex(i.index), ok
}
