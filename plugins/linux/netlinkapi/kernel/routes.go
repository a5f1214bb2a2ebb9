package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
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

func (h *handle) Routes() ([]netlinkapi.Route, error) {
	all := &netlink.Route{Table: unix.RT_TABLE_UNSPEC}
	var routes []netlinkapi.Route
	for _, fam := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		found, err := dump("list routes", func() ([]netlink.Route, error) {
			return h.ns.route.RouteListFiltered(fam, all, netlink.RT_FILTER_TABLE)
		})
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			if _, known := routeTypes[r.Type]; known {
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
	source, _ := netip.AddrFromSlice(r.Src)
	converted := netlinkapi.Route{
		Type:     routeTypes[r.Type],
		Table:    uint32(r.Table),
		Dst:      dst,
		Scope:    netlinkapi.Scope(r.Scope),
		Metric:   uint32(r.Priority),
		Protocol: netlinkapi.Protocol(r.Protocol),
		Source:   source.Unmap(),
		MTU:      uint32(r.MTU),
		AdvMSS:   uint32(r.AdvMSS),
	}
	if converted.Type == netlinkapi.RouteUnicast { // else IPv6 names the loopback
		converted.SetHops(hops(r))
	}
	return converted
}

// hops returns the next hops of a route.
func hops(r netlink.Route) []netlinkapi.NextHop {
	if len(r.MultiPath) == 0 {
		return []netlinkapi.NextHop{nextHop(r.LinkIndex, r.Gw, r.Flags, 0)}
	}
	all := make([]netlinkapi.NextHop, len(r.MultiPath))
	for i, nh := range r.MultiPath {
		all[i] = nextHop(nh.LinkIndex, nh.Gw, nh.Flags, uint32(nh.Hops)+1)
	}
	return all
}

func nextHop(link int, gateway net.IP, flags int, weight uint32) netlinkapi.NextHop {
	gw, _ := netip.AddrFromSlice(gateway)
	return netlinkapi.NextHop{Link: link, Gateway: gw.Unmap(), OnLink: flags&unix.RTNH_F_ONLINK != 0, Weight: weight}
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
	case err != nil || len(routes) != 1:
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
		Table:    int(r.Table),
		Dst:      ipNet(r.Dst),
		Scope:    netlink.Scope(r.Scope),
		Priority: int(r.Metric),
		Protocol: netlink.RouteProtocol(r.Protocol),
		Type:     unix.RTN_UNICAST,
		MTU:      int(r.MTU),
		AdvMSS:   int(r.AdvMSS),
	}
	if r.Type != netlinkapi.RouteUnicast {
		kr.Type = int(r.Type)
	}
	if r.Source.IsValid() {
		kr.Src = r.Source.AsSlice()
	}
	switch all := r.Hops(); len(all) {
	case 0:
	case 1:
		kr.LinkIndex, kr.Gw, kr.Flags = r.Link, gateway(all[0]), onLink(all[0])
	default:
		for _, h := range all {
			kr.MultiPath = append(kr.MultiPath, &netlink.NexthopInfo{
				LinkIndex: h.Link, Hops: int(max(h.Weight, 1)) - 1, Gw: gateway(h), Flags: onLink(h),
			})
		}
	}
	return kr
}

// gateway returns nil if there is none.
func gateway(h netlinkapi.NextHop) net.IP {
	if !h.Gateway.IsValid() {
		return nil
	}
	return h.Gateway.AsSlice()
}

func onLink(h netlinkapi.NextHop) int {
	if h.OnLink {
		return unix.RTNH_F_ONLINK
	}
	return 0
}
