package netlinkapi

import (
	"context"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// MainTable is the routing table used outside of VRFs.
const MainTable = 254

// RouteType is what happens to packets that take a route; see ip-route(8).
type RouteType uint8

// The types that are read and written. The packets of all but RouteUnicast stay here.
const (
	RouteUnicast     RouteType = 0
	RouteBlackhole   RouteType = 6 // dropped
	RouteUnreachable RouteType = 7 // answered: the host is unreachable
	RouteProhibit    RouteType = 8 // answered: administratively prohibited
)

// Route is a route. Its first next hop is Link, Gateway, OnLink and Weight.
type Route struct {
	Type     RouteType
	Link     int // 0: the type is not RouteUnicast, or there is a Nexthop
	Table    uint32
	Dst      netip.Prefix // the default route is 0.0.0.0/0 or ::/0
	Gateway  netip.Addr   // invalid: none; since Linux 5.2 an IPv4 route may have an IPv6 gateway
	Scope    Scope        // 0 for IPv6
	Metric   uint32       // the kernel reads 0 as 1024 for IPv6
	Protocol Protocol
	Source   netip.Addr // of packets that this host sends along the route; invalid: the kernel chooses
	OnLink   bool       // the gateway is on the link, whatever the addresses of that are
	Weight   uint32     // 1 to 256; 0 with the only next hop
	More     []NextHop  // further next hops; IPv6 ones have gateways
	MTU      uint32     // of packets along the route, in bytes; 0: the link's MTU
	AdvMSS   uint32     // largest TCP segment to ask the other side for, in bytes; 0: as the MTU allows
	Labels   Labels     // that packets to the first next hop get
	Nexthop  uint32     // id of the nexthop object that packets take instead of next hops; 0: none
}

// Labels are MPLS labels, the outermost first, as ip-route(8) writes them: "100/200"; empty: none.
type Labels string

// LabelsOf makes labels of numbers.
func LabelsOf(numbers []uint32) Labels {
	var b []byte
	for i, n := range numbers {
		if i > 0 {
			b = append(b, '/')
		}
		b = strconv.AppendUint(b, uint64(n), 10)
	}
	return Labels(b)
}

// Numbers is the inverse of LabelsOf.
func (l Labels) Numbers() (numbers []uint32) {
	if l == "" {
		return nil
	}
	for text := range strings.SplitSeq(string(l), "/") {
		n, _ := strconv.ParseUint(text, 10, 32) // from LabelsOf
		numbers = append(numbers, uint32(n))
	}
	return numbers
}

// NextHop is one of several ways that packets along a route take in turns.
type NextHop struct {
	Link    int
	Gateway netip.Addr // invalid: none
	OnLink  bool       // see Route.OnLink
	Weight  uint32     // share of the packets, 1 to 256
	Labels  Labels     // that packets get
}

// Labelled reports whether packets get MPLS labels.
func (h NextHop) Labelled() bool { return h.Labels != "" }

// Hops returns all next hops of the route itself; none if packets stay here, or take a nexthop
// object.
func (r Route) Hops() []NextHop {
	if r.Type != RouteUnicast || r.Nexthop != 0 {
		return nil
	}
	return append([]NextHop{{r.Link, r.Gateway, r.OnLink, r.Weight, r.Labels}}, r.More...)
}

// SetHops is the inverse of Hops.
func (r *Route) SetHops(hops []NextHop) {
	r.Link, r.Gateway, r.OnLink, r.Weight, r.Labels, r.More = 0, netip.Addr{}, false, 0, "", nil
	if len(hops) == 0 {
		return
	}
	r.Link, r.Gateway, r.OnLink, r.Labels = hops[0].Link, hops[0].Gateway, hops[0].OnLink, hops[0].Labels
	if len(hops) > 1 {
		r.Weight, r.More = hops[0].Weight, hops[1:]
	}
}

// Uses reports whether packets along the route leave through the link.
func (r Route) Uses(link int) bool {
	return r.Link == link || slices.ContainsFunc(r.More, func(h NextHop) bool { return h.Link == link })
}

// Equal reports whether two routes are the same in all.
func (r Route) Equal(other Route) bool {
	more := slices.Equal(r.More, other.More)
	r.More, other.More = nil, nil
	return more && reflect.DeepEqual(r, other)
}

// Is reports whether two routes have the same first link, table, destination, metric and
// protocol.
func (r Route) Is(other Route) bool {
	return r.Link == other.Link && r.Table == other.Table && r.Dst == other.Dst &&
		r.Metric == other.Metric && r.Protocol == other.Protocol
}

// Replaces reports whether the kernel has one of two routes alone, because they differ by nothing
// that it distinguishes routes by. IPv6 distinguishes more of them.
func (r Route) Replaces(other Route) bool {
	return r.Dst.Addr().Is4() && r.Table == other.Table && r.Dst == other.Dst && r.Metric == other.Metric
}

// ChooseRoute returns what Routes.FindRoute returns, out of all routes.
func ChooseRoute(all []Route, want Route) (Route, error) {
	other := -1
	for i, r := range all {
		if r.Is(want) {
			return r, nil
		}
		if other < 0 && r.Uses(want.Link) && r.Table == want.Table && r.Dst == want.Dst && r.Protocol.Static() {
			other = i
		}
	}
	if other < 0 {
		return Route{}, ErrNotFound
	}
	return all[other], nil
}

// RouteOp is a change of a route.
type RouteOp uint8

// The changes.
const (
	OpAdd     RouteOp = iota // see Routes.AddRoute
	OpReplace                // see Routes.ReplaceRoute
	OpDelete                 // see Routes.DeleteRoute
)

// String returns the change as a verb.
func (op RouteOp) String() string { return [...]string{"add", "replace", "delete"}[op] }

// Routes reads and changes routes.
type Routes interface {
	// Routes returns the routes of the types above, of all tables.
	// Equivalent to: `ip route show table all` and `ip -6 route show table all`
	Routes(ctx context.Context) ([]Route, error)
	// StaticRoutes returns the routes of Routes that are Protocol.Static. The number of other
	// routes hardly affects its cost.
	// Equivalent to: `ip route show table all proto static`, and so on
	StaticRoutes(ctx context.Context) ([]Route, error)
	// FindRoute returns the route with the first link, table, destination, metric and
	// protocol of r, else another static one with one of the links, the table and the
	// destination; ErrNotFound if there is none. Usually it costs one lookup, however many
	// routes there are.
	// Equivalent to: `ip route get fibmatch IP`
	FindRoute(ctx context.Context, r Route) (Route, error)
	// AddRoute returns ErrExists if there is a route to the destination in the
	// table with the same metric (IPv6: and the same next hop).
	// Equivalent to: `ip route add PREFIX via GATEWAY dev LINK ...`
	AddRoute(ctx context.Context, r Route) error
	// ReplaceRoute adds the route, in place of one to the same destination in
	// the same table with the same metric.
	// Equivalent to: `ip route replace PREFIX via GATEWAY dev LINK ...`
	ReplaceRoute(ctx context.Context, r Route) error
	// DeleteRoute returns ErrNotFound if there is no such route. Without a link it
	// deletes a route whatever its next hops are.
	// Equivalent to: `ip route delete PREFIX via GATEWAY dev LINK ...`
	DeleteRoute(ctx context.Context, r Route) error
	// ChangeRoutes makes the same change of several routes, in their order, and returns an
	// error for each. It takes much less time than as many calls.
	// Equivalent to: `ip -force -batch FILE`
	ChangeRoutes(ctx context.Context, op RouteOp, all []Route) []error
}
