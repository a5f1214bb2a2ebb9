package descriptor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/vmxnet3"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A VMXNET3 interface is a network card of a virtual machine on VMware. Which one
// is reported by the name of the interface, vmxnet3-<domain>/<bus>/<slot>/<function>
// in hexadecimal numbers, as VPP calls it. Whether VPP logs its events cannot be read back
// and is taken to be as wanted.
type vmxnet3Cards struct {
	linkTable[vmxnet3.Vmxnet3Create]
}

const defaultVmxnet3Queue = 1024

var vmxnet3Table = linkSpec[vmxnet3.Vmxnet3Create]{
	op:     declareLinks("interface VMXNET3_INTERFACE", "vmxnet3", linkCalls[vmxnet3.Vmxnet3Create]{setVmxnet3, dumpVmxnet3}),
	device: "VMXNET3 interface",
	facts: traits{
		macInPlace: true, macAfter: true, linkOptional: true, link: func() proto.Message { return &interfaces.VmxNet3Link{} },
	},
	valid: func(i *interfaces.Interface) (errs []error) {
		if _, err := parseVmxnet3(i.GetName()); err != nil {
			errs = append(errs, invalid("name", "%w", err))
		}
		queue := func(field string, size uint32) {
			if size > 4096 || size%64 != 0 {
				errs = append(errs, invalid(field, "%d, expected a multiple of 64 up to 4096, or 0 for %d", size, defaultVmxnet3Queue))
			}
		}
		queue("vmx_net3.rxq_size", i.GetVmxNet3().GetRxqSize())
		queue("vmx_net3.txq_size", i.GetVmxNet3().GetTxqSize())
		return errs
	},
	params: func(i *interfaces.Interface, _ ifIndex) (p vmxnet3.Vmxnet3Create, err error) {
		l := i.GetVmxNet3()
		if l.GetEnableElog() {
			p.EnableElog = 1
		}
		p.RxqSize, p.RxqNum = uint16(orDefault(l.GetRxqSize(), defaultVmxnet3Queue)), 1
		p.TxqSize, p.TxqNum = uint16(orDefault(l.GetTxqSize(), defaultVmxnet3Queue)), 1
		p.PciAddr, err = parseVmxnet3(i.GetName())
		return p, err
	},
	describe: func(i *interfaces.Interface, p vmxnet3.Vmxnet3Create, wanted *interfaces.Interface, _ func(ifIndex) string) {
		i.Type, i.Link = interfaces.Interface_VMXNET3_INTERFACE, &interfaces.Interface_VmxNet3{VmxNet3: &interfaces.VmxNet3Link{
			EnableElog: wanted.GetVmxNet3().GetEnableElog(), RxqSize: uint32(p.RxqSize), TxqSize: uint32(p.TxqSize),
		}}
	},
	delete: func(idx ifIndex) (req, reply api.Message) {
		return &vmxnet3.Vmxnet3Delete{SwIfIndex: idx}, &vmxnet3.Vmxnet3DeleteReply{}
	},
	exists: api.ADDRESS_IN_USE,
	taken:  func(found, wanted vmxnet3.Vmxnet3Create) bool { return found.PciAddr == wanted.PciAddr },
	same: func(found, wanted vmxnet3.Vmxnet3Create) bool {
		return found.RxqSize == wanted.RxqSize && found.TxqSize == wanted.TxqSize
	},
	fields: func(i *interfaces.Interface) []field { return []field{{"name", i.GetName()}} },
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

func setVmxnet3(_ bool, p vmxnet3.Vmxnet3Create) (req, reply api.Message, swIfIndex *ifIndex) {
	done := &vmxnet3.Vmxnet3CreateReply{}
	return &p, done, &done.SwIfIndex
}

var dumpVmxnet3 = dumpOf(func(which ifIndex) api.Message { return &vmxnet3.SwVmxnet3InterfaceDump{SwIfIndex: which} },
	func(d *vmxnet3.SwVmxnet3InterfaceDetails) (ifIndex, vmxnet3.Vmxnet3Create) {
		return d.SwIfIndex, vmxnet3.Vmxnet3Create{PciAddr: d.PciAddr, RxqSize: d.RxList[0].RxQsize, TxqSize: d.TxList[0].TxQsize}
	})

func (k vmxnet3Cards) create(ctx context.Context, i *interfaces.Interface, mac *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	m, err := k.linkTable.create(ctx, i, mac)
	if errors.Is(err, api.INVALID_INTERFACE) {
		a, _ := parseVmxnet3(i.GetName())
		err = fmt.Errorf("no VMXNET3 device at %04x:%02x:%02x.%x that VPP can use; is it bound to vfio-pci or uio_pci_generic? %w",
			a&0xffff, a>>16&0xff, a>>24&0x1f, a>>29, err)
	}
	return m, err
}

func (k vmxnet3Cards) created(found vppcalls.Details, i, want *interfaces.Interface) bool {
	return found.Name == want.GetName() && k.sameLink(i, want)
}
