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

// rdmas are the RDMA interfaces, which have no state of their own.
type rdmas struct{ *VNet }

func newRdmas(n *VNet) feature { return &rdmas{VNet: n} }

func (rs *rdmas) register(server *wire.Server) {
	handleCreate[rdma.RdmaCreateV4Reply](server, rs.createRdma)
	handleCreate[rdma.RdmaCreateV3Reply](server, func(req *rdma.RdmaCreateV3) (ifIndex, retval) {
		// VPP reads the mode in the byte order of the host.
		return rs.createRdma(&rdma.RdmaCreateV4{
			HostIf: req.HostIf, Name: req.Name, RxqNum: req.RxqNum, RxqSize: req.RxqSize, TxqSize: req.TxqSize,
			Mode: rdma.RdmaMode(bits.ReverseBytes32(uint32(req.Mode))), NoMultiSeg: req.NoMultiSeg, MaxPktlen: req.MaxPktlen,
		})
	})
	handle[rdma.RdmaDeleteReply](server, func(req *rdma.RdmaDelete) retval {
		i := rs.byIndex(req.SwIfIndex)
		if i == nil || i.hw.device != rdmaDevice {
			return api.INVALID_INTERFACE
		}
		rs.deleteHardware(i.hw)
		return ok
	})
}

func (rs *rdmas) reset() {}

// createRdma makes an interface beside the kernel's. Without any RDMA
// device VPP says that all is well and that the index is 0, which is local0.
func (rs *rdmas) createRdma(req *rdma.RdmaCreateV4) (ifIndex, retval) {
	for _, size := range []*uint16{&req.RxqSize, &req.TxqSize} {
		if *size == 0 {
			*size = rdmaQueue
		}
		if *size < minRdmaQueue || *size&(*size-1) != 0 {
			return 0, api.INVALID_VALUE
		}
	}
	if rs.cfg.HostInterface != nil && !rs.cfg.HostInterface(req.HostIf) {
		return 0, ok
	}
	if req.RxqNum == 0 {
		req.RxqNum = rdmaQueues
	}
	if req.Name == "" {
		req.Name = fmt.Sprintf("%s/0", req.HostIf)
	}
	hw := &hwInterface{
		name: req.Name, device: rdmaDevice, ethernet: true, mac: rs.randomMAC(),
		rxQueues: makeQueues(req.RxqNum, interface_types.RX_MODE_API_POLLING),
	}
	rs.linkFollowsAdmin(hw)
	return ifIndex(rs.createHardware(hw).index), ok
}
