package kernel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// routeTypes are the types that are read.
var routeTypes = map[int]netlinkapi.RouteType{
	unix.RTN_UNICAST:     netlinkapi.RouteUnicast,
	unix.RTN_BLACKHOLE:   netlinkapi.RouteBlackhole,
	unix.RTN_UNREACHABLE: netlinkapi.RouteUnreachable,
	unix.RTN_PROHIBIT:    netlinkapi.RouteProhibit,
}

func (h *handle) Routes(ctx context.Context) ([]netlinkapi.Route, error) {
	return ask(ctx, h.lease, func() ([]netlinkapi.Route, error) { return h.ns.routesOf(anyProtocol) })
}

// StaticRoutes has the kernel leave out the routes of routing protocols, which may be very many.
func (h *handle) StaticRoutes(ctx context.Context) ([]netlinkapi.Route, error) {
	return ask(ctx, h.lease, func() ([]netlinkapi.Route, error) { return h.ns.routesOf(netlinkapi.StaticProtocols()...) })
}

// routesOf lists the routes of some protocols, or of all.
func (ns *namespace) routesOf(protocols ...netlinkapi.Protocol) (routes []netlinkapi.Route, err error) {
	for _, protocol := range protocols {
		for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
			some, err := readAll("list routes", func() ([]netlinkapi.Route, error) { return ns.dumpRoutes(family, protocol) })
			if err != nil {
				return nil, err
			}
			routes = append(routes, some...)
		}
	}
	return routes, nil
}

// errUndecided is the error of a lookup that leaves open whether a route exists.
var errUndecided = errors.New("the lookup does not decide it")

// FindRoute asks for the route of a packet to the destination, which is the one with the
// longest prefix. It reads all routes where that does not decide it; see netlinkapi.Routes.
func (h *handle) FindRoute(ctx context.Context, want netlinkapi.Route) (netlinkapi.Route, error) {
	return ask(ctx, h.lease, func() (netlinkapi.Route, error) {
		found, err := h.ns.lookUp(want)
		if !errors.Is(err, errUndecided) {
			return found, err
		}
		all, err := h.ns.routesOf(anyProtocol)
		if err != nil {
			return found, err
		}
		return netlinkapi.ChooseRoute(all, want)
	})
}

func (ns *namespace) lookUp(want netlinkapi.Route) (found netlinkapi.Route, err error) {
	link := 0
	if want.Table != netlinkapi.MainTable { // of the VRF of the link
		link = want.Link
	}
	if want.Dst.Bits() == 0 { // the kernel takes the unspecified address for something else
		return found, errUndecided
	}
	routes, err := ns.matchingRoute(want.Dst.Addr(), link)
	switch {
	case errors.Is(err, unix.ENETUNREACH) && want.Table == netlinkapi.MainTable:
		return found, netlinkapi.ErrNotFound
	case err != nil || len(routes) != 1:
		return found, errUndecided
	}
	found = routes[0]
	switch {
	case found.Is(want):
		return found, nil
	case found.Replaces(want) && found.Uses(want.Link) && found.Protocol.Static():
		return found, nil // there can be no other
	case found.Table == want.Table && found.Dst.Bits() < want.Dst.Bits():
		return found, netlinkapi.ErrNotFound
	}
	return found, errUndecided
}

// ChangeRoutes changes several routes; see netlinkapi.Routes.
func (h *handle) ChangeRoutes(ctx context.Context, op netlinkapi.RouteOp, all []netlinkapi.Route) []error {
	return h.gate.PassAll(ctx, len(all), func() []error {
		requests := make([]request, len(all))
		for i, r := range all {
			requests[i] = routeRequest(op, r)
		}
		errs := h.ns.exchange(requests)
		for i, err := range errs {
			if err != nil {
				errs[i] = routeError(op, all[i], err)
			}
		}
		return errs
	})
}

func (h *handle) AddRoute(ctx context.Context, r netlinkapi.Route) error {
	return h.ChangeRoutes(ctx, netlinkapi.OpAdd, []netlinkapi.Route{r})[0]
}

func (h *handle) ReplaceRoute(ctx context.Context, r netlinkapi.Route) error {
	return h.ChangeRoutes(ctx, netlinkapi.OpReplace, []netlinkapi.Route{r})[0]
}

func (h *handle) DeleteRoute(ctx context.Context, r netlinkapi.Route) error {
	return h.ChangeRoutes(ctx, netlinkapi.OpDelete, []netlinkapi.Route{r})[0]
}

func routeError(op netlinkapi.RouteOp, r netlinkapi.Route, err error) error {
	what := fmt.Sprintf("%s route to %s", op, r.Dst)
	switch {
	case is(err, unix.EINVAL) && r.Nexthop != 0:
		return fmt.Errorf("%s: %w (is there a nexthop object %d, and is it of the IP version of the route?)", what, err, r.Nexthop)
	case is(err, unix.EINVAL) && r.Source.IsValid():
		return fmt.Errorf("%s: %w (is the source %s an address of this host, and usable yet?)", what, err, r.Source)
	case is(err, unix.EOPNOTSUPP) && slices.ContainsFunc(r.Hops(), netlinkapi.NextHop.Labelled):
		return fmt.Errorf("%s: %w", what, errNoMPLS)
	}
	return classify(what, err)
}

// routeRequest encodes a change of a route.
func routeRequest(op netlinkapi.RouteOp, r netlinkapi.Route) request {
	header := []byte{
		0: uint8(family(r.Dst.Addr())), 1: uint8(r.Dst.Bits()), 4: uint8(r.Table), 5: uint8(r.Protocol), 6: uint8(r.Scope),
		7: unix.RTN_UNICAST, 11: 0,
	}
	if r.Type != netlinkapi.RouteUnicast {
		header[7] = uint8(r.Type)
	}
	if r.Table > 255 {
		header[4] = unix.RT_TABLE_UNSPEC
	}
	all := r.Hops()
	if len(all) == 1 && all[0].OnLink {
		binary.NativeEndian.PutUint32(header[8:], unix.RTNH_F_ONLINK)
	}
	kind, flags := unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL
	switch op {
	case netlinkapi.OpReplace:
		flags = unix.NLM_F_CREATE | unix.NLM_F_REPLACE
	case netlinkapi.OpDelete:
		kind, flags = unix.RTM_DELROUTE, 0
	}
	m := newRequest(kind, flags, header)
	m.add(unix.RTA_DST, r.Dst.Addr().AsSlice())
	if r.Source.IsValid() {
		m.add(unix.RTA_PREFSRC, r.Source.AsSlice())
	}
	switch {
	case r.Nexthop != 0:
		m.add(rtaNexthop, u32(r.Nexthop))
	case len(all) == 1:
		m.addHop(all[0], r.Dst.Addr())
		m.add(unix.RTA_OIF, u32(uint32(all[0].Link)))
	case len(all) > 1:
		m.add(unix.RTA_MULTIPATH, multipath(all, r.Dst.Addr()))
	}
	if r.Table > 255 {
		m.add(unix.RTA_TABLE, u32(r.Table))
	}
	if r.Metric != 0 {
		m.add(unix.RTA_PRIORITY, u32(r.Metric))
	}
	if metrics := routeMetrics(r); len(metrics) > 0 {
		m.add(unix.RTA_METRICS, metrics)
	}
	return m
}

// addHop adds what a next hop of a route to a destination has beside its link.
func (r *request) addHop(h netlinkapi.NextHop, dst netip.Addr) {
	switch {
	case !h.Gateway.IsValid():
	case h.Gateway.Is4() == dst.Is4():
		r.add(unix.RTA_GATEWAY, h.Gateway.AsSlice())
	default:
		r.add(unix.RTA_VIA, append(u16(uint16(family(h.Gateway))), h.Gateway.AsSlice()...))
	}
	if h.Labelled() {
		r.addLabels(unix.RTA_ENCAP_TYPE, unix.RTA_ENCAP, h.Labels)
	}
}

// multipath encodes several next hops of a route to a destination.
func multipath(all []netlinkapi.NextHop, dst netip.Addr) []byte {
	var data []byte
	for _, h := range all {
		var attributes request
		attributes.addHop(h, dst)
		data = binary.NativeEndian.AppendUint16(data, uint16(unix.SizeofRtNexthop+len(attributes)))
		data = append(data, uint8(onLink(h)), uint8(max(h.Weight, 1)-1))
		data = binary.NativeEndian.AppendUint32(data, uint32(h.Link))
		data = append(data, attributes...)
	}
	return data
}

func routeMetrics(r netlinkapi.Route) (metrics []byte) {
	if r.MTU != 0 {
		metrics = appendAttribute(metrics, unix.RTAX_MTU, u32(r.MTU))
	}
	if r.AdvMSS != 0 {
		metrics = appendAttribute(metrics, unix.RTAX_ADVMSS, u32(r.AdvMSS))
	}
	return metrics
}

func onLink(h netlinkapi.NextHop) int {
	if h.OnLink {
		return unix.RTNH_F_ONLINK
	}
	return 0
}
