package kernel

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

func (h *handle) Routes() ([]netlinkapi.Route, error) {
	all := &netlink.Route{Table: unix.RT_TABLE_UNSPEC, Type: unix.RTN_UNICAST}
	var routes []netlinkapi.Route
	for _, fam := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		found, err := dump("list routes", func() ([]netlink.Route, error) {
			return h.ns.route.RouteListFiltered(fam, all, netlink.RT_FILTER_TABLE|netlink.RT_FILTER_TYPE)
		})
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			if len(r.MultiPath) == 0 {
				routes = append(routes, convertRoute(r, fam))
			}
		}
	}
	return routes, nil
}

func convertRoute(r netlink.Route, fam int) netlinkapi.Route {
	dst, ok := prefix(r.Dst)
	if !ok {
		dst = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if fam == netlink.FAMILY_V6 {
			dst = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
	}
	gw, _ := netip.AddrFromSlice(r.Gw)
	source, _ := netip.AddrFromSlice(r.Src)
	return netlinkapi.Route{
		Link:     r.LinkIndex,
		Table:    uint32(r.Table),
		Dst:      dst,
		Gateway:  gw.Unmap(),
		Scope:    netlinkapi.Scope(r.Scope),
		Metric:   uint32(r.Priority),
		Protocol: netlinkapi.Protocol(r.Protocol),
		Source:   source.Unmap(),
		OnLink:   r.Flags&unix.RTNH_F_ONLINK != 0,
	}
}

// errUndecided is the error of a lookup that leaves open whether a route exists.
var errUndecided = errors.New("the lookup does not decide it")

// FindRoute asks for the route of a packet to the destination, which is the one with the
// longest prefix. It reads all routes where that does not decide it; see netlinkapi.Routes.
func (h *handle) FindRoute(want netlinkapi.Route) (netlinkapi.Route, error) {
	found, err := h.lookUp(want)
	if !errors.Is(err, errUndecided) {
		return found, err
	}
	all, err := h.Routes()
	if err != nil {
		return found, err
	}
	return netlinkapi.ChooseRoute(all, want)
}

func (h *handle) lookUp(want netlinkapi.Route) (found netlinkapi.Route, err error) {
	opts := netlink.RouteGetOptions{FIBMatch: true}
	if want.Table != netlinkapi.MainTable { // of the VRF of the link
		opts.OifIndex = want.Link
	}
	if want.Dst.Bits() == 0 { // the kernel takes the unspecified address for something else
		return found, errUndecided
	}
	routes, err := h.ns.route.RouteGetWithOptions(want.Dst.Addr().AsSlice(), &opts)
	switch {
	case errors.Is(err, unix.ENETUNREACH) && want.Table == netlinkapi.MainTable:
		return found, netlinkapi.ErrNotFound
	case err != nil || len(routes) != 1 || len(routes[0].MultiPath) > 0:
		return found, errUndecided
	}
	found = convertRoute(routes[0], family(want.Dst.Addr()))
	switch {
	case found.Is(want):
		return found, nil
	case found.Table == want.Table && found.Dst.Bits() < want.Dst.Bits():
		return found, netlinkapi.ErrNotFound
	}
	return found, errUndecided
}

func (h *handle) AddRoute(r netlinkapi.Route) error {
	return h.routeError("add", r, h.ns.route.RouteAdd(route(r)))
}

func (h *handle) ReplaceRoute(r netlinkapi.Route) error {
	return h.routeError("replace", r, h.ns.route.RouteReplace(route(r)))
}

func (h *handle) DeleteRoute(r netlinkapi.Route) error {
	return h.routeError("delete", r, h.ns.route.RouteDel(route(r)))
}

func (h *handle) routeError(op string, r netlinkapi.Route, err error) error {
	op = fmt.Sprintf("%s route to %s", op, r.Dst)
	if is(err, unix.EINVAL) && r.Source.IsValid() {
		return fmt.Errorf("%s: %w (is the source %s an address of this host, and usable yet?)", op, err, r.Source)
	}
	return classify(op, err)
}

func route(r netlinkapi.Route) *netlink.Route {
	kr := &netlink.Route{
		LinkIndex: r.Link,
		Table:     int(r.Table),
		Dst:       ipNet(r.Dst),
		Scope:     netlink.Scope(r.Scope),
		Priority:  int(r.Metric),
		Protocol:  netlink.RouteProtocol(r.Protocol),
		Type:      unix.RTN_UNICAST,
	}
	if r.Gateway.IsValid() {
		kr.Gw = r.Gateway.AsSlice()
	}
	if r.Source.IsValid() {
		kr.Src = r.Source.AsSlice()
	}
	if r.OnLink {
		kr.Flags = unix.RTNH_F_ONLINK
	}
	return kr
}
