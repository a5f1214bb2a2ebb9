package vppcalls

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/rdma"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// RdmaDevice is the device class of RDMA interfaces.
const RdmaDevice = "RDMA interface"

// RdmaParams describe an RDMA interface to create.
type RdmaParams struct {
	// HostIfName is the interface of the kernel; VPP gives its name to its own.
	HostIfName string
	// Mode is in the numbers of VPP.
	Mode uint32
	// RxQueues is a number of queues, the sizes are numbers of descriptors.
	RxQueues, RxQueueSize, TxQueueSize uint16
}

var createRdma = session.Declare(&Operations, "interface RDMA", "rdma",
	session.Variant((*Calls).createRdmaV4, (*rdma.RdmaCreateV4)(nil), (*rdma.RdmaCreateV4Reply)(nil)),
	session.Variant((*Calls).createRdmaV3, (*rdma.RdmaCreateV3)(nil), (*rdma.RdmaCreateV3Reply)(nil)))

// errNoRdma is what VPP does not say itself: without RDMA devices it reports the
// success of creating local0.
var errNoRdma = errors.New("the machine has no RDMA devices; is the kernel module ib_uverbs loaded?")

// CreateRdma makes an interface beside that of the kernel.
func (c *Calls) CreateRdma(ctx context.Context, p RdmaParams) (swIfIndex uint32, err error) {
	create, err := createRdma.On(c.vpp)
	if err != nil {
		return NoInterface, err
	}
	swIfIndex, err = create(c, ctx, p)
	switch {
	case err == nil && swIfIndex == 0:
		return NoInterface, errNoRdma
	case errors.Is(err, api.INVALID_INTERFACE):
		err = fmt.Errorf("host interface %q is not one of a device that VPP can use by RDMA (mlx5): %w", p.HostIfName, err)
	}
	return swIfIndex, err
}

func (c *Calls) createRdmaV4(ctx context.Context, p RdmaParams) (uint32, error) {
	reply := &rdma.RdmaCreateV4Reply{}
	err := c.vpp.Call(ctx, &rdma.RdmaCreateV4{
		HostIf: p.HostIfName, Name: p.HostIfName, Mode: rdma.RdmaMode(p.Mode),
		RxqNum: p.RxQueues, RxqSize: p.RxQueueSize, TxqSize: p.TxQueueSize,
	}, reply)
	return uint32(reply.SwIfIndex), err
}

// createRdmaV3 writes the mode in the byte order of the host, in which VPP reads
// it in this message.
func (c *Calls) createRdmaV3(ctx context.Context, p RdmaParams) (uint32, error) {
	reply := &rdma.RdmaCreateV3Reply{}
	err := c.vpp.Call(ctx, &rdma.RdmaCreateV3{
		HostIf: p.HostIfName, Name: p.HostIfName, Mode: rdma.RdmaMode(bits.ReverseBytes32(p.Mode)),
		RxqNum: p.RxQueues, RxqSize: p.RxQueueSize, TxqSize: p.TxQueueSize,
	}, reply)
	return uint32(reply.SwIfIndex), err
}

// DeleteRdma deletes an RDMA interface. If it does not exist, that is a success.
func (c *Calls) DeleteRdma(ctx context.Context, swIfIndex uint32) error {
	err := c.vpp.Call(ctx, &rdma.RdmaDelete{SwIfIndex: interface_types.InterfaceIndex(swIfIndex)}, &rdma.RdmaDeleteReply{})
	if session.Gone(err) || errors.Is(err, api.INVALID_INTERFACE) {
		return nil
	}
	return err
}
