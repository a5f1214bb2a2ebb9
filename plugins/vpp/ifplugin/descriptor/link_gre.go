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

// A GRE tunnel carries IP packets (L3), Ethernet frames (TEB) or mirrored frames
// of a session (ERSPAN) to another end, which is looked up in a VRF table of its
// own, apart from that of the interface. None of this can be changed.

const maxErspanSession = 1023

// greCalls is what GRE tunnels need of VPP.
type greCalls interface {
	CreateGre(ctx context.Context, t vppcalls.Gre) (swIfIndex uint32, err error)
	DeleteGre(ctx context.Context, swIfIndex uint32) error
	DumpGres(ctx context.Context) (map[uint32]vppcalls.Gre, error)
	DumpInterfaces(ctx context.Context) ([]vppcalls.Details, error)
}

type gre struct {
	kindDefaults
	vpp greCalls
}

func (gre) traits() traits {
	return traits{
		macInPlace: true, macAfter: true, packetMTU: true,
		link: func() proto.Message { return &interfaces.GreLink{} },
		noMAC: func(i *interfaces.Interface) string {
			if i.GetGre().GetTunnelType() == interfaces.GreLink_L3 {
				return "a GRE tunnel of type L3"
			}
			return ""
		},
	}
}

func greEnds(i *interfaces.Interface) ends {
	return ends{"gre.src_addr", i.GetGre().GetSrcAddr(), "gre.dst_addr", i.GetGre().GetDstAddr()}
}

func (gre) check(i *interfaces.Interface) error {
	l := i.GetGre()
	errs := greEnds(i).check()
	t, known := greType(l)
	switch {
	case !known:
		errs = append(errs, invalid("gre.tunnel_type", "%s, expected L3, TEB or ERSPAN", l.GetTunnelType()))
	case t != vppcalls.GreERSPAN && l.GetSessionId() != 0:
		errs = append(errs, invalid("gre.session_id", "%d, expected 0 for type %s: only ERSPAN has sessions",
			l.GetSessionId(), l.GetTunnelType()))
	}
	return errors.Join(append(errs, atMost("gre.session_id", l.GetSessionId(), maxErspanSession))...)
}

// greType is the type in the numbers of VPP.
func greType(l *interfaces.GreLink) (t uint8, known bool) {
	switch l.GetTunnelType() {
	case interfaces.GreLink_L3:
		return vppcalls.GreL3, true
	case interfaces.GreLink_TEB:
		return vppcalls.GreTEB, true
	case interfaces.GreLink_ERSPAN:
		return vppcalls.GreERSPAN, true
	}
	return 0, false
}

func (gre) dependencies(i *interfaces.Interface) []kvs.Dependency {
	return vrfExists("vrf-table-for-gre-exists", i.GetGre().GetOuterFibId(), isIPv6(i.GetGre().GetSrcAddr()))
}

func (gre) sameLink(a, b *interfaces.Interface) bool {
	x, y := a.GetGre(), b.GetGre()
	return greEnds(a).same(greEnds(b)) && x.GetTunnelType() == y.GetTunnelType() &&
		x.GetOuterFibId() == y.GetOuterFibId() && x.GetSessionId() == y.GetSessionId()
}

func (k gre) create(ctx context.Context, i *interfaces.Interface, _ *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	m := &ifaceidx.IfMeta{SwIfIndex: vppcalls.NoInterface}
	src, dst, err := greEnds(i).parse()
	if err != nil {
		return m, err
	}
	l := i.GetGre()
	t, _ := greType(l)
	wanted := vppcalls.Gre{Src: src, Dst: dst, Type: t, Vrf: l.GetOuterFibId(), Session: uint16(l.GetSessionId())}
	m.SwIfIndex, err = k.vpp.CreateGre(ctx, wanted)
	if errors.Is(err, api.IF_ALREADY_EXISTS) {
		same := func(found vppcalls.Gre) bool { return found == wanted }
		m.SwIfIndex, err = adoptAmong(ctx, k.vpp, k.vpp.DumpGres, same, same, err)
		err = conflict(err, field{"gre.src_addr", src}, field{"gre.dst_addr", dst}, field{"gre.tunnel_type", l.GetTunnelType()},
			field{"gre.outer_fib_id", l.GetOuterFibId()}, field{"gre.session_id", l.GetSessionId()})
	}
	return m, err
}

func (k gre) remove(ctx context.Context, _ *interfaces.Interface, m *ifaceidx.IfMeta) error {
	return k.vpp.DeleteGre(ctx, m.SwIfIndex)
}

func (gre) claims(d vppcalls.Details) bool { return !d.SubInterface && d.DevType == vppcalls.GreDevice }

func (k gre) read(ctx context.Context, _ func(uint32) string) (recogniser, error) {
	all, err := k.vpp.DumpGres(ctx)
	return func(d vppcalls.Details, _, i *interfaces.Interface, _ *ifaceidx.IfMeta) bool {
		t, ok := all[d.SwIfIndex]
		if !ok {
			return false
		}
		l := &interfaces.GreLink{
			SrcAddr: t.Src.String(), DstAddr: t.Dst.String(), OuterFibId: t.Vrf, SessionId: uint32(t.Session),
			TunnelType: map[uint8]interfaces.GreLink_Type{
				vppcalls.GreL3: interfaces.GreLink_L3, vppcalls.GreTEB: interfaces.GreLink_TEB, vppcalls.GreERSPAN: interfaces.GreLink_ERSPAN,
			}[t.Type],
		}
		i.Type, i.Link = interfaces.Interface_GRE_TUNNEL, &interfaces.Interface_Gre{Gre: l}
		return true
	}, err
}
