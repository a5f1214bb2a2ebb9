package vnet

import (
	"fmt"
	"net/netip"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/vxlan_gpe"
)

const (
	vxlanGpeDevice = "VXLAN_GPE"
	vxlanGpePort   = 4790
	// gpeIP4 is the protocol for which the table of received packets is looked up.
	gpeIP4 = 1
)

type vxlanGpes struct {
	pool[vxlanGpe]
	parked
}

type vxlanGpe struct {
	swIndex uint32
	vxlan_gpe.VxlanGpeAddDelTunnelV2
}

// key is what no two tunnels may share.
func (t *vxlanGpe) key() any {
	return struct {
		local, remote netip.Addr
		port          uint16
		vni           uint32
	}{addrOf(t.Local), addrOf(t.Remote), t.LocalPort, t.Vni}
}

func (n *VNet) handleVxlanGpes() {
	wire.Handle(n.server, func(_ *wire.Call, req *vxlan_gpe.VxlanGpeAddDelTunnelV2) *vxlan_gpe.VxlanGpeAddDelTunnelV2Reply {
		index, rv := n.setVxlanGpe(*req)
		return &vxlan_gpe.VxlanGpeAddDelTunnelV2Reply{Retval: int32(rv), SwIfIndex: index}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *vxlan_gpe.VxlanGpeAddDelTunnel) *vxlan_gpe.VxlanGpeAddDelTunnelReply {
		index, rv := n.setVxlanGpe(vxlan_gpe.VxlanGpeAddDelTunnelV2{
			IsAdd: req.IsAdd, Local: req.Local, Remote: req.Remote, McastSwIfIndex: req.McastSwIfIndex,
			EncapVrfID: req.EncapVrfID, DecapVrfID: req.DecapVrfID, Protocol: req.Protocol, Vni: req.Vni,
		})
		return &vxlan_gpe.VxlanGpeAddDelTunnelReply{Retval: int32(rv), SwIfIndex: index}
	})
	wire.HandleDump(n.server, func(c *wire.Call, req *vxlan_gpe.VxlanGpeTunnelV2Dump) {
		n.vxlanGpesOf(req.SwIfIndex, func(t *vxlanGpe) {
			c.Send(&vxlan_gpe.VxlanGpeTunnelV2Details{
				SwIfIndex: interface_types.InterfaceIndex(t.swIndex), Local: t.Local, Remote: t.Remote,
				LocalPort: t.LocalPort, RemotePort: t.RemotePort, Vni: t.Vni, Protocol: t.Protocol,
				McastSwIfIndex: t.McastSwIfIndex, EncapVrfID: t.EncapVrfID, DecapVrfID: t.DecapVrfID,
			})
		})
	})
	wire.HandleDump(n.server, func(c *wire.Call, req *vxlan_gpe.VxlanGpeTunnelDump) {
		n.vxlanGpesOf(req.SwIfIndex, func(t *vxlanGpe) {
			c.Send(&vxlan_gpe.VxlanGpeTunnelDetails{
				SwIfIndex: interface_types.InterfaceIndex(t.swIndex), Local: t.Local, Remote: t.Remote, Vni: t.Vni,
				Protocol: t.Protocol, McastSwIfIndex: t.McastSwIfIndex, EncapVrfID: t.EncapVrfID, DecapVrfID: t.DecapVrfID,
			})
		})
	})
}

func (n *VNet) vxlanGpesOf(index interface_types.InterfaceIndex, send func(*vxlanGpe)) {
	for _, t := range n.tunnels.gpes.all() {
		if index == noInterface || uint32(index) == t.swIndex {
			send(t)
		}
	}
}

// setVxlanGpe looks for tables among those of IPv4, whatever the addresses.
func (n *VNet) setVxlanGpe(req vxlan_gpe.VxlanGpeAddDelTunnelV2) (interface_types.InterfaceIndex, api.VPPApiError) {
	switch {
	case n.fibs.Table(ip4, req.EncapVrfID) == nil:
		return noInterface, api.NO_SUCH_FIB
	case req.Protocol == gpeIP4 && n.fibs.Table(ip4, req.DecapVrfID) == nil:
		return noInterface, api.NO_SUCH_INNER_FIB
	case addrOf(req.Local) == addrOf(req.Remote):
		return noInterface, api.SAME_SRC_DST
	}
	for _, port := range []*uint16{&req.LocalPort, &req.RemotePort} {
		if *port == 0 {
			*port = vxlanGpePort
		}
	}
	t := &vxlanGpe{VxlanGpeAddDelTunnelV2: req}
	for instance, has := range n.tunnels.gpes.all() {
		if has.key() != t.key() {
			continue
		}
		if req.IsAdd {
			return noInterface, api.TUNNEL_EXIST
		}
		n.tunnels.gpes.remove(instance)
		n.park(&n.tunnels.gpes.parked, n.ifs.at(has.swIndex))
		return interface_types.InterfaceIndex(has.swIndex), ok
	}
	if !req.IsAdd {
		return noInterface, api.NO_SUCH_ENTRY
	}
	i := n.unpark(&n.tunnels.gpes.parked)
	if i == nil {
		i = n.newTunnel(fmt.Sprintf("vxlan_gpe_tunnel%d", n.tunnels.gpes.next()), vxlanGpeDevice, 0)
	}
	t.swIndex, i.hw.instance = i.index, n.tunnels.gpes.add(t)
	n.setAdmin(i, true)
	return interface_types.InterfaceIndex(i.index), ok
}
