package vppcalls

import (
	"context"
	"errors"
	"fmt"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/vmxnet3"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Vmxnet3Device is the device class of VMXNET3 interfaces.
const Vmxnet3Device = "VMXNET3 interface"

var createVmxnet3 = session.Require(&Operations, "interface VMXNET3_INTERFACE", "vmxnet3",
	(*vmxnet3.Vmxnet3Create)(nil), (*vmxnet3.Vmxnet3CreateReply)(nil))

// PCIAddress is the address of a device on the PCI bus.
type PCIAddress struct {
	Domain   uint16
	Bus      uint8
	Slot     uint8 // 5 bits
	Function uint8 // 3 bits
}

// packed is the address in one number, as VPP has it.
func (a PCIAddress) packed() uint32 {
	return uint32(a.Domain) | uint32(a.Bus)<<16 | uint32(a.Slot&0x1f)<<24 | uint32(a.Function&7)<<29
}

func unpackPCI(n uint32) PCIAddress {
	return PCIAddress{uint16(n), uint8(n >> 16), uint8(n>>24) & 0x1f, uint8(n >> 29)}
}

// String is the usual form, "0000:0b:00.0".
func (a PCIAddress) String() string {
	return fmt.Sprintf("%04x:%02x:%02x.%x", a.Domain, a.Bus, a.Slot, a.Function)
}

// Vmxnet3 is a VMXNET3 interface, wanted or as VPP has it.
type Vmxnet3 struct {
	PCI PCIAddress
	// RxQueueSize and TxQueueSize are numbers of descriptors.
	RxQueueSize, TxQueueSize uint16
	// EventLog makes VPP log what the driver does; it does not tell.
	EventLog bool
}

// CreateVmxnet3 takes a device over. The error is api.ADDRESS_IN_USE if VPP has
// it already.
func (c *Calls) CreateVmxnet3(ctx context.Context, v Vmxnet3) (swIfIndex uint32, err error) {
	req, reply := &vmxnet3.Vmxnet3Create{
		PciAddr: v.PCI.packed(), RxqSize: v.RxQueueSize, RxqNum: 1, TxqSize: v.TxQueueSize, TxqNum: 1,
	}, &vmxnet3.Vmxnet3CreateReply{}
	if v.EventLog {
		req.EnableElog = 1
	}
	err = c.call(ctx, createVmxnet3, req, reply)
	if errors.Is(err, api.INVALID_INTERFACE) {
		err = fmt.Errorf("no VMXNET3 device at %s that VPP can use; is it bound to vfio-pci or uio_pci_generic? %w", v.PCI, err)
	}
	return uint32(reply.SwIfIndex), err
}

// DeleteVmxnet3 gives a device back. If VPP does not have it, that is a success.
func (c *Calls) DeleteVmxnet3(ctx context.Context, swIfIndex uint32) error {
	err := c.vpp.Call(ctx, &vmxnet3.Vmxnet3Delete{SwIfIndex: interface_types.InterfaceIndex(swIfIndex)}, &vmxnet3.Vmxnet3DeleteReply{})
	if session.Gone(err) {
		return nil
	}
	return err
}

// DumpVmxnet3s returns all VMXNET3 interfaces by index.
func (c *Calls) DumpVmxnet3s(ctx context.Context) (map[uint32]Vmxnet3, error) {
	found, err := session.Dump[*vmxnet3.SwVmxnet3InterfaceDetails](ctx, c.vpp, &vmxnet3.SwVmxnet3InterfaceDump{
		SwIfIndex: interface_types.InterfaceIndex(NoInterface),
	})
	if err != nil {
		return nil, err
	}
	out := make(map[uint32]Vmxnet3, len(found))
	for _, d := range found {
		out[uint32(d.SwIfIndex)] = Vmxnet3{
			PCI: unpackPCI(d.PciAddr), RxQueueSize: d.RxList[0].RxQsize, TxQueueSize: d.TxList[0].TxQsize,
		}
	}
	return out, nil
}
