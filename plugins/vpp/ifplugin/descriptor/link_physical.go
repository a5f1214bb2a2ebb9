package descriptor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A physical interface (type DPDK) is neither created nor deleted: VPP has it
// from the start, or gets it when a device is plugged in. The value is called as
// VPP calls the device, waits for it, and marks it as ours by the tag; removed,
// it gives the device back as it was, down and without tag. Which devices there are is
// told by keys of their own, so that a value may come before its device.

type physical struct {
	kindDefaults
	vpp *vppcalls.Calls
}

func (physical) traits() traits {
	return traits{macInPlace: true, macAfter: true, found: true, initialMTU: deviceMTU}
}

func (physical) check(i *interfaces.Interface) error {
	if isVirtual(i.GetName()) {
		return invalid("name", "%q is how VPP calls an interface that was made, expected the name of a device", i.GetName())
	}
	return nil
}

func (physical) dependencies(i *interfaces.Interface) []kvs.Dependency {
	return []kvs.Dependency{{Label: "device-exists", Key: model.PhysicalKey.Key(i.GetName())}}
}

func (k physical) create(ctx context.Context, i *interfaces.Interface, _ *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	all, err := k.vpp.DumpInterfaces(ctx)
	if err != nil {
		return &ifaceidx.IfMeta{}, err
	}
	for _, d := range all {
		switch {
		case d.Name != i.GetName() || !IsPhysical(d):
		case d.Tag != "" && d.Tag != i.GetName():
			return &ifaceidx.IfMeta{}, fmt.Errorf("device %q is in use as %q", d.Name, d.Tag)
		default:
			return &ifaceidx.IfMeta{SwIfIndex: d.SwIfIndex, InternalName: d.Name, DevType: d.DevType}, nil
		}
	}
	return &ifaceidx.IfMeta{}, fmt.Errorf("VPP has no device %q", i.GetName())
}

func (k physical) remove(ctx context.Context, _ *interfaces.Interface, m *ifaceidx.IfMeta) error {
	if err := k.vpp.SetAdminState(ctx, m.SwIfIndex, false); err != nil {
		return err
	}
	return k.vpp.RemoveTag(ctx, m.SwIfIndex)
}

func (physical) claims(d vppcalls.Details) bool { return IsPhysical(d) && d.Tag == d.Name }

func (physical) read(context.Context, func(uint32) string) (recogniser, error) {
	return func(_ vppcalls.Details, _, i *interfaces.Interface, _ *ifaceidx.IfMeta) bool {
		i.Type = interfaces.Interface_DPDK
		return true
	}, nil
}

// IsPhysical reports whether an interface of VPP is a device that it found: others
// have types of their own, whatever their names.
func IsPhysical(d vppcalls.Details) bool {
	return !d.SubInterface && !isVirtual(d.Name) && d.DevType != rdmaCards.device && d.DevType != vmxnet3Cards.device
}

// isVirtual reports whether VPP gives such names to interfaces that are made
// rather than found.
func isVirtual(name string) bool {
	return slices.ContainsFunc([]string{
		"local", "loop", "tap", "tun", "host-", "memif", "vxlan", "gre", "ipip", "ipsec", "Bond", "gtpu", "wg",
		"VirtualEthernet", "vmxnet3-", "rdma-", "geneve", "l2tpv3", "lisp", "pipe", "bvi", "mpls-tunnel",
	}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// NewPhysical describes the keys that report which devices there are.
func NewPhysical(vpp *vppcalls.Calls) *kvs.KVDescriptor {
	return item.NewKeys(PhysicalName, model.PhysicalKey.Matches, func(ctx context.Context) (keys []string, err error) {
		all, err := vpp.DumpInterfaces(ctx)
		for _, d := range all {
			if IsPhysical(d) {
				keys = append(keys, model.PhysicalKey.Key(d.Name))
			}
		}
		return keys, err
	})
}

// PhysicalChange returns the notification that VPP has a device, or not any
// more.
func PhysicalChange(device string, exists bool) kvs.KVWithMetadata {
	return item.KeyChange(model.PhysicalKey.Key(device), exists)
}
