package descriptor

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/vmxnet3"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A VMXNET3 interface is a network card of a virtual machine on VMware. Which one
// is reported by the name of the interface, vmxnet3-<domain>/<bus>/<slot>/<function>
// in hexadecimal numbers, as VPP calls it. Whether VPP logs its events cannot be read back
// and is taken to be as wanted.
type vmxnet3Cards struct {
	linkTable[vmxnet3.Vmxnet3Create]
}

var vmxnet3Queue = queue{"a multiple of 64 up to 4096", func(n uint32) bool { return n <= 4096 && n%64 == 0 }}

var vmxnet3Table = linkSpec[vmxnet3.Vmxnet3Create]{
	op: declareLinks("interface VMXNET3_INTERFACE", "vmxnet3", linkCalls[vmxnet3.Vmxnet3Create]{
		set: func(_ bool, p vmxnet3.Vmxnet3Create) (req, reply api.Message) {
			return &p, &vmxnet3.Vmxnet3CreateReply{}
		},
		dump: dumpOf(func(which ifIndex) api.Message { return &vmxnet3.SwVmxnet3InterfaceDump{SwIfIndex: which} },
			func(d *vmxnet3.SwVmxnet3InterfaceDetails) (ifIndex, vmxnet3.Vmxnet3Create) {
				return d.SwIfIndex, vmxnet3.Vmxnet3Create{PciAddr: d.PciAddr, RxqSize: d.RxList[0].RxQsize, TxqSize: d.TxList[0].TxQsize}
			}),
	}),
	device: "VMXNET3 interface",
	facts: traits{
		macInPlace: true, macAfter: true, linkOptional: true, link: func() proto.Message { return &interfaces.VmxNet3Link{} },
	},
	resolve: func(r *item.Resolver, i *interfaces.Interface) (p vmxnet3.Vmxnet3Create) {
		p.RxqSize, p.RxqNum = vmxnet3Queue.size(r, "vmx_net3.rxq_size", i.GetVmxNet3().GetRxqSize()), 1
		p.TxqSize, p.TxqNum = vmxnet3Queue.size(r, "vmx_net3.txq_size", i.GetVmxNet3().GetTxqSize()), 1
		if i.GetVmxNet3().GetEnableElog() {
			p.EnableElog = 1
		}
		var err error
		if p.PciAddr, err = parseVmxnet3(i.GetName()); err != nil {
			r.Fail("name", "%w", err)
		}
		return p
	},
	describe: func(i *interfaces.Interface, p vmxnet3.Vmxnet3Create, known about) {
		i.Type, i.Link = interfaces.Interface_VMXNET3_INTERFACE, &interfaces.Interface_VmxNet3{VmxNet3: &interfaces.VmxNet3Link{
			EnableElog: known.wanted.GetVmxNet3().GetEnableElog(), RxqSize: uint32(p.RxqSize), TxqSize: uint32(p.TxqSize),
		}}
	},
	delete: func(idx ifIndex) (req, reply api.Message) {
		return &vmxnet3.Vmxnet3Delete{SwIfIndex: idx}, &vmxnet3.Vmxnet3DeleteReply{}
	},
	exists: api.ADDRESS_IN_USE,
	key:    []string{"name"},
	taken:  func(found, wanted vmxnet3.Vmxnet3Create) bool { return found.PciAddr == wanted.PciAddr },
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
func parseVmxnet3(name string) (packed uint32, err error) {
	text, ok := strings.CutPrefix(name, "vmxnet3-")
	parts := strings.Split(text, "/")
	if !ok || len(parts) != 4 {
		return 0, fmt.Errorf("%q: expected vmxnet3-<domain>/<bus>/<slot>/<function>, such as vmxnet3-0/b/0/0", name)
	}
	for at, part := range []struct{ max, shift uint64 }{{0xffff, 0}, {0xff, 16}, {0x1f, 24}, {7, 29}} {
		n, err := strconv.ParseUint(parts[at], 16, 16)
		if err != nil || n > part.max {
			return 0, fmt.Errorf("%q: %q: expected a hexadecimal number up to %x", name, parts[at], part.max)
		}
		packed |= uint32(n << part.shift)
	}
	return packed, nil
}

func (k vmxnet3Cards) created(found vppcalls.Details, i, want *interfaces.Interface) bool {
	return found.Name == want.GetName() && k.sameLink(i, want)
}
