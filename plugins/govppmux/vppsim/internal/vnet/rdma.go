package vnet

import (
	"fmt"
	"math/bits"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/rdma"
)

const (
	rdmaDevice = "RDMA interface"
	// rdmaQueue and minRdmaQueue are sizes of queues, rdmaQueues their number.
	rdmaQueue    = 1024
	minRdmaQueue = 256
	rdmaQueues   = 2
)

func (n *VNet) handleRdmas() {
	wire.Handle(n.server, func(_ *wire.Call, req *rdma.RdmaCreateV4) *rdma.RdmaCreateV4Reply {
		index, rv := n.createRdma(*req)
		return &rdma.RdmaCreateV4Reply{Retval: int32(rv), SwIfIndex: index}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *rdma.RdmaCreateV3) *rdma.RdmaCreateV3Reply {
		// VPP reads the mode in the byte order of the host.
		index, rv := n.createRdma(rdma.RdmaCreateV4{
			HostIf: req.HostIf, Name: req.Name, RxqNum: req.RxqNum, RxqSize: req.RxqSize, TxqSize: req.TxqSize,
			Mode: rdma.RdmaMode(bits.ReverseBytes32(uint32(req.Mode))), NoMultiSeg: req.NoMultiSeg, MaxPktlen: req.MaxPktlen,
		})
		return &rdma.RdmaCreateV3Reply{Retval: int32(rv), SwIfIndex: index}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *rdma.RdmaDelete) *rdma.RdmaDeleteReply {
		i := n.byIndex(req.SwIfIndex)
		if i == nil || i.hw.device != rdmaDevice {
			return &rdma.RdmaDeleteReply{Retval: int32(api.INVALID_INTERFACE)}
		}
		n.deleteHardware(i.hw)
		return &rdma.RdmaDeleteReply{}
	})
}

// createRdma makes an interface beside that of the kernel. Without any RDMA
// device VPP says that all is well and that the index is 0, which is local0.
func (n *VNet) createRdma(req rdma.RdmaCreateV4) (interface_types.InterfaceIndex, api.VPPApiError) {
	for _, size := range []*uint16{&req.RxqSize, &req.TxqSize} {
		if *size == 0 {
			*size = rdmaQueue
		}
		if *size < minRdmaQueue || *size&(*size-1) != 0 {
			return 0, api.INVALID_VALUE
		}
	}
	if n.cfg.HostInterface != nil && !n.cfg.HostInterface(req.HostIf) {
		return 0, ok
	}
	if req.RxqNum == 0 {
		req.RxqNum = rdmaQueues
	}
	if req.Name == "" {
		req.Name = fmt.Sprintf("%s/0", req.HostIf)
	}
	hw := &hwInterface{
		name: req.Name, device: rdmaDevice, ethernet: true, mac: n.randomMAC(),
		rxQueues: makeQueues(req.RxqNum, interface_types.RX_MODE_API_POLLING),
	}
	hw.adminChanged = func(up bool) { n.setLink(hw, up) }
	return interface_types.InterfaceIndex(n.createHardware(hw).index), ok
}
