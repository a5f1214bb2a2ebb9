package vnet

import (
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	interfaces_api "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
)

// makeQueues gives a device n receive queues in the given mode.
func makeQueues(n uint16, mode interface_types.RxMode) []rxQueue {
	queues := make([]rxQueue, max(1, n))
	for id := range queues {
		queues[id] = rxQueue{id: uint32(id), mode: mode}
	}
	return queues
}

func (n *VNet) handleRxQueues() {
	wire.Handle(n.server, n.swInterfaceSetRxMode)
	wire.Handle(n.server, n.swInterfaceSetRxPlacement)
	wire.HandleDump(n.server, n.rxPlacementDump)
}

// setRxMode sets the mode of one queue or, without one, of all. DEFAULT is polling.
func (hw *hwInterface) setRxMode(queue *uint32, mode interface_types.RxMode) api.VPPApiError {
	if mode == interface_types.RX_MODE_API_DEFAULT {
		mode = interface_types.RX_MODE_API_POLLING
	}
	if queue != nil && uint64(*queue) >= uint64(len(hw.rxQueues)) {
		return api.UNIMPLEMENTED
	}
	for at := range hw.rxQueues {
		q := &hw.rxQueues[at]
		if (queue != nil && q.id != *queue) || q.mode == mode {
			continue
		}
		if mode == interface_types.RX_MODE_API_ADAPTIVE && !hw.adaptive {
			return api.UNIMPLEMENTED
		}
		q.mode = mode
	}
	return ok
}

func (n *VNet) swInterfaceSetRxMode(_ *wire.Call, req *interfaces_api.SwInterfaceSetRxMode) *interfaces_api.SwInterfaceSetRxModeReply {
	rv := ok
	i := n.byIndex(req.SwIfIndex)
	var queue *uint32
	if req.QueueIDValid {
		queue = &req.QueueID
	}
	switch {
	case i == nil:
		rv = api.INVALID_SW_IF_INDEX
	case i.isSub:
		rv = api.INVALID_VALUE
	default:
		rv = i.hw.setRxMode(queue, req.Mode)
	}
	return &interfaces_api.SwInterfaceSetRxModeReply{Retval: int32(rv)}
}

// swInterfaceSetRxPlacement: without worker threads all that can be chosen is the
// main thread, by name or as worker 0.
func (n *VNet) swInterfaceSetRxPlacement(_ *wire.Call, req *interfaces_api.SwInterfaceSetRxPlacement) *interfaces_api.SwInterfaceSetRxPlacementReply {
	rv := ok
	switch i := n.byIndex(req.SwIfIndex); {
	case i == nil:
		rv = api.INVALID_SW_IF_INDEX
	case i.isSub:
		rv = api.INVALID_VALUE
	case !req.IsMain && req.WorkerID > 0, uint64(req.QueueID) >= uint64(len(i.hw.rxQueues)):
		rv = api.UNIMPLEMENTED
	}
	return &interfaces_api.SwInterfaceSetRxPlacementReply{Retval: int32(rv)}
}

func (n *VNet) rxPlacementDump(c *wire.Call, req *interfaces_api.SwInterfaceRxPlacementDump) {
	for _, i := range n.ifs.all() {
		if i.isSub || (uint32(req.SwIfIndex) != none && uint32(req.SwIfIndex) != i.index) {
			continue
		}
		for _, q := range i.hw.rxQueues {
			c.Send(&interfaces_api.SwInterfaceRxPlacementDetails{
				SwIfIndex: interface_types.InterfaceIndex(i.index), QueueID: q.id, Mode: q.mode,
			})
		}
	}
}
