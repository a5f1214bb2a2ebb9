package descriptor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A VMXNET3 interface is a network card of a virtual machine on VMware. Which one
// is reported by the name of the interface, vmxnet3-<domain>/<bus>/<slot>/<function>
// in hexadecimal numbers, as VPP calls it. Its queues cannot be changed; whether
// VPP logs its events cannot be read back and is taken to be as wanted.

const (
	vmxnet3Prefix       = "vmxnet3-"
	defaultVmxnet3Queue = 1024
	vmxnet3QueueStep    = 64
	maxVmxnet3Queue     = 4096
)

// vmxnet3Calls is what VMXNET3 interfaces need of VPP.
type vmxnet3Calls interface {
	CreateVmxnet3(ctx context.Context, v vppcalls.Vmxnet3) (swIfIndex uint32, err error)
	DeleteVmxnet3(ctx context.Context, swIfIndex uint32) error
	DumpVmxnet3s(ctx context.Context) (map[uint32]vppcalls.Vmxnet3, error)
	DumpInterfaces(ctx context.Context) ([]vppcalls.Details, error)
}

type vmxnet3 struct {
	kindDefaults
	vpp vmxnet3Calls
}

func (vmxnet3) traits() traits {
	return traits{
		macInPlace: true, macAfter: true, linkOptional: true,
		link: func() proto.Message { return &interfaces.VmxNet3Link{} },
	}
}

func (vmxnet3) check(i *interfaces.Interface) error {
	var errs []error
	if _, err := parseVmxnet3(i.GetName()); err != nil {
		errs = append(errs, invalid("name", "%w", err))
	}
	l := i.GetVmxNet3()
	for _, queue := range []struct {
		field string
		size  uint32
	}{{"vmx_net3.rxq_size", l.GetRxqSize()}, {"vmx_net3.txq_size", l.GetTxqSize()}} {
		if queue.size > maxVmxnet3Queue || queue.size%vmxnet3QueueStep != 0 {
			errs = append(errs, invalid(queue.field, "%d, expected a multiple of %d up to %d, or 0 for %d",
				queue.size, vmxnet3QueueStep, maxVmxnet3Queue, defaultVmxnet3Queue))
		}
	}
	return errors.Join(errs...)
}

// parseVmxnet3 returns the address of the device in the name of an interface.
func parseVmxnet3(name string) (a vppcalls.PCIAddress, err error) {
	text, ok := strings.CutPrefix(name, vmxnet3Prefix)
	parts := strings.Split(text, "/")
	if !ok || len(parts) != 4 {
		return a, fmt.Errorf("%q: expected vmxnet3-<domain>/<bus>/<slot>/<function>, such as vmxnet3-0/b/0/0", name)
	}
	var n [4]uint64
	for at, bits := range []int{16, 8, 8, 8} {
		n[at], err = strconv.ParseUint(parts[at], 16, bits)
		if max := []uint64{0xffff, 0xff, 0x1f, 7}[at]; err != nil || n[at] > max {
			return a, fmt.Errorf("%q: %q: expected a hexadecimal number up to %x", name, parts[at], max)
		}
	}
	return vppcalls.PCIAddress{Domain: uint16(n[0]), Bus: uint8(n[1]), Slot: uint8(n[2]), Function: uint8(n[3])}, nil
}

func (vmxnet3) sameLink(a, b *interfaces.Interface) bool {
	x, y := a.GetVmxNet3(), b.GetVmxNet3()
	return x.GetEnableElog() == y.GetEnableElog() &&
		orDefault(x.GetRxqSize(), defaultVmxnet3Queue) == orDefault(y.GetRxqSize(), defaultVmxnet3Queue) &&
		orDefault(x.GetTxqSize(), defaultVmxnet3Queue) == orDefault(y.GetTxqSize(), defaultVmxnet3Queue)
}

func (k vmxnet3) create(ctx context.Context, i *interfaces.Interface, _ *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	m := &ifaceidx.IfMeta{SwIfIndex: vppcalls.NoInterface}
	pci, err := parseVmxnet3(i.GetName())
	if err != nil {
		return m, err
	}
	l := i.GetVmxNet3()
	wanted := vppcalls.Vmxnet3{
		PCI: pci, EventLog: l.GetEnableElog(),
		RxQueueSize: uint16(orDefault(l.GetRxqSize(), defaultVmxnet3Queue)),
		TxQueueSize: uint16(orDefault(l.GetTxqSize(), defaultVmxnet3Queue)),
	}
	m.SwIfIndex, err = k.vpp.CreateVmxnet3(ctx, wanted)
	if errors.Is(err, api.ADDRESS_IN_USE) {
		m.SwIfIndex, err = k.adopt(ctx, wanted, err)
		err = conflict(err, field{"name", i.GetName()})
	}
	return m, err
}

// adopt takes over an interface without tag on the very device.
func (k vmxnet3) adopt(ctx context.Context, wanted vppcalls.Vmxnet3, cause error) (uint32, error) {
	wanted.EventLog = false // not told
	return adoptAmong(ctx, k.vpp, k.vpp.DumpVmxnet3s,
		func(v vppcalls.Vmxnet3) bool { return v.PCI == wanted.PCI }, func(v vppcalls.Vmxnet3) bool { return v == wanted }, cause)
}

func (k vmxnet3) created(found vppcalls.Details, i, want *interfaces.Interface) bool {
	return found.Name == want.GetName() && k.sameLink(i, want)
}

func (k vmxnet3) remove(ctx context.Context, _ *interfaces.Interface, m *ifaceidx.IfMeta) error {
	return k.vpp.DeleteVmxnet3(ctx, m.SwIfIndex)
}

func (vmxnet3) claims(d vppcalls.Details) bool {
	return !d.SubInterface && d.DevType == vppcalls.Vmxnet3Device
}

func (k vmxnet3) read(ctx context.Context, _ func(uint32) string) (recogniser, error) {
	all, err := k.vpp.DumpVmxnet3s(ctx)
	return func(d vppcalls.Details, wanted, i *interfaces.Interface, _ *ifaceidx.IfMeta) bool {
		found, ok := all[d.SwIfIndex]
		if !ok {
			return false
		}
		i.Type, i.Link = interfaces.Interface_VMXNET3_INTERFACE, &interfaces.Interface_VmxNet3{VmxNet3: &interfaces.VmxNet3Link{
			EnableElog: wanted.GetVmxNet3().GetEnableElog(),
			RxqSize:    uint32(found.RxQueueSize), TxqSize: uint32(found.TxQueueSize),
		}}
		return true
	}, err
}
