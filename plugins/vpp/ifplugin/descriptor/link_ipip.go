package descriptor

import (
	"context"
	"errors"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// An IPIP tunnel carries IP packets in IP to another end, or to many that are
// told apart by the next hop (TEIB). It is known by its ends and the VRF table,
// which is that of the interface; none of this can be changed.

// ipipCalls is what IPIP tunnels need of VPP.
type ipipCalls interface {
	CreateIpip(ctx context.Context, t vppcalls.Ipip) (swIfIndex uint32, err error)
	DeleteIpip(ctx context.Context, swIfIndex uint32) error
	DumpIpips(ctx context.Context) (map[uint32]vppcalls.Ipip, error)
	DumpInterfaces(ctx context.Context) ([]vppcalls.Details, error)
}

type ipip struct {
	kindDefaults
	vpp ipipCalls
}

func (ipip) traits() traits {
	return traits{
		packetMTU: true, link: func() proto.Message { return &interfaces.IPIPLink{} },
		noMAC: func(*interfaces.Interface) string { return "an IPIP tunnel" },
	}
}

func ipipEnds(i *interfaces.Interface) ends {
	return ends{"ipip.src_addr", i.GetIpip().GetSrcAddr(), "ipip.dst_addr", i.GetIpip().GetDstAddr()}
}

func toMany(i *interfaces.Interface) bool {
	return i.GetIpip().GetTunnelMode() == interfaces.IPIPLink_POINT_TO_MULTIPOINT
}

func (ipip) check(i *interfaces.Interface) error {
	l := i.GetIpip()
	e := ipipEnds(i)
	switch {
	case interfaces.IPIPLink_Mode_name[int32(l.GetTunnelMode())] == "":
		return invalid("ipip.tunnel_mode", "%s, expected POINT_TO_POINT or POINT_TO_MULTIPOINT", l.GetTunnelMode())
	case !toMany(i):
		return errors.Join(e.check()...)
	case l.GetDstAddr() != "":
		return invalid("ipip.dst_addr", "%s, expected none for mode %s", l.GetDstAddr(), l.GetTunnelMode())
	}
	_, err := e.addr(e.srcField, e.src)
	return err
}

func (ipip) dependencies(i *interfaces.Interface) []kvs.Dependency {
	return vrfExists("vrf-table-for-ipip-exists", i.GetVrf(), isIPv6(i.GetIpip().GetSrcAddr()))
}

func (ipip) sameLink(a, b *interfaces.Interface) bool {
	return ipipEnds(a).same(ipipEnds(b)) && toMany(a) == toMany(b) && a.GetVrf() == b.GetVrf()
}

func (k ipip) create(ctx context.Context, i *interfaces.Interface, _ *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	m := &ifaceidx.IfMeta{SwIfIndex: vppcalls.NoInterface}
	src, dst, err := ipipEnds(i).parse()
	if err != nil {
		return m, err
	}
	wanted := vppcalls.Ipip{Src: src, Dst: dst, Multipoint: toMany(i), Vrf: i.GetVrf()}
	m.SwIfIndex, err = k.vpp.CreateIpip(ctx, wanted)
	if errors.Is(err, api.IF_ALREADY_EXISTS) {
		same := func(found vppcalls.Ipip) bool { return found == wanted }
		m.SwIfIndex, err = adoptAmong(ctx, k.vpp, k.vpp.DumpIpips, same, same, err)
		err = conflict(err, field{"ipip.src_addr", src}, field{"ipip.dst_addr", dst}, field{"vrf", i.GetVrf()})
	}
	return m, err
}

func (k ipip) remove(ctx context.Context, _ *interfaces.Interface, m *ifaceidx.IfMeta) error {
	return k.vpp.DeleteIpip(ctx, m.SwIfIndex)
}

func (ipip) claims(d vppcalls.Details) bool {
	return !d.SubInterface && d.DevType == vppcalls.IpipDevice
}

func (k ipip) read(ctx context.Context, _ func(uint32) string) (recogniser, error) {
	all, err := k.vpp.DumpIpips(ctx)
	return func(d vppcalls.Details, _, i *interfaces.Interface, _ *ifaceidx.IfMeta) bool {
		t, ok := all[d.SwIfIndex]
		if !ok {
			return false
		}
		l := &interfaces.IPIPLink{SrcAddr: t.Src.String()}
		if t.Multipoint {
			l.TunnelMode = interfaces.IPIPLink_POINT_TO_MULTIPOINT
		} else {
			l.DstAddr = t.Dst.String()
		}
		i.Type, i.Vrf, i.Link = interfaces.Interface_IPIP_TUNNEL, t.Vrf, &interfaces.Interface_Ipip{Ipip: l}
		return true
	}, err
}
