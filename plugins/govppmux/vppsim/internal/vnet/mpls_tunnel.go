package vnet

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/mpls"
)

const mplsTunnelDevice = "MPLS tunnel device"

// mplsTunnel is what a tunnel was made from.
type mplsTunnel struct {
	l2, multicast bool
	tag           string
	paths         *fib.PathList
}

// mplsTunnels are interfaces that put labels on packets (src/vnet/mpls/mpls_tunnel.c).
type mplsTunnels struct {
	*VNet
	kind[mplsTunnel]
}

func newMplsTunnels(n *VNet) feature { return &mplsTunnels{VNet: n} }

func (ts *mplsTunnels) register(server *wire.Server) {
	wire.Handle(server, func(_ *wire.Call, req *mpls.MplsTunnelAddDel) *mpls.MplsTunnelAddDelReply {
		paths, rv := ts.decodePaths(req.MtTunnel.MtPaths)
		if rv != ok {
			return &mpls.MplsTunnelAddDelReply{Retval: int32(rv), SwIfIndex: noInterface, TunnelIndex: none}
		}
		index, instance := req.MtTunnel.MtSwIfIndex, none
		if req.MtIsAdd && index == noInterface {
			index = ts.create(&req.MtTunnel)
		}
		if i := ts.tunnel(index); i != nil {
			instance = i.hw.instance
			ts.change(i, paths, req.MtIsAdd)
		}
		return &mpls.MplsTunnelAddDelReply{SwIfIndex: index, TunnelIndex: instance}
	})
	wire.HandleDump(server, func(c *wire.Call, req *mpls.MplsTunnelDump) {
		for instance, m := range ts.all() {
			if !selects(req.SwIfIndex, m.swIndex) {
				continue
			}
			d := &mpls.MplsTunnelDetails{MtTunnel: mpls.MplsTunnel{
				MtSwIfIndex: ifIndex(m.swIndex), MtTunnelIndex: instance, MtL2Only: m.config.l2, MtIsMulticast: m.config.multicast, MtTag: m.config.tag,
			}}
			d.MtTunnel.MtPaths = encoded(m.config.paths)
			d.MtTunnel.MtNPaths = uint8(len(d.MtTunnel.MtPaths))
			c.Send(d)
		}
	})
}

func encoded(l *fib.PathList) (paths []fib_types.FibPath) {
	if l == nil {
		return nil
	}
	for _, p := range l.Paths() {
		paths = append(paths, p.Encode())
	}
	return paths
}

func (ts *mplsTunnels) reset() { ts.kind = kind[mplsTunnel]{} }

func (ts *mplsTunnels) tunnel(index ifIndex) *swInterface {
	if i := ts.byIndex(index); i != nil && !i.isSub && i.hw.device == mplsTunnelDevice {
		return i
	}
	return nil
}

func (ts *mplsTunnels) create(t *mpls.MplsTunnel) ifIndex {
	i := ts.newTunnel(fmt.Sprintf("mpls-tunnel%d", ts.next()), mplsTunnelDevice, tunnelMTU)
	ts.keep(i, &mplsTunnel{l2: t.MtL2Only, multicast: t.MtIsMulticast, tag: t.MtTag})
	return ifIndex(i.index)
}

// change adds or removes paths; a tunnel goes with its last path.
func (ts *mplsTunnels) change(i *swInterface, paths []fib.Path, add bool) {
	t := &ts.at(i.hw.instance).config
	var left []fib.Path
	if t.paths != nil {
		left = slices.DeleteFunc(slices.Clone(t.paths.Paths()), func(p fib.Path) bool { return slices.ContainsFunc(paths, p.Same) })
		ts.fibs.DeletePathList(t.paths)
		t.paths = nil
	}
	if add {
		left = append(left, paths...)
	}
	if len(left) > 0 {
		t.paths = ts.fibs.NewPathList(left)
		return
	}
	ts.remove(i.hw.instance)
	ts.deleteHardware(i.hw)
}

func (ts *mplsTunnels) dumpInterface(b *strings.Builder, i *swInterface) {
	if ts.tunnel(ifIndex(i.index)) == nil {
		return
	}
	t := ts.at(i.hw.instance).config
	fmt.Fprintf(b, "  mpls tunnel: l2 %t multicast %t\n", t.l2, t.multicast)
	for _, p := range encoded(t.paths) {
		var nextHop netip.Addr
		switch p.Proto {
		case fib_types.FIB_API_PATH_NH_PROTO_IP4:
			nextHop = netip.AddrFrom4(p.Nh.Address.GetIP4())
		case fib_types.FIB_API_PATH_NH_PROTO_IP6:
			nextHop = netip.AddrFrom16(p.Nh.Address.GetIP6())
		}
		fmt.Fprintf(b, "    path %v via %s table %d weight %d preference %d labels", nextHop,
			ts.orStaleIf(p.SwIfIndex), p.TableID, p.Weight, p.Preference)
		for _, l := range p.LabelStack[:p.NLabels] {
			fmt.Fprintf(b, " %d", l.Label)
		}
		b.WriteString("\n")
	}
}
