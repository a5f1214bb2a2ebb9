package vnet

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ethernet_types"
	interfaces_api "go.fd.io/govpp/binapi/interface"
)

const (
	loopbackDevice = "Loopback"
	// maxLoopbacks is the number of loopback instances of a VPP.
	maxLoopbacks = 16 * 1024
)

// loopbacks are the numbers of the loopback interfaces.
type loopbacks struct {
	*VNet
	ids instances
}

func newLoopbacks(n *VNet) feature { return &loopbacks{VNet: n} }

func (ls *loopbacks) register(server *wire.Server) {
	handleCreate[interfaces_api.CreateLoopbackReply](server, func(req *interfaces_api.CreateLoopback) (ifIndex, retval) {
		return ls.createLoopback(req.MacAddress, nil)
	})
	handleCreate[interfaces_api.CreateLoopbackInstanceReply](server, func(req *interfaces_api.CreateLoopbackInstance) (ifIndex, retval) {
		var instance *uint32
		if req.IsSpecified {
			instance = &req.UserInstance
		}
		return ls.createLoopback(req.MacAddress, instance)
	})
	handle[interfaces_api.DeleteLoopbackReply](server, ls.deleteLoopback)
}

func (ls *loopbacks) reset() { ls.ids = instances{} }

// createLoopback makes loop<instance>, the lowest free instance if none is asked
// for. Its link follows the admin state. Without a MAC it gets de:ad:00:00:00:<instance>.
func (ls *loopbacks) createLoopback(mac ethernet_types.MacAddress, want *uint32) (ifIndex, retval) {
	refused := noInterface
	var instance uint32
	switch {
	case want != nil:
		instance = *want
		if instance >= maxLoopbacks || !ls.ids.claim(instance) {
			return refused, api.INVALID_REGISTRATION
		}
	case ls.ids.len() >= maxLoopbacks:
		return refused, api.INVALID_REGISTRATION
	default:
		instance = ls.ids.take()
	}
	if mac == (ethernet_types.MacAddress{}) {
		mac = ethernet_types.MacAddress{0xde, 0xad, 0, 0, 0, byte(instance)}
	}
	hw := &hwInterface{
		name: fmt.Sprintf("loop%d", instance), device: loopbackDevice, instance: instance,
		ethernet: true, mac: mac,
	}
	ls.linkFollowsAdmin(hw)
	i := ls.createHardware(hw)
	i.l2.flood = floodNone
	return ifIndex(i.index), ok
}

// deleteLoopback removes the loopback that an index belongs to; the index of a
// sub-interface removes its parent.
func (ls *loopbacks) deleteLoopback(req *interfaces_api.DeleteLoopback) retval {
	i := ls.byIndex(req.SwIfIndex)
	if i == nil || i.hw.device != loopbackDevice {
		return api.INVALID_SW_IF_INDEX
	}
	ls.ids.release(i.hw.instance)
	ls.deleteHardware(i.hw)
	return ok
}
