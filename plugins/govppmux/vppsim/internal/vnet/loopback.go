package vnet

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ethernet_types"
	interfaces_api "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
)

const (
	loopbackDevice = "Loopback"
	// maxLoopbacks is the number of loopback instances of a VPP.
	maxLoopbacks = 16 * 1024
)

func (n *VNet) handleLoopbacks() {
	wire.Handle(n.server, func(_ *wire.Call, req *interfaces_api.CreateLoopback) *interfaces_api.CreateLoopbackReply {
		index, rv := n.createLoopback(req.MacAddress, nil)
		return &interfaces_api.CreateLoopbackReply{Retval: int32(rv), SwIfIndex: index}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *interfaces_api.CreateLoopbackInstance) *interfaces_api.CreateLoopbackInstanceReply {
		var instance *uint32
		if req.IsSpecified {
			instance = &req.UserInstance
		}
		index, rv := n.createLoopback(req.MacAddress, instance)
		return &interfaces_api.CreateLoopbackInstanceReply{Retval: int32(rv), SwIfIndex: index}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *interfaces_api.DeleteLoopback) *interfaces_api.DeleteLoopbackReply {
		return &interfaces_api.DeleteLoopbackReply{Retval: int32(n.deleteLoopback(req.SwIfIndex))}
	})
}

// createLoopback makes loop<instance>, the lowest free instance if none is asked
// for. Its link follows the admin state. Without a MAC it gets de:ad:00:00:00:<instance>.
func (n *VNet) createLoopback(mac ethernet_types.MacAddress, want *uint32) (interface_types.InterfaceIndex, api.VPPApiError) {
	refused := interface_types.InterfaceIndex(none)
	var instance uint32
	switch {
	case want != nil:
		instance = *want
		if instance >= maxLoopbacks || !n.ifs.loops.claim(instance) {
			return refused, api.INVALID_REGISTRATION
		}
	case n.ifs.loops.len() >= maxLoopbacks:
		return refused, api.INVALID_REGISTRATION
	default:
		instance = n.ifs.loops.take()
	}
	if mac == (ethernet_types.MacAddress{}) {
		mac = ethernet_types.MacAddress{0xde, 0xad, 0, 0, 0, byte(instance)}
	}
	hw := &hwInterface{
		name: fmt.Sprintf("loop%d", instance), device: loopbackDevice, instance: instance,
		ethernet: true, mac: mac,
	}
	hw.adminChanged = func(up bool) { n.setLink(hw, up) }
	i := n.createHardware(hw)
	i.l2.flood = floodNone
	return interface_types.InterfaceIndex(i.index), ok
}

// deleteLoopback removes the loopback that an index belongs to; the index of a
// sub-interface removes its parent.
func (n *VNet) deleteLoopback(index interface_types.InterfaceIndex) api.VPPApiError {
	i := n.byIndex(index)
	if i == nil || i.hw.device != loopbackDevice {
		return api.INVALID_SW_IF_INDEX
	}
	n.ifs.loops.release(i.hw.instance)
	n.deleteHardware(i.hw)
	return ok
}
