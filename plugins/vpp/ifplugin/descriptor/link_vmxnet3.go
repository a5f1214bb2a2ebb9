package descriptor

import (
	"errors"
	"fmt"
	"strings"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/vmxnet3"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A VMXNET3 interface is a network card of a virtual machine on VMware. Its name has the PCI
// address, vmxnet3-<domain>/<bus>/<slot>/<function> in hexadecimal numbers, as VPP calls it.
// Whether VPP logs its events cannot be read back and is taken to be as wanted.
var vmxnet3Cards = linkSpec[vmxnet3.Vmxnet3Create]{
	op: declareLinks("interface VMXNET3_INTERFACE", "vmxnet3", linkCalls[vmxnet3.Vmxnet3Create]{
		set: asRequest[*vmxnet3.Vmxnet3CreateReply, vmxnet3.Vmxnet3Create],
		dump: dumpOf[*vmxnet3.SwVmxnet3InterfaceDump](func(d *vmxnet3.SwVmxnet3InterfaceDetails) (ifIndex, vmxnet3.Vmxnet3Create) {
			return d.SwIfIndex, vmxnet3.Vmxnet3Create{
				PciAddr: d.PciAddr, RxqSize: d.RxList[0].RxQsize, RxqNum: uint16(d.RxCount), TxqSize: d.TxList[0].TxQsize, TxqNum: uint16(d.TxCount),
			}
		}),
	}),
	device: "VMXNET3 interface",
	facts:  traits{macInPlace: true, macAfter: true, initialMTU: deviceMTU, linkOptional: true, link: func() proto.Message { return &interfaces.VmxNet3Link{} }},
	resolve: func(r *item.Resolver, i *interfaces.Interface) (p vmxnet3.Vmxnet3Create) {
		p.RxqSize, p.RxqNum = vmxnet3Queue.size(r, "vmx_net3.rxq_size", i.GetVmxNet3().GetRxqSize()), 1
		p.TxqSize, p.TxqNum = vmxnet3Queue.size(r, "vmx_net3.txq_size", i.GetVmxNet3().GetTxqSize()), 1
		if i.GetVmxNet3().GetEnableElog() {
			p.EnableElog = 1
		}
		var ok bool
		if p.PciAddr, ok = parseVmxnet3(i.GetName()); !ok {
			r.Fail("name", "%q: expected vmxnet3-<domain>/<bus>/<slot>/<function>, such as vmxnet3-0/b/0/0, at most vmxnet3-ffff/ff/1f/7", i.GetName())
		}
		return p
	},
	describe: func(i *interfaces.Interface, p vmxnet3.Vmxnet3Create, known about) {
		i.Type, i.Link = interfaces.Interface_VMXNET3_INTERFACE, &interfaces.Interface_VmxNet3{VmxNet3: &interfaces.VmxNet3Link{
			EnableElog: known.wanted.GetVmxNet3().GetEnableElog(), RxqSize: uint32(p.RxqSize), TxqSize: uint32(p.TxqSize),
		}}
	},
	chosen: func(p *vmxnet3.Vmxnet3Create, found vmxnet3.Vmxnet3Create) { p.EnableElog = found.EnableElog },
	delete: deletion[*vmxnet3.Vmxnet3Delete, *vmxnet3.Vmxnet3DeleteReply],
	names:  func(_ string, want *interfaces.Interface) []string { return []string{want.GetName()} },
	exists: api.ADDRESS_IN_USE,
	key:    []string{"name"},
	identity: func(i *interfaces.Interface) string {
		address, _ := parseVmxnet3(i.GetName())
		return identity("VMXNET3 interface", field{value: address})
	},
	taken: func(found, wanted vmxnet3.Vmxnet3Create) bool { return found.PciAddr == wanted.PciAddr },
	explain: func(i *interfaces.Interface, _ ifIndex, err error) error {
		if !errors.Is(err, api.INVALID_INTERFACE) {
			return err
		}
		a, _ := parseVmxnet3(i.GetName())
		return fmt.Errorf("no VMXNET3 device at %04x:%02x:%02x.%x that VPP can use; is it bound to vfio-pci or uio_pci_generic? %w",
			a&0xffff, a>>16&0xff, a>>24&0x1f, a>>29, err)
	},
}

// parseVmxnet3 returns the PCI address in the name of an interface, in one number as VPP has it.
func parseVmxnet3(name string) (packed uint32, ok bool) {
	var domain uint16
	var bus, slot, function uint8
	_, err := fmt.Sscanf(name+".", "vmxnet3-%x/%x/%x/%x.", &domain, &bus, &slot, &function)
	ok = err == nil && slot <= 0x1f && function <= 7 && !strings.Contains(name, " ") // which Sscanf ignores
	return uint32(domain) | uint32(bus)<<16 | uint32(slot)<<24 | uint32(function)<<29, ok
}

var vmxnet3Queue = queue{"a multiple of 64 up to 4096", func(n uint32) bool { return n <= 4096 && n%64 == 0 }}
