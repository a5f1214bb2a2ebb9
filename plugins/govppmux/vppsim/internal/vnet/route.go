package vnet

import (
	"net/netip"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"
)

// noPathsInRoute is VNET_API_ERROR_NO_PATHS_IN_ROUTE, which the bindings lack.
const noPathsInRoute = retval(-52)

func (n *VNet) handleRoutes() {
	wire.Handle(n.server, func(_ *wire.Call, req *ip.IPRouteAddDel) *ip.IPRouteAddDelReply {
		stats, rv := n.changeRoute(&routeChange{
			add: req.IsAdd, multipath: req.IsMultipath, source: fib.SourceAPI,
			table: req.Route.TableID, prefix: req.Route.Prefix, paths: req.Route.Paths,
		})
		return &ip.IPRouteAddDelReply{Retval: int32(rv), StatsIndex: stats}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *ip.IPRouteAddDelV2) *ip.IPRouteAddDelV2Reply {
		change := &routeChange{
			add: req.IsAdd, multipath: req.IsMultipath, source: fib.SourceID(req.Route.Src),
			table: req.Route.TableID, prefix: req.Route.Prefix, paths: req.Route.Paths,
		}
		if change.source == 0 {
			change.source = fib.SourceAPI
		}
		stats, rv := n.changeRoute(change)
		return &ip.IPRouteAddDelV2Reply{Retval: int32(rv), StatsIndex: stats}
	})
	wire.HandleDump(n.server, n.routeDump)
	wire.HandleDump(n.server, n.routeDumpV2)
	wire.Handle(n.server, func(_ *wire.Call, req *ip.IPRouteLookup) *ip.IPRouteLookupReply {
		route, rv := n.lookupRoute(req.TableID, req.Exact != 0, req.Prefix)
		return &ip.IPRouteLookupReply{Retval: int32(rv), Route: ip.IPRoute{
			TableID: route.TableID, StatsIndex: route.StatsIndex, Prefix: route.Prefix,
			NPaths: route.NPaths, Paths: route.Paths,
		}}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *ip.IPRouteLookupV2) *ip.IPRouteLookupV2Reply {
		route, rv := n.lookupRoute(req.TableID, req.Exact != 0, req.Prefix)
		return &ip.IPRouteLookupV2Reply{Retval: int32(rv), Route: route}
	})
}

// routeChange is what both versions of ip_route_add_del say.
type routeChange struct {
	add, multipath bool
	source         fib.SourceID
	table          uint32
	prefix         ip_types.Prefix
	paths          []fib_types.FibPath
}

// changeRoute adds or removes paths (multipath) or the whole contribution of a
// source. Deleting what does not exist succeeds.
func (n *VNet) changeRoute(c *routeChange) (stats uint32, rv retval) {
	prefix, valid := prefixOf(c.prefix)
	t := n.fibs.Table(familyOf(prefix.Addr()), c.table)
	if t == nil {
		return none, api.NO_SUCH_FIB
	}
	paths := make([]fib.Path, len(c.paths))
	for at := range c.paths {
		if paths[at], rv = n.fibs.Decode(&c.paths[at], prefix, n.inUse); rv != ok {
			return none, rv
		}
	}
	switch {
	case !valid:
		return none, api.INVALID_PREFIX_LENGTH
	case len(paths) == 0 && (c.multipath || c.add):
		return none, noPathsInRoute
	case c.add && c.multipath:
		return n.fibs.Add(t, prefix, c.source, paths).Stats, ok
	case c.add:
		slices.SortStableFunc(paths, fib.Path.Compare)
		return n.fibs.Set(t, prefix, c.source, paths).Stats, ok
	case c.multipath:
		n.fibs.RemovePaths(t, prefix, c.source, paths)
	default:
		n.fibs.Remove(t, prefix, c.source)
	}
	return none, ok
}

// inUse says whether a sw_if_index is in use.
func (n *VNet) inUse(index uint32) bool { return n.ifs.at(index) != nil }

// describeRoute fills in a route as the dumps and lookups show it.
func describeRoute(t *fib.Table, prefix netip.Prefix, entry *fib.Entry) ip.IPRouteV2 {
	paths := t.Paths(prefix, entry)
	route := ip.IPRouteV2{
		TableID: t.ID, StatsIndex: entry.Stats, Prefix: apiPrefix(entry.Prefix),
		Src: uint8(entry.Best().ID), Paths: make([]fib_types.FibPath, len(paths)),
	}
	for at := range paths {
		route.Paths[at] = paths[at].Encode()
	}
	route.NPaths = uint8(len(paths))
	return route
}

func (n *VNet) routeDump(c *wire.Call, req *ip.IPRouteDump) {
	t := n.fibs.Table(familyFlag(req.Table.IsIP6), req.Table.TableID)
	if t == nil {
		return
	}
	for prefix, entry := range t.Sorted() {
		route := describeRoute(t, prefix, entry)
		c.Send(&ip.IPRouteDetails{Route: ip.IPRoute{
			TableID: route.TableID, StatsIndex: route.StatsIndex, Prefix: route.Prefix,
			NPaths: route.NPaths, Paths: route.Paths,
		}})
	}
}

func (n *VNet) routeDumpV2(c *wire.Call, req *ip.IPRouteV2Dump) {
	t := n.fibs.Table(familyFlag(req.Table.IsIP6), req.Table.TableID)
	if t == nil {
		return
	}
	for prefix, entry := range t.Sorted() {
		if req.Src == 0 || req.Src == uint8(entry.Best().ID) {
			c.Send(&ip.IPRouteV2Details{Route: describeRoute(t, prefix, entry)})
		}
	}
}

// lookupRoute finds the route of a prefix or the longest that contains it.
func (n *VNet) lookupRoute(table uint32, exact bool, want ip_types.Prefix) (ip.IPRouteV2, retval) {
	prefix, valid := prefixOf(want)
	t := n.fibs.Table(familyOf(prefix.Addr()), table)
	if t == nil {
		return ip.IPRouteV2{}, api.NO_SUCH_FIB
	}
	if !valid {
		return ip.IPRouteV2{}, api.NO_SUCH_ENTRY
	}
	prefix = prefix.Masked()
	entry := t.Entry(prefix)
	if entry == nil && !exact {
		prefix, entry = t.Cover(prefix)
	}
	if entry == nil {
		return ip.IPRouteV2{}, api.NO_SUCH_ENTRY
	}
	return describeRoute(t, prefix, entry), ok
}
