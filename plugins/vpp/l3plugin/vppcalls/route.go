package vppcalls

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/ip"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// sourceAPI is how VPP marks routes that came over the binary API
// (FIB_SOURCE_API in src/vnet/fib/fib_source.h, the same in 22.10 to 26.06). The
// other sources are VPP itself and its command line.
const sourceAPI = 8

// Path is one way that a route offers.
type Path struct {
	// Drop packets; the other fields but Weight and Preference have no meaning.
	Drop bool
	// NextHop; the unspecified address or the zero value for none.
	NextHop netip.Addr
	// SwIfIndex of the outgoing interface, or NoInterface: then the lookup goes
	// on, for the next hop if there is one, in the table Via.
	SwIfIndex uint32
	Via       uint32
	// Weight is the share among paths of equal preference; 0 means 1. The lowest
	// Preference is used.
	Weight, Preference uint8
}

// Route is one path of a destination; a destination with several paths is
// several routes.
type Route struct {
	Table       uint32
	Destination netip.Prefix
	Path
}

// maxPaths is how many paths one message carries at most; VPP counts in a byte.
const maxPaths = 128

// routeChange is what paths have in common that can be sent in one message.
type routeChange struct {
	table uint32
	dst   netip.Prefix
	add   bool
}

// AddRoute adds a path to a destination. Paths that are added at the same time go
// in one message: VPP may stop its workers for each.
func (c *Calls) AddRoute(ctx context.Context, r Route) error { return c.route(ctx, r, true) }

// DeleteRoute removes a path of a destination. If there is none, that is a
// success. Paths that are removed at the same time go in one message.
func (c *Calls) DeleteRoute(ctx context.Context, r Route) error {
	err := c.route(ctx, r, false)
	if session.Gone(err, api.NO_SUCH_ENTRY, api.NO_SUCH_FIB, api.NO_MATCHING_INTERFACE) {
		return nil
	}
	return err
}

// PruneRoute takes the paths through interfaces that do not exist any more from a
// destination: VPP refuses to remove them one by one, so that the others are put in
// the place of all. No other path of the destination may be changed meanwhile.
func (c *Calls) PruneRoute(ctx context.Context, table uint32, dst netip.Prefix, gone map[uint32]bool) error {
	reply := &ip.IPRouteLookupV2Reply{}
	err := c.vpp.Call(ctx, &ip.IPRouteLookupV2{TableID: table, Exact: 1, Prefix: ipconv.Prefix(dst)}, reply)
	switch {
	case session.Gone(err, api.NO_SUCH_ENTRY, api.NO_SUCH_FIB):
		return nil
	case err != nil:
		return err
	case reply.Route.Src != sourceAPI:
		return nil // VPP has a better one, which makes no use of those
	}
	left := slices.DeleteFunc(slices.Clone(reply.Route.Paths), func(p fib_types.FibPath) bool { return gone[p.SwIfIndex] })
	if len(left) == len(reply.Route.Paths) {
		return nil
	}
	return c.vpp.Call(ctx, &ip.IPRouteAddDel{IsAdd: len(left) > 0, Route: ip.IPRoute{
		TableID: table, Prefix: ipconv.Prefix(dst), NPaths: uint8(len(left)), Paths: left,
	}}, &ip.IPRouteAddDelReply{})
}

func (c *Calls) route(ctx context.Context, r Route, add bool) error {
	change := routeChange{r.Table, r.Destination, add}
	return c.routes.do(ctx, change, r.message(r.Destination.Addr().Is6()), maxPaths, func(paths []fib_types.FibPath) []error {
		return c.changeRoute(ctx, change, paths)
	})
}

// changeRoute returns one error per path. VPP refuses a message as a whole, so
// they are tried one by one to find out which it means.
func (c *Calls) changeRoute(ctx context.Context, change routeChange, paths []fib_types.FibPath) []error {
	errs := make([]error, len(paths))
	err := c.sendRoute(ctx, change, paths)
	if refused := (api.VPPApiError(0)); len(paths) > 1 && errors.As(err, &refused) {
		for n := range paths {
			errs[n] = c.sendRoute(ctx, change, paths[n:n+1])
		}
		return errs
	}
	for n := range errs {
		errs[n] = err
	}
	return errs
}

func (c *Calls) sendRoute(ctx context.Context, change routeChange, paths []fib_types.FibPath) error {
	return c.vpp.Call(ctx, &ip.IPRouteAddDel{IsAdd: change.add, IsMultipath: true, Route: ip.IPRoute{
		TableID: change.table, Prefix: ipconv.Prefix(change.dst), NPaths: uint8(len(paths)), Paths: paths,
	}}, &ip.IPRouteAddDelReply{})
}

// message is the path of packets of the given version of IP.
func (r Path) message(ipv6 bool) fib_types.FibPath {
	p := fib_types.FibPath{
		SwIfIndex: r.SwIfIndex, TableID: r.Via, Weight: r.Weight, Preference: r.Preference,
		Proto: fib_types.FIB_API_PATH_NH_PROTO_IP4,
	}
	if ipv6 {
		p.Proto = fib_types.FIB_API_PATH_NH_PROTO_IP6
	}
	if r.Drop {
		p.Type, p.SwIfIndex, p.TableID = fib_types.FIB_API_PATH_TYPE_DROP, NoInterface, 0
		return p
	}
	if r.NextHop.IsValid() {
		p.Nh.Address = ipconv.Address(r.NextHop).Un
		// The next hop of an IPv4 route may be an IPv6 one.
		if r.NextHop.Is6() {
			p.Proto = fib_types.FIB_API_PATH_NH_PROTO_IP6
		}
	}
	return p
}

// path converts a path from VPP; ok is false for kinds of paths that no Route
// stands for.
func path(p fib_types.FibPath) (out Path, ok bool) {
	out = Path{SwIfIndex: p.SwIfIndex, Via: p.TableID, Weight: p.Weight, Preference: p.Preference}
	switch p.Type {
	case fib_types.FIB_API_PATH_TYPE_DROP:
		out.Drop = true
	case fib_types.FIB_API_PATH_TYPE_NORMAL:
	default:
		return out, false
	}
	switch p.Proto {
	case fib_types.FIB_API_PATH_NH_PROTO_IP4:
		out.NextHop = netip.AddrFrom4(p.Nh.Address.GetIP4())
	case fib_types.FIB_API_PATH_NH_PROTO_IP6:
		out.NextHop = netip.AddrFrom16(p.Nh.Address.GetIP6())
	default:
		return out, false
	}
	return out, true
}

// eachPath calls each for the paths that are routes.
func eachPath(table uint32, dst netip.Prefix, paths []fib_types.FibPath, each func(Route)) {
	for _, p := range paths {
		if converted, ok := path(p); ok {
			each(Route{table, dst, converted})
		}
	}
}

// EachRoute calls each for the routes of a table that came over the binary API, not
// for those that VPP made for interfaces, addresses and neighbours. After an error
// what was seen is not all there is.
func (c *Calls) EachRoute(ctx context.Context, t Table, each func(Route)) error {
	req := &ip.IPRouteV2Dump{Src: sourceAPI, Table: ip.IPTable{TableID: t.ID, IsIP6: t.IPv6}}
	return session.Each(ctx, c.vpp, req, func(d *ip.IPRouteV2Details) {
		eachPath(d.Route.TableID, ipconv.FromPrefix(d.Route.Prefix), d.Route.Paths, each)
	})
}

// LookupRoutes returns the routes to exactly the destination, whoever made
// them.
func (c *Calls) LookupRoutes(ctx context.Context, table uint32, dst netip.Prefix) (found []Route, err error) {
	reply := &ip.IPRouteLookupReply{}
	err = c.vpp.Call(ctx, &ip.IPRouteLookup{TableID: table, Exact: 1, Prefix: ipconv.Prefix(dst)}, reply)
	switch {
	case errors.Is(err, api.NO_SUCH_ENTRY), errors.Is(err, api.NO_SUCH_FIB):
		return nil, nil
	case err != nil:
		return nil, err
	}
	eachPath(table, dst, reply.Route.Paths, func(r Route) { found = append(found, r) })
	return found, nil
}
