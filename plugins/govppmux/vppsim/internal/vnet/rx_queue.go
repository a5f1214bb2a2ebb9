package vnet

import (
	"fmt"
	"strings"

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

// rxQueues are the messages of receive queues; the devices have the queues.
type rxQueues struct{ *VNet }

func newRxQueues(n *VNet) feature { return &rxQueues{VNet: n} }

func (qs *rxQueues) register(server *wire.Server) {
	handle[interfaces_api.SwInterfaceSetRxModeReply](server, qs.swInterfaceSetRxMode)
	handle[interfaces_api.SwInterfaceSetRxPlacementReply](server, qs.swInterfaceSetRxPlacement)
	wire.HandleDump(server, qs.rxPlacementDump)
}

func (qs *rxQueues) reset() {}

func (qs *rxQueues) dumpInterface(b *strings.Builder, i *swInterface) {
	if i.isSub {
		return
	}
	for _, q := range i.hw.rxQueues {
		fmt.Fprintf(b, "  rx queue %d %s\n", q.id, q.mode)
	}
}

// setRxMode sets the mode of one queue or, without one, of all. DEFAULT is polling.
func (hw *hwInterface) setRxMode(queue *uint32, mode interface_types.RxMode) retval {
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

func (qs *rxQueues) swInterfaceSetRxMode(req *interfaces_api.SwInterfaceSetRxMode) retval {
	i := qs.byIndex(req.SwIfIndex)
	var queue *uint32
	if req.QueueIDValid {
		queue = &req.QueueID
	}
	switch {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case i.isSub:
		return api.INVALID_VALUE
	}
	return i.hw.setRxMode(queue, req.Mode)
}

// swInterfaceSetRxPlacement: without worker threads all that can be chosen is the
// main thread, by name or as worker 0.
func (qs *rxQueues) swInterfaceSetRxPlacement(req *interfaces_api.SwInterfaceSetRxPlacement) retval {
	switch i := qs.byIndex(req.SwIfIndex); {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case i.isSub:
		return api.INVALID_VALUE
	case !req.IsMain && req.WorkerID > 0, uint64(req.QueueID) >= uint64(len(i.hw.rxQueues)):
		return api.UNIMPLEMENTED
	}
	return ok
}

func (qs *rxQueues) rxPlacementDump(c *wire.Call, req *interfaces_api.SwInterfaceRxPlacementDump) {
	for _, i := range qs.ifs.all() {
		if i.isSub || !selects(req.SwIfIndex, i.index) {
			continue
		}
		for _, q := range i.hw.rxQueues {
			c.Send(&interfaces_api.SwInterfaceRxPlacementDetails{
				SwIfIndex: ifIndex(i.index), QueueID: q.id, Mode: q.mode,
			})
		}
	}
}
