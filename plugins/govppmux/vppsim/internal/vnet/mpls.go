package vnet

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/cmdline"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/mpls"
)

// mplsTables are the MPLS tables, and the interfaces that accept MPLS packets. A table lives as
// long as the API or, for table 0, an interface holds it.
type mplsTables struct {
	*VNet
	pool[mplsTable]
	// enabled counts how often MPLS was enabled, by sw_if_index. It outlives the interface.
	enabled map[uint32]int
}

type mplsTable struct {
	id     uint32
	name   string
	api    bool // held by the API
	used   int  // interfaces
	routes map[mplsLabel]*mplsRoute
}

type mplsLabel struct {
	label uint32
	last  bool
}

type mplsRoute struct {
	payload uint8 // protocol; it stays as it was when the route was made
	paths   *fib.PathList
}

func newMplsTables(n *VNet) feature { return &mplsTables{VNet: n} }

func (ts *mplsTables) register(server *wire.Server) {
	handle[mpls.MplsTableAddDelReply](server, func(req *mpls.MplsTableAddDel) retval {
		ts.changeTable(req.MtTable, req.MtIsAdd)
		return ok
	})
	wire.HandleDump(server, func(c *wire.Call, _ *mpls.MplsTableDump) {
		for _, t := range ts.all() {
			c.Send(&mpls.MplsTableDetails{MtTable: mpls.MplsTable{MtTableID: t.id, MtName: t.name}})
		}
	})
	handle[mpls.SwInterfaceSetMplsEnableReply](server, ts.enable)
	wire.HandleDump(server, func(c *wire.Call, req *mpls.MplsInterfaceDump) {
		for index := range ts.ifs.all() {
			if ts.enabled[index] > 0 && selects(req.SwIfIndex, index) {
				c.Send(&mpls.MplsInterfaceDetails{SwIfIndex: ifIndex(index)})
			}
		}
	})
	wire.Handle(server, func(_ *wire.Call, req *mpls.MplsRouteAddDel) *mpls.MplsRouteAddDelReply {
		return &mpls.MplsRouteAddDelReply{Retval: int32(ts.changeRoute(req)), StatsIndex: none}
	})
	wire.HandleDump(server, ts.dumpRoutes)
}

func (ts *mplsTables) reset() {
	ts.pool, ts.enabled = pool[mplsTable]{}, map[uint32]int{}
}

func (ts *mplsTables) table(id uint32) (uint32, *mplsTable) {
	return ts.find(func(t *mplsTable) bool { return t.id == id })
}

func (ts *mplsTables) changeTable(m mpls.MplsTable, add bool) {
	_, t := ts.table(m.MtTableID)
	switch {
	case t == nil && add:
		if m.MtName == "" {
			m.MtName = fmt.Sprintf("MPLS-VRF:%d", m.MtTableID)
		}
		ts.add(&mplsTable{id: m.MtTableID, name: m.MtName, api: true, routes: map[mplsLabel]*mplsRoute{}})
	case t != nil:
		t.api = add
		ts.release(t)
	}
}

func (ts *mplsTables) release(t *mplsTable) {
	if t.api || t.used > 0 {
		return
	}
	for _, r := range t.routes {
		ts.fibs.DeletePathList(r.paths)
	}
	index, _ := ts.table(t.id)
	ts.remove(index)
}

func (ts *mplsTables) enable(req *mpls.SwInterfaceSetMplsEnable) retval {
	index := uint32(req.SwIfIndex)
	_, t := ts.table(0)
	switch {
	case ts.byIndex(req.SwIfIndex) == nil:
		return api.INVALID_SW_IF_INDEX
	case t == nil:
		return api.NO_SUCH_FIB
	case req.Enable:
		if ts.enabled[index]++; ts.enabled[index] == 1 {
			t.used++
		}
	case ts.enabled[index] > 0:
		if ts.enabled[index]--; ts.enabled[index] == 0 {
			t.used--
			ts.release(t)
		}
	}
	return ok
}

// changeRoute adds or removes paths (multipath) or all of them.
func (ts *mplsTables) changeRoute(req *mpls.MplsRouteAddDel) retval {
	_, t := ts.table(req.MrRoute.MrTableID)
	if t == nil {
		return api.NO_SUCH_FIB
	}
	paths, rv := ts.decodePaths(req.MrRoute.MrPaths)
	switch {
	case rv != ok:
		return rv
	case len(paths) == 0 && (req.MrIsAdd || req.MrIsMultipath):
		return noPathsInRoute
	}
	at := mplsLabel{req.MrRoute.MrLabel, req.MrRoute.MrEos != 0}
	r := &mplsRoute{payload: req.MrRoute.MrEosProto}
	if !at.last {
		r.payload = uint8(fib_types.FIB_API_PATH_NH_PROTO_MPLS)
	}
	var left []fib.Path
	if old := t.routes[at]; old != nil {
		r.payload = old.payload
		if req.MrIsMultipath {
			left = slices.DeleteFunc(slices.Clone(old.paths.Paths()), func(p fib.Path) bool { return slices.ContainsFunc(paths, p.Same) })
		}
		defer ts.fibs.DeletePathList(old.paths)
		delete(t.routes, at)
	}
	if req.MrIsAdd {
		left = append(left, paths...)
	}
	if len(left) > 0 {
		r.paths = ts.fibs.NewPathList(left)
		t.routes[at] = r
	}
	return ok
}

func (n *VNet) decodePaths(wanted []fib_types.FibPath) ([]fib.Path, retval) {
	anywhere := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	paths := make([]fib.Path, len(wanted))
	for at := range wanted {
		p, rv := n.fibs.Decode(&wanted[at], anywhere, n.inUse)
		if rv != ok {
			return nil, rv
		}
		paths[at] = p
	}
	return paths, ok
}

// dumpRoutes begins with the routes that every table has: IPv4 explicit null, router alert, and
// IPv6 explicit null.
func (ts *mplsTables) dumpRoutes(c *wire.Call, req *mpls.MplsRouteDump) {
	_, t := ts.table(req.Table.MtTableID)
	if t == nil {
		return
	}
	const ip4, ip6, labels = 0, 1, uint8(fib_types.FIB_API_PATH_NH_PROTO_MPLS)
	special := []fib_types.FibPath{{SwIfIndex: none, Weight: 1, Proto: fib_types.FIB_API_PATH_NH_PROTO_MPLS}}
	send := func(at mplsLabel, payload uint8, paths []fib_types.FibPath) {
		r := mpls.MplsRoute{MrTableID: t.id, MrLabel: at.label, MrEosProto: payload, MrNPaths: uint8(len(paths)), MrPaths: paths}
		if at.last {
			r.MrEos = 1
		}
		c.Send(&mpls.MplsRouteDetails{MrRoute: r})
	}
	for label, payload := range []uint8{ip4, labels, ip6} {
		send(mplsLabel{label: uint32(label)}, labels, special)
		send(mplsLabel{uint32(label), true}, payload, special)
	}
	for _, at := range t.sorted() {
		r := t.routes[at]
		var paths []fib_types.FibPath
		for _, p := range r.paths.Paths() {
			paths = append(paths, p.Encode())
		}
		send(at, r.payload, paths)
	}
}

func (t *mplsTable) sorted() []mplsLabel {
	return slices.SortedFunc(maps.Keys(t.routes), func(a, b mplsLabel) int {
		return cmp.Or(cmp.Compare(a.label, b.label), cmp.Compare(fmt.Sprint(a.last), fmt.Sprint(b.last)))
	})
}

func (ts *mplsTables) commands() []cmdline.Command {
	return []cmdline.Command{{Path: "show mpls interface", Run: func(in *cmdline.Input) error {
		for index, i := range ts.ifs.all() {
			if ts.enabled[index] > 0 {
				in.Line("%s", i.name())
				in.Line("  MPLS enabled")
			}
		}
		return nil
	}}}
}

func (ts *mplsTables) dumpInterface(b *strings.Builder, i *swInterface) {
	if n := ts.enabled[i.index]; n > 0 {
		fmt.Fprintf(b, "  MPLS enabled %d\n", n)
	}
}

func (ts *mplsTables) dump(b *strings.Builder) {
	var lines []string
	for _, t := range ts.all() {
		lines = append(lines, fmt.Sprintf("mpls table %d %s\n", t.id, t.name))
		for _, at := range t.sorted() {
			r := t.routes[at]
			for _, p := range r.paths.Paths() {
				m := p.Encode()
				lines = append(lines, fmt.Sprintf("mpls route %d in %d last %t to %d via %+v\n", at.label, t.id, at.last, r.payload, m))
			}
		}
	}
	dumpSorted(b, lines)
}
