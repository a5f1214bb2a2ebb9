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
type vmxnet3s struct {
	*VNet
	kind[vmxnet3.Vmxnet3Create]
}

func newVmxnet3s(n *VNet) feature { return &vmxnet3s{VNet: n} }

func (vs *vmxnet3s) register(server *wire.Server) {
	handleCreate[vmxnet3.Vmxnet3CreateReply](server, vs.createVmxnet3)
	handle[vmxnet3.Vmxnet3DeleteReply](server, func(req *vmxnet3.Vmxnet3Delete) retval {
		i := vs.byIndex(req.SwIfIndex)
		if i == nil || i.hw.device != vmxnet3Device {
			return api.INVALID_SW_IF_INDEX
		}
		vs.remove(i.hw.instance)
		vs.deleteHardware(i.hw)
		return ok
	})
	wire.HandleDump(server, func(c *wire.Call, req *vmxnet3.SwVmxnet3InterfaceDump) {
		for index, config := range vs.of(req.SwIfIndex) {
			c.Send(vs.vmxnet3Details(index, config))
		}
	})
}

func (vs *vmxnet3s) reset() { vs.kind = kind[vmxnet3.Vmxnet3Create]{} }

// createVmxnet3 makes vmxnet3-<domain>/<bus>/<slot>/<function> of a device that
// the world around has.
func (vs *vmxnet3s) createVmxnet3(req *vmxnet3.Vmxnet3Create) (ifIndex, retval) {
	for _, size := range []*uint16{&req.RxqSize, &req.TxqSize} {
		if *size == 0 {
			*size = vmxnet3Queue
		}
	}
	req.RxqNum, req.TxqNum = max(1, req.RxqNum), max(1, req.TxqNum)
	if req.RxqNum > maxVmxnet3Queues || !vmxnet3QueueValid(req.RxqSize) || !vmxnet3QueueValid(req.TxqSize) {
		return 0, api.INVALID_VALUE
	}
	if _, has := vs.with(func(has *vmxnet3.Vmxnet3Create) bool { return has.PciAddr == req.PciAddr }); has != nil {
		return 0, api.ADDRESS_IN_USE
	}
	if vs.cfg.PCIDevice != nil && !vs.cfg.PCIDevice(req.PciAddr) {
		return 0, api.INVALID_INTERFACE
	}
	a := req.PciAddr
	hw := &hwInterface{
		name:   fmt.Sprintf("vmxnet3-%x/%x/%x/%x", a&0xffff, a>>16&0xff, a>>24&0x1f, a>>29),
		device: vmxnet3Device, ethernet: true, mac: vs.randomMAC(),
		rxQueues: makeQueues(req.RxqNum, interface_types.RX_MODE_API_POLLING),
	}
	vs.linkFollowsAdmin(hw)
	i := vs.createHardware(hw)
	vs.keep(i, req)
	return ifIndex(i.index), ok
}

func vmxnet3QueueValid(size uint16) bool {
	return size >= vmxnet3QueueStep && size <= maxVmxnet3Queue && size%vmxnet3QueueStep == 0
}

// vmxnet3Details describes a card. VPP sends it under the name of vmxnet3_details,
// which has the same layout; the tables of releases do not list that.
func (vs *vmxnet3s) vmxnet3Details(index ifIndex, config *vmxnet3.Vmxnet3Create) *vmxnet3.SwVmxnet3InterfaceDetails {
	i := vs.byIndex(index)
	d := &vmxnet3.SwVmxnet3InterfaceDetails{
		SwIfIndex: index, IfName: i.name(), HwAddr: i.hw.mac,
		PciAddr: config.PciAddr, AdminUpDown: i.adminUp,
		RxCount: uint8(config.RxqNum), TxCount: uint8(config.TxqNum),
	}
	for at := range d.RxList {
		l := &d.RxList[at]
		l.RxFill, l.RxProduce, l.RxConsume = make([]uint16, 2), make([]uint16, 2), make([]uint16, 2)
		if at < int(config.RxqNum) {
			l.RxQsize = config.RxqSize
		}
	}
	for at := range min(len(d.TxList), int(config.TxqNum)) {
		d.TxList[at].TxQsize = config.TxqSize
	}
	return d
}
