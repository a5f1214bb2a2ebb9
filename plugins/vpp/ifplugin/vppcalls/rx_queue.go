package vppcalls

import (
	"context"

	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

var (
	setRxModes = session.Require("interface: rx modes", "",
		(*interfaces.SwInterfaceSetRxMode)(nil), (*interfaces.SwInterfaceSetRxModeReply)(nil))
	setRxPlacement = session.Require("interface: rx placement", "",
		(*interfaces.SwInterfaceSetRxPlacement)(nil), (*interfaces.SwInterfaceSetRxPlacementReply)(nil))
)

// RxMode is how a receive queue is served.
type RxMode = interface_types.RxMode

// The modes. VPP's own "default" is not among them: it means polling, whatever
// the type of interface.
const (
	RxPolling   = interface_types.RX_MODE_API_POLLING
	RxInterrupt = interface_types.RX_MODE_API_INTERRUPT
	RxAdaptive  = interface_types.RX_MODE_API_ADAPTIVE
)

// RxQueue is a receive queue as VPP has it.
type RxQueue struct {
	ID   uint32
	Mode RxMode
	// Thread is 0 for the main thread, and one more than the number of the
	// worker for the others.
	Thread uint32
}

// SetRxModes sets the mode of all queues of an interface.
func (c *Calls) SetRxModes(ctx context.Context, swIfIndex uint32, mode RxMode) error {
	return c.call(ctx, setRxModes, &interfaces.SwInterfaceSetRxMode{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex), Mode: mode,
	}, &interfaces.SwInterfaceSetRxModeReply{})
}

// SetRxMode sets the mode of one queue.
func (c *Calls) SetRxMode(ctx context.Context, swIfIndex, queue uint32, mode RxMode) error {
	return c.call(ctx, setRxModes, &interfaces.SwInterfaceSetRxMode{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex), QueueIDValid: true, QueueID: queue, Mode: mode,
	}, &interfaces.SwInterfaceSetRxModeReply{})
}

// SetRxPlacement makes a worker serve a queue, or the main thread.
func (c *Calls) SetRxPlacement(ctx context.Context, swIfIndex, queue, worker uint32, mainThread bool) error {
	req := &interfaces.SwInterfaceSetRxPlacement{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex), QueueID: queue, IsMain: mainThread,
	}
	if !mainThread {
		req.WorkerID = worker
	}
	return c.call(ctx, setRxPlacement, req, &interfaces.SwInterfaceSetRxPlacementReply{})
}

// DumpRxQueues returns the receive queues of all interfaces, by the index of the
// interface.
func (c *Calls) DumpRxQueues(ctx context.Context) (map[uint32][]RxQueue, error) {
	found, err := session.Dump[*interfaces.SwInterfaceRxPlacementDetails](ctx, c.vpp, &interfaces.SwInterfaceRxPlacementDump{
		SwIfIndex: interface_types.InterfaceIndex(NoInterface),
	})
	if err != nil {
		return nil, err
	}
	out := map[uint32][]RxQueue{}
	for _, d := range found {
		idx := uint32(d.SwIfIndex)
		out[idx] = append(out[idx], RxQueue{ID: d.QueueID, Mode: d.Mode, Thread: d.WorkerID})
	}
	return out, nil
}
