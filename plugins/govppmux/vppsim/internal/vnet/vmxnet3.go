package vnet

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/vmxnet3"
)

const (
	vmxnet3Device = "VMXNET3 interface"
	// vmxnet3Queue and the others are sizes of queues.
	vmxnet3Queue     = 1024
	vmxnet3QueueStep = 64
	maxVmxnet3Queue  = 4096
	maxVmxnet3Queues = 16
)

// vmxnet3s are the network cards of a machine on VMware.
type vmxnet3s struct{ pool[vmxnet3Card] }

type vmxnet3Card struct {
	swIndex uint32
	config  vmxnet3.Vmxnet3Create
}

func (n *VNet) handleVmxnet3s() {
	wire.Handle(n.server, func(_ *wire.Call, req *vmxnet3.Vmxnet3Create) *vmxnet3.Vmxnet3CreateReply {
		index, rv := n.createVmxnet3(*req)
		return &vmxnet3.Vmxnet3CreateReply{Retval: int32(rv), SwIfIndex: index}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *vmxnet3.Vmxnet3Delete) *vmxnet3.Vmxnet3DeleteReply {
		i := n.byIndex(req.SwIfIndex)
		if i == nil || i.hw.device != vmxnet3Device {
			return &vmxnet3.Vmxnet3DeleteReply{Retval: int32(api.INVALID_SW_IF_INDEX)}
		}
		n.vmxnet3s.remove(i.hw.instance)
		n.deleteHardware(i.hw)
		return &vmxnet3.Vmxnet3DeleteReply{}
	})
	wire.HandleDump(n.server, func(c *wire.Call, req *vmxnet3.SwVmxnet3InterfaceDump) {
		for _, card := range n.vmxnet3s.all() {
			if req.SwIfIndex == noInterface || uint32(req.SwIfIndex) == card.swIndex {
				c.Send(n.vmxnet3Details(card))
			}
		}
	})
}

// createVmxnet3 makes vmxnet3-<domain>/<bus>/<slot>/<function> of a device that
// the world around has.
func (n *VNet) createVmxnet3(req vmxnet3.Vmxnet3Create) (interface_types.InterfaceIndex, api.VPPApiError) {
	for _, size := range []*uint16{&req.RxqSize, &req.TxqSize} {
		if *size == 0 {
			*size = vmxnet3Queue
		}
	}
	req.RxqNum, req.TxqNum = max(1, req.RxqNum), max(1, req.TxqNum)
	if req.RxqNum > maxVmxnet3Queues || !vmxnet3QueueValid(req.RxqSize) || !vmxnet3QueueValid(req.TxqSize) {
		return 0, api.INVALID_VALUE
	}
	for _, card := range n.vmxnet3s.all() {
		if card.config.PciAddr == req.PciAddr {
			return 0, api.ADDRESS_IN_USE
		}
	}
	if n.cfg.PCIDevice != nil && !n.cfg.PCIDevice(req.PciAddr) {
		return 0, api.INVALID_INTERFACE
	}
	a := req.PciAddr
	hw := &hwInterface{
		name:   fmt.Sprintf("vmxnet3-%x/%x/%x/%x", a&0xffff, a>>16&0xff, a>>24&0x1f, a>>29),
		device: vmxnet3Device, ethernet: true, mac: n.randomMAC(),
		rxQueues: makeQueues(req.RxqNum, interface_types.RX_MODE_API_POLLING),
	}
	hw.adminChanged = func(up bool) { n.setLink(hw, up) }
	i := n.createHardware(hw)
	hw.instance = n.vmxnet3s.add(&vmxnet3Card{swIndex: i.index, config: req})
	return interface_types.InterfaceIndex(i.index), ok
}

func vmxnet3QueueValid(size uint16) bool {
	return size >= vmxnet3QueueStep && size <= maxVmxnet3Queue && size%vmxnet3QueueStep == 0
}

// vmxnet3Details describes a card. VPP sends it under the name of vmxnet3_details,
// which has the same layout; the tables of releases do not list that.
func (n *VNet) vmxnet3Details(card *vmxnet3Card) *vmxnet3.SwVmxnet3InterfaceDetails {
	i := n.ifs.at(card.swIndex)
	d := &vmxnet3.SwVmxnet3InterfaceDetails{
		SwIfIndex: interface_types.InterfaceIndex(card.swIndex), IfName: i.name(), HwAddr: i.hw.mac,
		PciAddr: card.config.PciAddr, AdminUpDown: i.adminUp,
		RxCount: uint8(card.config.RxqNum), TxCount: uint8(card.config.TxqNum),
	}
	for at := range d.RxList {
		l := &d.RxList[at]
		l.RxFill, l.RxProduce, l.RxConsume = make([]uint16, 2), make([]uint16, 2), make([]uint16, 2)
		if at < int(card.config.RxqNum) {
			l.RxQsize = card.config.RxqSize
		}
	}
	for at := range min(len(d.TxList), int(card.config.TxqNum)) {
		d.TxList[at].TxQsize = card.config.TxqSize
	}
	return d
}
