package vnet

import (
	"fmt"
	"net/netip"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/vxlan_gpe"
)

const (
	vxlanGpeDevice = "VXLAN_GPE"
	vxlanGpePort   = 4790
	// gpeIP4 is the protocol for which the table of received packets is looked up.
	gpeIP4 = 1
)

type vxlanGpes struct {
	*VNet
	kind[vxlan_gpe.VxlanGpeAddDelTunnelV2]
	parked
}

// vxlanGpeKey is what no two tunnels may share.
func vxlanGpeKey(t *vxlan_gpe.VxlanGpeAddDelTunnelV2) any {
	return struct {
		local, remote netip.Addr
		port          uint16
		vni           uint32
	}{addrOf(t.Local), addrOf(t.Remote), t.LocalPort, t.Vni}
}

func newVxlanGpes(n *VNet) feature { return &vxlanGpes{VNet: n} }

func (gs *vxlanGpes) register(server *wire.Server) {
	handleCreate[vxlan_gpe.VxlanGpeAddDelTunnelV2Reply](server, gs.setVxlanGpe)
	handleCreate[vxlan_gpe.VxlanGpeAddDelTunnelReply](server, func(req *vxlan_gpe.VxlanGpeAddDelTunnel) (ifIndex, retval) {
		return gs.setVxlanGpe(&vxlan_gpe.VxlanGpeAddDelTunnelV2{
			IsAdd: req.IsAdd, Local: req.Local, Remote: req.Remote, McastSwIfIndex: req.McastSwIfIndex,
			EncapVrfID: req.EncapVrfID, DecapVrfID: req.DecapVrfID, Protocol: req.Protocol, Vni: req.Vni,
		})
	})
	wire.HandleDump(server, func(c *wire.Call, req *vxlan_gpe.VxlanGpeTunnelV2Dump) {
		for index, t := range gs.of(req.SwIfIndex) {
			c.Send(&vxlan_gpe.VxlanGpeTunnelV2Details{
				SwIfIndex: index, Local: t.Local, Remote: t.Remote,
				LocalPort: t.LocalPort, RemotePort: t.RemotePort, Vni: t.Vni, Protocol: t.Protocol,
				McastSwIfIndex: t.McastSwIfIndex, EncapVrfID: t.EncapVrfID, DecapVrfID: t.DecapVrfID,
			})
		}
	})
	wire.HandleDump(server, func(c *wire.Call, req *vxlan_gpe.VxlanGpeTunnelDump) {
		for index, t := range gs.of(req.SwIfIndex) {
			c.Send(&vxlan_gpe.VxlanGpeTunnelDetails{
				SwIfIndex: index, Local: t.Local, Remote: t.Remote, Vni: t.Vni,
				Protocol: t.Protocol, McastSwIfIndex: t.McastSwIfIndex, EncapVrfID: t.EncapVrfID, DecapVrfID: t.DecapVrfID,
			})
		}
	})
}

func (gs *vxlanGpes) reset() { gs.kind, gs.parked = kind[vxlan_gpe.VxlanGpeAddDelTunnelV2]{}, parked{} }

// setVxlanGpe looks for tables among the IPv4 tables, whatever the addresses.
func (gs *vxlanGpes) setVxlanGpe(req *vxlan_gpe.VxlanGpeAddDelTunnelV2) (ifIndex, retval) {
	switch {
	case gs.fibs.Table(ip4, req.EncapVrfID) == nil:
		return noInterface, api.NO_SUCH_FIB
	case req.Protocol == gpeIP4 && gs.fibs.Table(ip4, req.DecapVrfID) == nil:
		return noInterface, api.NO_SUCH_INNER_FIB
	case addrOf(req.Local) == addrOf(req.Remote):
		return noInterface, api.SAME_SRC_DST
	}
	for _, port := range []*uint16{&req.LocalPort, &req.RemotePort} {
		if *port == 0 {
			*port = vxlanGpePort
		}
	}
	instance, has := gs.with(func(has *vxlan_gpe.VxlanGpeAddDelTunnelV2) bool { return vxlanGpeKey(has) == vxlanGpeKey(req) })
	switch {
	case req.IsAdd && has != nil:
		return noInterface, api.TUNNEL_EXIST
	case req.IsAdd:
		return gs.addVxlanGpe(req)
	case has == nil:
		return noInterface, api.NO_SUCH_ENTRY
	}
	gs.remove(instance)
	gs.park(&gs.parked, gs.ifs.at(has.swIndex))
	return ifIndex(has.swIndex), ok
}

// addVxlanGpe makes vxlan_gpe_tunnel<instance>, up.
func (gs *vxlanGpes) addVxlanGpe(t *vxlan_gpe.VxlanGpeAddDelTunnelV2) (ifIndex, retval) {
	i := gs.unpark(&gs.parked)
	if i == nil {
		i = gs.newTunnel(fmt.Sprintf("vxlan_gpe_tunnel%d", gs.next()), vxlanGpeDevice, 0)
	}
	gs.keep(i, t)
	gs.setAdmin(i, true)
	return ifIndex(i.index), ok
}
