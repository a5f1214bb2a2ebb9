package descriptor

import (
	"context"
	"errors"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// vxlanKinds are VXLAN tunnels and those with gpe, which are of one type in the configuration
// and of two plugins of VPP.
type vxlanKinds struct {
	linkTable[vxlanTunnel]
	gpe linkTable[gpeTunnel]
}

func isGpe(i *interfaces.Interface) bool { return i.GetVxlan().GetGpe() != nil }

func (k vxlanKinds) of(i *interfaces.Interface) linkKind {
	if isGpe(i) {
		return k.gpe
	}
	return k.linkTable
}

func (k vxlanKinds) check(i *interfaces.Interface) error { return k.of(i).check(i) }

func (k vxlanKinds) dependencies(i *interfaces.Interface) []kvs.Dependency {
	return k.of(i).dependencies(i)
}

func (k vxlanKinds) sameLink(a, b *interfaces.Interface) bool {
	return isGpe(a) == isGpe(b) && k.of(a).sameLink(a, b)
}

func (k vxlanKinds) created(_ vppcalls.Details, i, want *interfaces.Interface) bool {
	return k.sameLink(i, want)
}

func (k vxlanKinds) create(ctx context.Context, i *interfaces.Interface, mac *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	return k.of(i).create(ctx, i, mac)
}

func (k vxlanKinds) remove(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta) error {
	return k.of(i).remove(ctx, i, m)
}

func (k vxlanKinds) claims(d vppcalls.Details) bool { return k.linkTable.claims(d) || k.gpe.claims(d) }

func (k vxlanKinds) read(ctx context.Context, names func(uint32) string) (recogniser, error) {
	var known []recogniser
	for _, kind := range []linkKind{k.linkTable, k.gpe} {
		is, err := kind.read(ctx, names)
		switch {
		case err == nil:
			known = append(known, is)
		case !errors.Is(err, binding.ErrUnsupported): // without the plugin VPP has none
			return nil, err
		}
	}
	return func(d vppcalls.Details, wanted, i *interfaces.Interface, m *ifaceidx.IfMeta) bool {
		for _, is := range known {
			if is(d, wanted, i, m) {
				return true
			}
		}
		return false
	}, nil
}
