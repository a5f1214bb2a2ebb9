package vppcalls

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/ip"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// VPP marks the routes of the binary API and the routes of its command line (FIB_SOURCE_API and
// FIB_SOURCE_CLI in src/vnet/fib/fib_source.h, the same in 22.10 to 26.06). The other sources are
// VPP itself and its plugins. A destination has paths of each source. VPP uses the paths of the API
// rather than the paths of the command line.
const (
	sourceAPI = 8
	sourceCLI = 9
)

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
	// Labels are the MPLS labels of packets, the outermost first; at most MaxLabels. Paths that
	// differ in nothing else are the same for VPP.
	Labels []uint32
	// Other are the settings of a path of VPP that the model lacks; see ipconv.PathSettings.
	Other string
	// OtherType is the type or protocol of a path of VPP that no item stands for; else "".
	OtherType string
}

// MaxLabels is how many labels VPP puts on a packet.
const MaxLabels = 16

// Route is one path of a destination; a destination with several paths is
// several routes.
type Route struct {
	Table       uint32
	Destination netip.Prefix
	Path
}

// maxPaths is how many paths one message carries at most; VPP counts in a byte.
const maxPaths = 128

// destination is what paths have in common that can be sent in one message.
type destination struct {
	table  uint32
	prefix netip.Prefix
}

var addDelRoute = session.Require("route", "", (*ip.IPRouteAddDel)(nil), (*ip.IPRouteAddDelReply)(nil))

// PruneRoute takes the paths through interfaces that no longer exist from a
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

// ChangeRoutes adds paths to destinations, or removes them, and returns one error for each. It
// sends all requests before it waits for the replies. Paths of the same destination go in one
// message: VPP may stop its workers for each. VPP refuses a message as a whole, so its paths are
// tried one by one to find out which it means. To remove a path that does not exist is a success.
func (c *Calls) ChangeRoutes(ctx context.Context, routes []Route, add bool) []error {
	errs := make([]error, len(routes))
	if err := addDelRoute.Check(c.vpp); err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	var again [][]int
	groups := byDestination(routes)
	for g, err := range c.sendRoutes(ctx, routes, groups, add) {
		refused := api.VPPApiError(0)
		split := len(groups[g]) > 1 && errors.As(err, &refused)
		for _, i := range groups[g] {
			errs[i] = err
			if split {
				again = append(again, []int{i})
			}
		}
	}
	if len(again) > 0 {
		for g, err := range c.sendRoutes(ctx, routes, again, add) {
			errs[again[g][0]] = err
		}
	}
	for i, err := range errs {
		if !add && session.Gone(err, api.NO_SUCH_ENTRY, api.NO_SUCH_FIB, api.NO_MATCHING_INTERFACE) {
			errs[i] = nil
		}
	}
	return errs
}

// byDestination returns the indexes of the routes that go in one message.
func byDestination(routes []Route) (groups [][]int) {
	last := make(map[destination]int, len(routes)) // group
	for i, r := range routes {
		to := destination{r.Table, r.Destination}
		g, known := last[to]
		if !known || len(groups[g]) == maxPaths {
			g = len(groups)
			groups, last[to] = append(groups, nil), g
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// sendRoutes sends a message for each group of routes with the same destination, and returns
// one error per group.
func (c *Calls) sendRoutes(ctx context.Context, routes []Route, groups [][]int, add bool) []error {
	requests, replies := make([]api.Message, len(groups)), make([]api.Message, len(groups))
	for g, group := range groups {
		to := routes[group[0]]
		paths := make([]fib_types.FibPath, len(group))
		for n, i := range group {
			paths[n] = routes[i].Message(to.Destination.Addr().Is6())
		}
		requests[g] = &ip.IPRouteAddDel{IsAdd: add, IsMultipath: true, Route: ip.IPRoute{
			TableID: to.Table, Prefix: ipconv.Prefix(to.Destination), NPaths: uint8(len(paths)), Paths: paths,
		}}
		replies[g] = &ip.IPRouteAddDelReply{}
	}
	return c.vpp.CallAll(ctx, requests, replies)
}

// Message is the path of packets of the given version of IP.
func (r Path) Message(ipv6 bool) fib_types.FibPath {
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
	for n, label := range r.Labels {
		p.LabelStack[n].Label = label
	}
	p.NLabels = uint8(len(r.Labels))
	if r.NextHop.IsValid() {
		p.Nh.Address = ipconv.Address(r.NextHop).Un
		// The next hop of an IPv4 route may be an IPv6 one.
		if r.NextHop.Is6() {
			p.Proto = fib_types.FIB_API_PATH_NH_PROTO_IP6
		}
	}
	return p
}

// PathOf converts a path from VPP.
func PathOf(p fib_types.FibPath) (out Path) {
	out = Path{SwIfIndex: p.SwIfIndex, Via: p.TableID, Weight: p.Weight, Preference: p.Preference, Other: ipconv.PathSettings(p)}
	for _, l := range p.LabelStack[:min(p.NLabels, MaxLabels)] {
		out.Labels = append(out.Labels, l.Label)
	}
	switch p.Type {
	case fib_types.FIB_API_PATH_TYPE_DROP:
		out.Drop = true
	case fib_types.FIB_API_PATH_TYPE_NORMAL:
	default:
		out.OtherType = fmt.Sprint("path type ", strings.TrimPrefix(p.Type.String(), "FIB_API_PATH_TYPE_"))
	}
	switch p.Proto {
	case fib_types.FIB_API_PATH_NH_PROTO_IP4:
		out.NextHop = netip.AddrFrom4(p.Nh.Address.GetIP4())
	case fib_types.FIB_API_PATH_NH_PROTO_IP6:
		out.NextHop = netip.AddrFrom16(p.Nh.Address.GetIP6())
	default:
		out.OtherType = fmt.Sprint("path protocol ", strings.TrimPrefix(p.Proto.String(), "FIB_API_PATH_NH_PROTO_"))
	}
	return out
}

// eachPath calls each for the paths of a destination.
func eachPath(table uint32, dst netip.Prefix, paths []fib_types.FibPath, each func(Route)) {
	for _, p := range paths {
		each(Route{table, dst, PathOf(p)})
	}
}

// EachRoute calls each for the routes of a table that came over the binary API, not
// for those that VPP made for interfaces, addresses and neighbours. After an error
// what was seen is not all there is.
func (c *Calls) EachRoute(ctx context.Context, t Table, each func(Route)) error {
	return c.eachOf(ctx, t, sourceAPI, each)
}

// EachOfCLI is EachRoute for the routes of VPP's command line, without those to destinations that
// have routes of the API.
func (c *Calls) EachOfCLI(ctx context.Context, t Table, each func(Route)) error {
	return c.eachOf(ctx, t, sourceCLI, each)
}

func (c *Calls) eachOf(ctx context.Context, t Table, source uint8, each func(Route)) error {
	req := &ip.IPRouteV2Dump{Src: source, Table: Table{TableID: t.TableID, IsIP6: t.IsIP6}}
	return session.Each(ctx, c.vpp, req, func(d *ip.IPRouteV2Details) {
		eachPath(d.Route.TableID, ipconv.FromPrefix(d.Route.Prefix), d.Route.Paths, each)
	})
}

// LookupRoutes returns the routes to exactly the destination, of any process, without the routes of
// VPP's command line.
func (c *Calls) LookupRoutes(ctx context.Context, table uint32, dst netip.Prefix) (found []Route, err error) {
	reply := &ip.IPRouteLookupV2Reply{}
	err = c.vpp.Call(ctx, &ip.IPRouteLookupV2{TableID: table, Exact: 1, Prefix: ipconv.Prefix(dst)}, reply)
	switch {
	case errors.Is(err, api.NO_SUCH_ENTRY), errors.Is(err, api.NO_SUCH_FIB):
		return nil, nil
	case err != nil:
		return nil, err
	case reply.Route.Src == sourceCLI:
		return nil, nil
	}
	eachPath(table, dst, reply.Route.Paths, func(r Route) { found = append(found, r) })
	return found, nil
}
