package vnet

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
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
	*VNet
	kind[vxlan.VxlanAddDelTunnelV3]
}

// vxlanKey is what no two tunnels may share. The source is no part of it for IPv6, nor
// for multicast groups.
func vxlanKey(t *vxlan.VxlanAddDelTunnelV3) any {
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

func newVxlans(n *VNet) feature { return &vxlans{VNet: n} }

func (vs *vxlans) register(server *wire.Server) {
	handleCreate[vxlan.VxlanAddDelTunnelV3Reply](server, vs.setVxlan)
	handleCreate[vxlan.VxlanAddDelTunnelReply](server, func(req *vxlan.VxlanAddDelTunnel) (ifIndex, retval) {
		return vs.setVxlan(&vxlan.VxlanAddDelTunnelV3{
			IsAdd: req.IsAdd, Instance: req.Instance, SrcAddress: req.SrcAddress, DstAddress: req.DstAddress,
			McastSwIfIndex: req.McastSwIfIndex, EncapVrfID: req.EncapVrfID, DecapNextIndex: req.DecapNextIndex, Vni: req.Vni,
		})
	})
	wire.HandleDump(server, func(c *wire.Call, req *vxlan.VxlanTunnelV2Dump) {
		for index, t := range vs.of(req.SwIfIndex) {
			c.Send(&vxlan.VxlanTunnelV2Details{
				SwIfIndex: index, Instance: t.Instance,
				SrcAddress: t.SrcAddress, DstAddress: t.DstAddress, SrcPort: t.SrcPort, DstPort: t.DstPort,
				McastSwIfIndex: t.McastSwIfIndex, EncapVrfID: t.EncapVrfID, DecapNextIndex: t.DecapNextIndex, Vni: t.Vni,
			})
		}
	})
	wire.HandleDump(server, func(c *wire.Call, req *vxlan.VxlanTunnelDump) {
		for index, t := range vs.of(req.SwIfIndex) {
			c.Send(&vxlan.VxlanTunnelDetails{
				SwIfIndex: index, Instance: t.Instance,
				SrcAddress: t.SrcAddress, DstAddress: t.DstAddress, McastSwIfIndex: t.McastSwIfIndex,
				EncapVrfID: t.EncapVrfID, DecapNextIndex: t.DecapNextIndex, Vni: t.Vni,
			})
		}
	})
}

func (vs *vxlans) reset() { vs.kind = kind[vxlan.VxlanAddDelTunnelV3]{} }

func (vs *vxlans) dumpInterface(b *strings.Builder, i *swInterface) {
	if i.hw.device == vxlanDevice {
		for _, t := range vs.of(ifIndex(i.index)) {
			fmt.Fprintf(b, "  tunnel %s to %s vni %d\n", addrOf(t.SrcAddress), addrOf(t.DstAddress), t.Vni)
		}
	}
}

func (vs *vxlans) setVxlan(req *vxlan.VxlanAddDelTunnelV3) (ifIndex, retval) {
	f := familyOf(addrOf(req.SrcAddress))
	switch {
	case vs.fibs.Table(f, req.EncapVrfID) == nil:
		return noInterface, api.NO_SUCH_FIB
	case !sameFamily(req.SrcAddress, req.DstAddress):
		return noInterface, api.INVALID_VALUE
	case addrOf(req.SrcAddress) == addrOf(req.DstAddress):
		return noInterface, api.SAME_SRC_DST
	case vs.noGroupInterface(req.DstAddress, req.McastSwIfIndex):
		return noInterface, api.INVALID_SW_IF_INDEX
	}
	for _, port := range []*uint16{&req.SrcPort, &req.DstPort} {
		if *port == 0 {
			*port = vxlanPort
		}
	}
	instance, has := vs.with(func(has *vxlan.VxlanAddDelTunnelV3) bool { return vxlanKey(has) == vxlanKey(req) })
	switch {
	case req.IsAdd && has != nil:
		return noInterface, api.TUNNEL_EXIST
	case req.IsAdd:
		return vs.addVxlan(req)
	case has == nil:
		return noInterface, api.NO_SUCH_ENTRY
	}
	vs.names.release(has.config.Instance)
	vs.remove(instance)
	vs.deleteHardware(vs.ifs.at(has.swIndex).hw)
	return ifIndex(has.swIndex), ok
}

// addVxlan makes vxlan_tunnel<instance>, up.
func (vs *vxlans) addVxlan(t *vxlan.VxlanAddDelTunnelV3) (ifIndex, retval) {
	if t.DecapNextIndex == none {
		t.DecapNextIndex = inputL2
	}
	if t.DecapNextIndex >= inputNodes {
		return noInterface, api.INVALID_DECAP_NEXT
	}
	if t.Instance == none {
		t.Instance = vs.next()
	}
	if !vs.names.claim(t.Instance) {
		return noInterface, api.INSTANCE_IN_USE
	}
	hw := &hwInterface{
		name: fmt.Sprintf("vxlan_tunnel%d", t.Instance), device: vxlanDevice, ethernet: !t.IsL3, anyFrame: true,
	}
	if hw.ethernet {
		hw.mac = vs.randomMAC()
	}
	vs.linkFollowsAdmin(hw)
	i := vs.createHardware(hw)
	vs.keep(i, t)
	vs.setAdmin(i, true)
	return ifIndex(i.index), ok
}
