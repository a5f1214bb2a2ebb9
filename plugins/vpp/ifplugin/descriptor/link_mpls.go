package descriptor

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/mpls"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

const (
	// maxTunnelPaths is how many paths a tunnel can have here, and maxTunnelLabels how many
	// labels VPP has in one.
	maxTunnelPaths, maxTunnelLabels = 8, 16
	// firstLabel is the first label without a special meaning, and lastLabel the last.
	firstLabel, lastLabel = 16, 1<<20 - 1
	// noLabel stands for no label (implicit null).
	noLabel = 3
)

// mplsTunnel is a tunnel with its paths, in order.
type mplsTunnel struct {
	index         ifIndex // of those that VPP has
	tag           string  // of those that VPP has: no value has one
	l2, multicast bool
	paths         [maxTunnelPaths]mplsPath
	n             int // paths
}

type mplsPath struct {
	nextHop            netip.Addr
	via                ifIndex // noInterface: lookup in table
	table              uint32
	weight, preference uint8
	labels             [maxTunnelLabels]uint32
	n                  int    // labels
	other              string // see ipconv.PathSettings
}

// An MPLS tunnel puts labels on packets. VPP makes it with its first paths, and deletes it with
// the last.
var mplsTunnels = linkSpec[mplsTunnel]{
	op: declareLinks("interface MPLS_TUNNEL", "", linkCalls[mplsTunnel]{
		set: setMPLSTunnel,
		dump: dumpOf[*mpls.MplsTunnelDump](func(d *mpls.MplsTunnelDetails) (ifIndex, mplsTunnel) {
			return d.MtTunnel.MtSwIfIndex, mplsTunnelOf(d.MtTunnel)
		}),
	}),
	device: "MPLS tunnel device",
	facts: traits{
		packetMTU: true, link: func() proto.Message { return &interfaces.MplsTunnelLink{} },
	},
	resolve:  resolveMPLSTunnel,
	describe: describeMPLSTunnel,
	chosen: func(p *mplsTunnel, found mplsTunnel) {
		p.index = found.index
		for n := range p.paths { // known by their names
			if (p.paths[n].via == noInterface) == (found.paths[n].via == noInterface) {
				p.paths[n].via = found.paths[n].via
			}
		}
	},
}

func setMPLSTunnel(add bool, t mplsTunnel) (req, reply api.Message) {
	m := mpls.MplsTunnel{MtSwIfIndex: t.index, MtL2Only: t.l2, MtIsMulticast: t.multicast}
	if add {
		m.MtSwIfIndex = noInterface
	}
	for _, p := range t.paths[:t.n] {
		path := fib_types.FibPath{SwIfIndex: uint32(p.via), TableID: p.table, Weight: p.weight, Preference: p.preference, NLabels: uint8(p.n)}
		if p.nextHop.Is6() {
			path.Proto = fib_types.FIB_API_PATH_NH_PROTO_IP6
		}
		path.Nh.Address = ipconv.Address(p.nextHop).Un
		for n, label := range p.labels[:p.n] {
			path.LabelStack[n].Label = label
		}
		m.MtPaths = append(m.MtPaths, path)
	}
	if t.n == 0 { // VPP ends when it gets none
		m.MtPaths = []fib_types.FibPath{{Type: fib_types.FIB_API_PATH_TYPE_DROP, SwIfIndex: uint32(noInterface)}}
	}
	m.MtNPaths = uint8(len(m.MtPaths))
	return &mpls.MplsTunnelAddDel{MtIsAdd: add, MtTunnel: m}, &mpls.MplsTunnelAddDelReply{}
}

func mplsTunnelOf(m mpls.MplsTunnel) mplsTunnel {
	t := mplsTunnel{index: m.MtSwIfIndex, tag: m.MtTag, l2: m.MtL2Only, multicast: m.MtIsMulticast, n: min(len(m.MtPaths), maxTunnelPaths)}
	for i, path := range m.MtPaths[:t.n] {
		p := mplsPath{via: ifIndex(path.SwIfIndex), table: path.TableID, weight: path.Weight, preference: path.Preference, other: ipconv.PathSettings(path)}
		if path.Type != fib_types.FIB_API_PATH_TYPE_NORMAL {
			p.other += fmt.Sprint(" type ", path.Type)
		}
		p.nextHop = netip.AddrFrom4(path.Nh.Address.GetIP4())
		if path.Proto == fib_types.FIB_API_PATH_NH_PROTO_IP6 {
			p.nextHop = netip.AddrFrom16(path.Nh.Address.GetIP6())
		}
		for n, label := range path.LabelStack[:min(path.NLabels, maxTunnelLabels)] {
			p.labels[n], p.n = label.Label, n+1
		}
		t.paths[i] = p
	}
	t.sort()
	return t
}

func (t *mplsTunnel) sort() { slices.SortFunc(t.paths[:t.n], mplsPath.compare) }

// compare orders paths by what VPP distinguishes them by.
func (p mplsPath) compare(o mplsPath) int {
	return cmp.Or(p.nextHop.Compare(o.nextHop), cmp.Compare(p.via, o.via), cmp.Compare(p.table, o.table))
}

func resolveMPLSTunnel(r *item.Resolver, i *interfaces.Interface) mplsTunnel {
	l := i.GetMplsTunnel()
	t := mplsTunnel{l2: l.GetL2Only(), multicast: l.GetMulticast()}
	if n := len(l.GetPaths()); n < 1 || n > maxTunnelPaths {
		r.Fail("mpls_tunnel.paths", "has %d, expected 1 to %d", n, maxTunnelPaths)
		return t
	}
	for n, v := range l.GetPaths() {
		field := fmt.Sprintf("mpls_tunnel.paths[%d]", n)
		p := resolveMPLSPath(r, field, i.GetName(), v)
		for other, has := range t.paths[:t.n] {
			if has.compare(p) == 0 && p.nextHop.IsValid() {
				r.Fail(field, "goes where mpls_tunnel.paths[%d] goes", other)
			}
		}
		t.paths[t.n] = p
		t.n++
	}
	t.sort()
	return t
}

func resolveMPLSPath(r *item.Resolver, field, tunnel string, v *interfaces.MplsTunnelLink_Path) mplsPath {
	p := mplsPath{
		nextHop: end(r, field+".next_hop_addr", v.GetNextHopAddr()), via: noInterface,
		weight:     uint8(cmp.Or(v.GetWeight(), 1)),
		preference: uint8(v.GetPreference()),
	}
	switch via := v.GetOutgoingInterface(); {
	case via == "":
		p.table = r.TableAs("vrf-table-for-"+field+"-exists", v.GetVrfId(), ipconv.Address(p.nextHop))
	case via == tunnel:
		r.Fail(field+".outgoing_interface", "is the interface itself")
	case v.GetVrfId() != 0:
		r.Fail(field+".vrf_id", "%d, expected 0 with outgoing_interface", v.GetVrfId())
	default:
		p.via = r.Interface(field+".outgoing_interface", via)
	}
	labels := v.GetOutLabels()
	if len(labels) < 1 || len(labels) > maxTunnelLabels {
		r.Fail(field+".out_labels", "has %d, expected 1 to %d", len(labels), maxTunnelLabels)
		return p
	}
	p.n = copy(p.labels[:], labels)
	for n, label := range labels {
		if label != noLabel || len(labels) > 1 {
			r.Range(fmt.Sprintf("%s.out_labels[%d]", field, n), label, firstLabel, lastLabel)
		}
	}
	return p
}

func describeMPLSTunnel(i *interfaces.Interface, t mplsTunnel, known about) {
	l := &interfaces.MplsTunnelLink{L2Only: t.l2, Multicast: t.multicast}
	for _, p := range t.paths[:t.n] {
		l.Paths = append(l.Paths, &interfaces.MplsTunnelLink_Path{
			NextHopAddr: p.nextHop.String(), OutgoingInterface: known.names(p.via), VrfId: p.table,
			OutLabels: slices.Clone(p.labels[:p.n]), Weight: uint32(p.weight), Preference: uint32(p.preference),
		})
	}
	i.Type, i.Link = interfaces.Interface_MPLS_TUNNEL, &interfaces.Interface_MplsTunnel{MplsTunnel: l}
}
