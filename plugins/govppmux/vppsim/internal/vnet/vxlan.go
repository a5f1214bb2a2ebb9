package vnet

import (
	"fmt"
	"net/netip"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/vxlan"
)

const (
	vxlanDevice = "VXLAN"
	vxlanPort   = 4789
	// inputL2 is the node after decapsulation that is chosen for ~0, inputNodes how
	// many VPP has without plugins that add some.
	inputL2    = 1
	inputNodes = 2
)

type vxlans struct {
	pool[vxlanTunnel]
	names instances
}

type vxlanTunnel struct {
	swIndex uint32
	vxlan.VxlanAddDelTunnelV3
}

// key is what no two tunnels may share. The source is no part of it for IPv6, nor
// for multicast groups.
func (t *vxlanTunnel) key() any {
	type key struct {
		src, dst netip.Addr
		port     uint16
		vrf, vni uint32
	}
	k := key{addrOf(t.SrcAddress), addrOf(t.DstAddress), t.SrcPort, t.EncapVrfID, t.Vni}
	if k.dst.IsMulticast() || k.dst.Is6() {
		k.src = netip.Addr{}
	}
	return k
}

func (n *VNet) handleVxlans() {
	wire.Handle(n.server, func(_ *wire.Call, req *vxlan.VxlanAddDelTunnelV3) *vxlan.VxlanAddDelTunnelV3Reply {
		index, rv := n.setVxlan(*req)
		return &vxlan.VxlanAddDelTunnelV3Reply{Retval: int32(rv), SwIfIndex: index}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *vxlan.VxlanAddDelTunnel) *vxlan.VxlanAddDelTunnelReply {
		index, rv := n.setVxlan(vxlan.VxlanAddDelTunnelV3{
			IsAdd: req.IsAdd, Instance: req.Instance, SrcAddress: req.SrcAddress, DstAddress: req.DstAddress,
			McastSwIfIndex: req.McastSwIfIndex, EncapVrfID: req.EncapVrfID, DecapNextIndex: req.DecapNextIndex, Vni: req.Vni,
		})
		return &vxlan.VxlanAddDelTunnelReply{Retval: int32(rv), SwIfIndex: index}
	})
	wire.HandleDump(n.server, func(c *wire.Call, req *vxlan.VxlanTunnelV2Dump) {
		n.vxlansOf(req.SwIfIndex, func(t *vxlanTunnel) {
			c.Send(&vxlan.VxlanTunnelV2Details{
				SwIfIndex: interface_types.InterfaceIndex(t.swIndex), Instance: t.Instance,
				SrcAddress: t.SrcAddress, DstAddress: t.DstAddress, SrcPort: t.SrcPort, DstPort: t.DstPort,
				McastSwIfIndex: t.McastSwIfIndex, EncapVrfID: t.EncapVrfID, DecapNextIndex: t.DecapNextIndex, Vni: t.Vni,
			})
		})
	})
	wire.HandleDump(n.server, func(c *wire.Call, req *vxlan.VxlanTunnelDump) {
		n.vxlansOf(req.SwIfIndex, func(t *vxlanTunnel) {
			c.Send(&vxlan.VxlanTunnelDetails{
				SwIfIndex: interface_types.InterfaceIndex(t.swIndex), Instance: t.Instance,
				SrcAddress: t.SrcAddress, DstAddress: t.DstAddress, McastSwIfIndex: t.McastSwIfIndex,
				EncapVrfID: t.EncapVrfID, DecapNextIndex: t.DecapNextIndex, Vni: t.Vni,
			})
		})
	})
}

func (n *VNet) vxlansOf(index interface_types.InterfaceIndex, send func(*vxlanTunnel)) {
	for _, t := range n.tunnels.vxlans.all() {
		if index == noInterface || uint32(index) == t.swIndex {
			send(t)
		}
	}
}

func (n *VNet) setVxlan(req vxlan.VxlanAddDelTunnelV3) (interface_types.InterfaceIndex, api.VPPApiError) {
	f := familyOf(addrOf(req.SrcAddress))
	switch {
	case n.fibs.Table(f, req.EncapVrfID) == nil:
		return noInterface, api.NO_SUCH_FIB
	case !sameFamily(req.SrcAddress, req.DstAddress):
		return noInterface, api.INVALID_VALUE
	case addrOf(req.SrcAddress) == addrOf(req.DstAddress):
		return noInterface, api.SAME_SRC_DST
	case n.noGroupInterface(req.DstAddress, req.McastSwIfIndex):
		return noInterface, api.INVALID_SW_IF_INDEX
	}
	for _, port := range []*uint16{&req.SrcPort, &req.DstPort} {
		if *port == 0 {
			*port = vxlanPort
		}
	}
	t := &vxlanTunnel{VxlanAddDelTunnelV3: req}
	for instance, has := range n.tunnels.vxlans.all() {
		if has.key() != t.key() {
			continue
		}
		if req.IsAdd {
			return noInterface, api.TUNNEL_EXIST
		}
		n.tunnels.vxlans.names.release(has.Instance)
		n.tunnels.vxlans.remove(instance)
		n.deleteHardware(n.ifs.at(has.swIndex).hw)
		return interface_types.InterfaceIndex(has.swIndex), ok
	}
	if !req.IsAdd {
		return noInterface, api.NO_SUCH_ENTRY
	}
	return n.addVxlan(t)
}

// addVxlan makes vxlan_tunnel<instance>, up.
func (n *VNet) addVxlan(t *vxlanTunnel) (interface_types.InterfaceIndex, api.VPPApiError) {
	if t.DecapNextIndex == none {
		t.DecapNextIndex = inputL2
	}
	if t.DecapNextIndex >= inputNodes {
		return noInterface, api.INVALID_DECAP_NEXT
	}
	if t.Instance == none {
		t.Instance = n.tunnels.vxlans.next()
	}
	if !n.tunnels.vxlans.names.claim(t.Instance) {
		return noInterface, api.INSTANCE_IN_USE
	}
	hw := &hwInterface{
		name: fmt.Sprintf("vxlan_tunnel%d", t.Instance), device: vxlanDevice, ethernet: !t.IsL3, anyFrame: true,
	}
	if hw.ethernet {
		hw.mac = n.randomMAC()
	}
	hw.adminChanged = func(up bool) { n.setLink(hw, up) }
	i := n.createHardware(hw)
	t.swIndex, hw.instance = i.index, n.tunnels.vxlans.add(t)
	n.setAdmin(i, true)
	return interface_types.InterfaceIndex(i.index), ok
}
