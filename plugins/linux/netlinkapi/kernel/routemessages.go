package kernel

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// The library does not read the nexthop object of a route, so routes are read here.

const (
	// rtaNexthop is RTA_NH_ID of linux/rtnetlink.h.
	rtaNexthop = 30
	// anyProtocol selects the routes of all protocols.
	anyProtocol netlinkapi.Protocol = unix.RTPROT_UNSPEC
)

// errNoMPLS: the kernel cannot add MPLS labels to packets.
var errNoMPLS = fmt.Errorf("%w: MPLS labels need the module mpls_iptunnel", netlinkapi.ErrUnsupported)

// dumpRoutes reads the routes of an IP version, for one protocol or all. The kernel leaves the
// others out, where it can.
func (ns *namespace) dumpRoutes(family uint8, protocol netlinkapi.Protocol) ([]netlinkapi.Route, error) {
	r := nl.NewNetlinkRequest(unix.RTM_GETROUTE, unix.NLM_F_DUMP)
	r.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: ns.dumps}
	r.AddData(&nl.RtMsg{RtMsg: unix.RtMsg{Family: family, Protocol: uint8(protocol)}})
	var routes []netlinkapi.Route
	err := r.ExecuteIter(unix.NETLINK_ROUTE, unix.RTM_NEWROUTE, func(m []byte) bool {
		if route, ok := parseRoute(m); ok && (protocol == anyProtocol || route.Protocol == protocol) {
			routes = append(routes, route)
		}
		return true
	})
	return routes, err
}

// matchingRoute asks for the route of packets to an address, which leave through a link; 0: any.
func (ns *namespace) matchingRoute(to netip.Addr, link int) (routes []netlinkapi.Route, err error) {
	r := nl.NewNetlinkRequest(unix.RTM_GETROUTE, 0)
	r.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: ns.links}
	r.AddData(&nl.RtMsg{RtMsg: unix.RtMsg{
		Family: uint8(family(to)), Dst_len: uint8(to.BitLen()), Flags: unix.RTM_F_LOOKUP_TABLE | unix.RTM_F_FIB_MATCH,
	}})
	r.AddData(nl.NewRtAttr(unix.RTA_DST, to.AsSlice()))
	if link != 0 {
		r.AddData(nl.NewRtAttr(unix.RTA_OIF, u32(uint32(link))))
	}
	messages, err := r.Execute(unix.NETLINK_ROUTE, 0)
	for _, m := range messages {
		if route, ok := parseRoute(m); ok {
			routes = append(routes, route)
		}
	}
	return routes, err
}

// parseRoute reads a message about a route; false if its type is not one of those that are read,
// or if it is no route of a table.
func parseRoute(data []byte) (r netlinkapi.Route, ok bool) {
	if len(data) < unix.SizeofRtMsg {
		return r, false
	}
	m := nl.DeserializeRtMsg(data)
	typ, known := routeTypes[int(m.Type)]
	if !known || m.Flags&unix.RTM_F_CLONED != 0 || m.Family != unix.AF_INET && m.Family != unix.AF_INET6 {
		return r, false
	}
	r = netlinkapi.Route{
		Type: typ, Table: uint32(m.Table), Scope: netlinkapi.Scope(m.Scope), Protocol: netlinkapi.Protocol(m.Protocol),
	}
	dst := netip.IPv4Unspecified()
	if m.Family == unix.AF_INET6 {
		dst = netip.IPv6Unspecified()
	}
	hop := hopMessage{NextHop: netlinkapi.NextHop{OnLink: m.Flags&unix.RTNH_F_ONLINK != 0}}
	all := []netlinkapi.NextHop(nil)
	for kind, value := range attributes(data[unix.SizeofRtMsg:]) {
		switch kind {
		case unix.RTA_DST:
			dst, _ = netip.AddrFromSlice(value)
		case unix.RTA_OIF:
			hop.Link = int32At(value)
		case unix.RTA_MULTIPATH:
			all = parseHops(value)
		default:
			hop.attribute(kind, value)
			routeAttribute(&r, kind, value)
		}
	}
	r.Dst = netip.PrefixFrom(dst, int(m.Dst_len))
	switch {
	case r.Nexthop != 0: // the kernel describes the object as well
		r.Type = netlinkapi.RouteUnicast
	case r.Type != netlinkapi.RouteUnicast: // IPv6 names the loopback
	case len(all) > 0:
		r.SetHops(all)
	default:
		r.SetHops([]netlinkapi.NextHop{hop.NextHop})
	}
	return r, r.Dst.IsValid()
}

// routeAttribute reads an attribute of a route that is not about its next hop.
func routeAttribute(r *netlinkapi.Route, kind uint16, value []byte) {
	switch kind {
	case unix.RTA_TABLE:
		r.Table = uint32(int32At(value))
	case unix.RTA_PRIORITY:
		r.Metric = uint32(int32At(value))
	case unix.RTA_PREFSRC:
		source, _ := netip.AddrFromSlice(value)
		r.Source = source.Unmap()
	case rtaNexthop:
		r.Nexthop = uint32(int32At(value))
	case unix.RTA_METRICS:
		for kind, value := range attributes(value) {
			switch kind {
			case unix.RTAX_MTU:
				r.MTU = uint32(int32At(value))
			case unix.RTAX_ADVMSS:
				r.AdvMSS = uint32(int32At(value))
			}
		}
	}
}

// hopMessage is a next hop as far as it was read.
type hopMessage struct {
	netlinkapi.NextHop
	encap uint16
}

// attribute reads an attribute of a next hop other than its link.
func (h *hopMessage) attribute(kind uint16, value []byte) {
	switch kind & nl.NLA_TYPE_MASK {
	case unix.RTA_GATEWAY:
		gateway, _ := netip.AddrFromSlice(value)
		h.Gateway = gateway.Unmap()
	case unix.RTA_VIA: // a gateway of another IP version than the route; its family is first
		if len(value) > 2 {
			h.Gateway, _ = netip.AddrFromSlice(value[2:])
		}
	case unix.RTA_ENCAP_TYPE:
		if len(value) >= 2 {
			h.encap = binary.NativeEndian.Uint16(value)
		}
	case unix.RTA_ENCAP:
		h.Labels = parseLabels(value)
	}
	if h.encap != 0 && h.encap != unix.LWTUNNEL_ENCAP_MPLS { // its data have other attributes
		h.Labels = ""
	}
}

// parseHops reads several next hops.
func parseHops(data []byte) (all []netlinkapi.NextHop) {
	for len(data) >= unix.SizeofRtNexthop {
		length := int(binary.NativeEndian.Uint16(data))
		if length < unix.SizeofRtNexthop || length > len(data) {
			return all
		}
		h := hopMessage{NextHop: netlinkapi.NextHop{
			Link: int32At(data[4:]), OnLink: data[2]&unix.RTNH_F_ONLINK != 0, Weight: uint32(data[3]) + 1,
		}}
		for kind, value := range attributes(data[unix.SizeofRtNexthop:length]) {
			h.attribute(kind, value)
		}
		all = append(all, h.NextHop)
		data = data[min((length+3)&^3, len(data)):]
	}
	return all
}

// addLabels adds MPLS labels, under the numbers that the message has for them.
func (r *request) addLabels(encapType, encap uint16, labels netlinkapi.Labels) {
	var numbers []int
	for _, n := range labels.Numbers() {
		numbers = append(numbers, int(n))
	}
	r.add(encapType, u16(unix.LWTUNNEL_ENCAP_MPLS))
	r.add(encap|unix.NLA_F_NESTED, appendAttribute(nil, unix.MPLS_IPTUNNEL_DST, nl.EncodeMPLSStack(numbers...)))
}

func parseLabels(encap []byte) netlinkapi.Labels {
	var numbers []uint32
	for kind, value := range attributes(encap) {
		if kind == unix.MPLS_IPTUNNEL_DST {
			for _, n := range nl.DecodeMPLSStack(value) {
				numbers = append(numbers, uint32(n))
			}
		}
	}
	return netlinkapi.LabelsOf(numbers)
}
