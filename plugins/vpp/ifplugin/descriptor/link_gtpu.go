//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be understood or refused

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

// A GTP-U tunnel carries packets of mobile subscribers in UDP. Received packets
// are known by the other end and the TEID alone, so no two tunnels may share
// those; where they go is Ethernet switching unless something else is asked for.
// VPP creates it up; deleted, it is only hidden, and used for the next one.
// None of this can be changed.

// gtpuCalls is what GTP-U tunnels need of VPP.
type gtpuCalls interface {
	CreateGtpu(ctx context.Context, t vppcalls.Gtpu) (swIfIndex uint32, err error)
	DeleteGtpu(ctx context.Context, swIfIndex uint32) error
	DumpGtpus(ctx context.Context) (map[uint32]vppcalls.Gtpu, error)
	DumpInterfaces(ctx context.Context) ([]vppcalls.Details, error)
}

type gtpu struct {
	kindDefaults
	vpp gtpuCalls
	ifs index
}

func (gtpu) traits() traits {
	return traits{
		packetMTU: true, startsUp: true, keepsTag: true, link: func() proto.Message { return &interfaces.GtpuLink{} },
		noMAC: func(*interfaces.Interface) string { return "a GTP-U tunnel" },
	}
}

func gtpuEnds(i *interfaces.Interface) ends {
	return ends{"gtpu.src_addr", i.GetGtpu().GetSrcAddr(), "gtpu.dst_addr", i.GetGtpu().GetDstAddr()}
}

func (gtpu) check(i *interfaces.Interface) error {
	l := i.GetGtpu()
	errs := gtpuEnds(i).check()
	switch {
	case isMulticast(l.GetDstAddr()) && l.GetMulticast() == "":
		errs = append(errs, invalid("gtpu.multicast", "empty, expected an interface for the group %s", l.GetDstAddr()))
	case l.GetMulticast() == i.GetName() && i.GetName() != "":
		errs = append(errs, invalid("gtpu.multicast", "is the interface itself"))
	}
	switch {
	case interfaces.GtpuLink_NextNode_name[int32(l.GetDecapNext())] == "":
		errs = append(errs, invalid("gtpu.decap_next", "%s, expected DEFAULT, L2, IP4 or IP6", l.GetDecapNext()))
	case l.GetDecapNext() != interfaces.GtpuLink_DEFAULT && l.GetDecapNextNode() != 0 && uint32(l.GetDecapNext()) != l.GetDecapNextNode():
		errs = append(errs, invalid("gtpu.decap_next_node", "%d, but decap_next is %s: expected one of them", l.GetDecapNextNode(), l.GetDecapNext()))
	}
	return errors.Join(errs...)
}

func (gtpu) dependencies(i *interfaces.Interface) []kvs.Dependency {
	l := i.GetGtpu()
	return append(groupInterface("gtpu-multicast-interface-exists", l.GetMulticast()),
		vrfExists("vrf-table-for-gtpu-exists", l.GetEncapVrfId(), isIPv6(l.GetDstAddr()))...)
}

// fullGtpu fills in the defaults. The numbers of the nodes are those of VPP.
func fullGtpu(l *interfaces.GtpuLink) (remoteTEID, next uint32) {
	next = orDefault(l.GetDecapNextNode(), vppcalls.GtpuL2)
	if l.GetDecapNext() != interfaces.GtpuLink_DEFAULT {
		next = uint32(l.GetDecapNext())
	}
	return orDefault(l.GetRemoteTeid(), l.GetTeid()), next
}

func (gtpu) sameLink(a, b *interfaces.Interface) bool {
	x, y := a.GetGtpu(), b.GetGtpu()
	remoteX, nextX := fullGtpu(x)
	remoteY, nextY := fullGtpu(y)
	return gtpuEnds(a).same(gtpuEnds(b)) && x.GetMulticast() == y.GetMulticast() && x.GetTeid() == y.GetTeid() &&
		remoteX == remoteY && x.GetEncapVrfId() == y.GetEncapVrfId() && nextX == nextY
}

func (k gtpu) create(ctx context.Context, i *interfaces.Interface, _ *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	m := &ifaceidx.IfMeta{SwIfIndex: vppcalls.NoInterface}
	src, dst, err := gtpuEnds(i).parse()
	if err != nil {
		return m, err
	}
	l := i.GetGtpu()
	group, err := optionalIndex(k.ifs, l.GetMulticast())
	if err != nil {
		return m, err
	}
	remote, next := fullGtpu(l)
	wanted := vppcalls.Gtpu{
		Src: src, Dst: dst, TEID: l.GetTeid(), RemoteTEID: remote, Vrf: l.GetEncapVrfId(), Next: next, Multicast: group,
	}
	m.SwIfIndex, err = k.vpp.CreateGtpu(ctx, wanted)
	if errors.Is(err, api.TUNNEL_EXIST) {
		m.SwIfIndex, err = adoptAmong(ctx, k.vpp, k.vpp.DumpGtpus,
			func(found vppcalls.Gtpu) bool { return found.Dst == dst && found.TEID == wanted.TEID },
			func(found vppcalls.Gtpu) bool { return found == wanted }, err)
		err = conflict(err, field{"gtpu.dst_addr", dst}, field{"gtpu.teid", wanted.TEID})
	}
	return m, err
}

func (k gtpu) remove(ctx context.Context, _ *interfaces.Interface, m *ifaceidx.IfMeta) error {
	return k.vpp.DeleteGtpu(ctx, m.SwIfIndex)
}

func (gtpu) claims(d vppcalls.Details) bool {
	return !d.SubInterface && d.DevType == vppcalls.GtpuDevice
}

func (k gtpu) read(ctx context.Context, names func(uint32) string) (recogniser, error) {
	all, err := k.vpp.DumpGtpus(ctx)
	return func(d vppcalls.Details, _, i *interfaces.Interface, _ *ifaceidx.IfMeta) bool {
		t, ok := all[d.SwIfIndex]
		if !ok {
			return false
		}
		l := &interfaces.GtpuLink{
			SrcAddr: t.Src.String(), DstAddr: t.Dst.String(), Teid: t.TEID, RemoteTeid: t.RemoteTEID,
			EncapVrfId: t.Vrf, DecapNextNode: t.Next,
		}
		if t.Multicast != vppcalls.NoInterface {
			l.Multicast = names(t.Multicast)
		}
		i.Type, i.Link = interfaces.Interface_GTPU_TUNNEL, &interfaces.Interface_Gtpu{Gtpu: l}
		return true
	}, err
}
