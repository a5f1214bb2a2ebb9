package descriptor

import (
	"context"
	"errors"
	"fmt"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A VXLAN tunnel carries Ethernet frames in UDP to another end, or to all members
// of a multicast group, which an interface is then named for. It is known by its
// ends, the number of the network and the VRF table, which is that of the
// interface; none of them can be changed. VPP creates it up. With gpe it is a
// VXLAN-GPE tunnel, see vxlan_gpe.go.

const maxVNI = 1<<24 - 1

// vxlanCalls is what VXLAN tunnels need of VPP.
type vxlanCalls interface {
	CreateVxlan(ctx context.Context, t vppcalls.Vxlan) (swIfIndex uint32, err error)
	DeleteVxlan(ctx context.Context, swIfIndex uint32) error
	DumpVxlans(ctx context.Context) (map[uint32]vppcalls.Vxlan, error)
	vxlanGpeCalls
}

type vxlan struct {
	kindDefaults
	vpp vxlanCalls
	ifs index
}

func (vxlan) traits() traits {
	return traits{
		macInPlace: true, macAfter: true, packetMTU: true, startsUp: true, keepsTag: true,
		link: func() proto.Message { return &interfaces.VxlanLink{} },
		noMAC: func(i *interfaces.Interface) string {
			if i.GetVxlan().GetGpe() != nil {
				return "a VXLAN-GPE tunnel"
			}
			return ""
		},
	}
}

func vxlanEnds(i *interfaces.Interface) ends {
	return ends{"vxlan.src_address", i.GetVxlan().GetSrcAddress(), "vxlan.dst_address", i.GetVxlan().GetDstAddress()}
}

func (vxlan) check(i *interfaces.Interface) error {
	l := i.GetVxlan()
	errs := append(vxlanEnds(i).check(), atMost("vxlan.vni", l.GetVni(), maxVNI))
	switch {
	case isMulticast(l.GetDstAddress()) && l.GetMulticast() == "":
		errs = append(errs, invalid("vxlan.multicast", "empty, expected an interface for the group %s", l.GetDstAddress()))
	case l.GetMulticast() == i.GetName() && i.GetName() != "":
		errs = append(errs, invalid("vxlan.multicast", "is the interface itself"))
	}
	return errors.Join(append(errs, checkGpe(l))...)
}

func (vxlan) dependencies(i *interfaces.Interface) []kvs.Dependency {
	l := i.GetVxlan()
	deps := groupInterface("vxlan-multicast-interface-exists", l.GetMulticast())
	deps = append(deps, vrfExists("vrf-table-for-vxlan-exists", i.GetVrf(), isIPv6(l.GetSrcAddress()))...)
	return append(deps, gpeDependencies(i)...)
}

func (vxlan) sameLink(a, b *interfaces.Interface) bool {
	x, y := a.GetVxlan(), b.GetVxlan()
	return vxlanEnds(a).same(vxlanEnds(b)) && x.GetVni() == y.GetVni() && x.GetMulticast() == y.GetMulticast() &&
		proto.Equal(x.GetGpe(), y.GetGpe()) && a.GetVrf() == b.GetVrf()
}

func (k vxlan) create(ctx context.Context, i *interfaces.Interface, _ *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	m := &ifaceidx.IfMeta{SwIfIndex: vppcalls.NoInterface}
	src, dst, err := vxlanEnds(i).parse()
	if err != nil {
		return m, err
	}
	group, err := optionalIndex(k.ifs, i.GetVxlan().GetMulticast())
	if err != nil {
		return m, err
	}
	t := vppcalls.Vxlan{Src: src, Dst: dst, VNI: i.GetVxlan().GetVni(), Vrf: i.GetVrf(), Multicast: group}
	if i.GetVxlan().GetGpe() != nil {
		m.SwIfIndex, err = k.createGpe(ctx, i, t)
		return m, err
	}
	m.SwIfIndex, err = k.vpp.CreateVxlan(ctx, t)
	if errors.Is(err, api.TUNNEL_EXIST) {
		same := func(found vppcalls.Vxlan) bool { return sameVxlan(found, t) }
		m.SwIfIndex, err = adoptAmong(ctx, k.vpp, k.vpp.DumpVxlans, same, same, err)
		err = vxlanConflict(err, t)
	}
	return m, err
}

// sameVxlan reports that two tunnels are one for VPP.
func sameVxlan(a, b vppcalls.Vxlan) bool {
	return a.Src == b.Src && a.Dst == b.Dst && a.VNI == b.VNI && a.Vrf == b.Vrf
}

// vxlanConflict names the fields that sameVxlan compares.
func vxlanConflict(err error, t vppcalls.Vxlan) error {
	return conflict(err, field{"vxlan.src_address", t.Src}, field{"vxlan.dst_address", t.Dst}, field{"vxlan.vni", t.VNI}, field{"vrf", t.Vrf})
}

func (k vxlan) remove(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta) error {
	if i.GetVxlan().GetGpe() != nil {
		return k.vpp.DeleteVxlanGpe(ctx, m.SwIfIndex)
	}
	return k.vpp.DeleteVxlan(ctx, m.SwIfIndex)
}

func (vxlan) claims(d vppcalls.Details) bool {
	return !d.SubInterface && (d.DevType == vppcalls.VxlanDevice || d.DevType == vppcalls.VxlanGpeDevice)
}

func (k vxlan) read(ctx context.Context, names func(uint32) string) (recogniser, error) {
	all, err := k.vpp.DumpVxlans(ctx)
	if err != nil {
		return nil, fmt.Errorf("VXLAN: %w", err)
	}
	gpe, err := k.vpp.DumpVxlanGpes(ctx)
	return func(d vppcalls.Details, _, i *interfaces.Interface, _ *ifaceidx.IfMeta) bool {
		l := &interfaces.VxlanLink{}
		t, ok := all[d.SwIfIndex]
		if d.DevType == vppcalls.VxlanGpeDevice {
			var g vppcalls.VxlanGpe
			g, ok = gpe[d.SwIfIndex]
			t, l.Gpe = g.Vxlan, gpeLink(g)
		}
		if !ok {
			return false
		}
		l.SrcAddress, l.DstAddress, l.Vni = t.Src.String(), t.Dst.String(), t.VNI
		if t.Multicast != vppcalls.NoInterface {
			l.Multicast = names(t.Multicast)
		}
		i.Type, i.Vrf, i.Link = interfaces.Interface_VXLAN_TUNNEL, t.Vrf, &interfaces.Interface_Vxlan{Vxlan: l}
		return true
	}, err
}
