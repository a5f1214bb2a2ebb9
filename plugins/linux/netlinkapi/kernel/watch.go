package kernel

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"net/netip"
	"slices"
	"sync"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// watchBuffer is how many bytes of notifications the kernel keeps for a slow
// reader.
const watchBuffer = 8 << 20

// watchGroups are the multicast groups that are watched in any namespace.
var watchGroups = [...]uint{
	unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR,
	unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV6_ROUTE, unix.RTNLGRP_NEIGH,
	unix.RTNLGRP_IPV4_RULE, unix.RTNLGRP_IPV6_RULE, unix.RTNLGRP_IPV4_NETCONF, unix.RTNLGRP_IPV6_NETCONF,
	unix.RTNLGRP_NEXTHOP,
}

// Watch reports changes; see netlinkapi.Watcher.
func (h *handle) Watch(ctx context.Context, ready func(), event func(netlinkapi.Event)) error {
	return h.call(ctx, func() error { return h.watch(ctx, ready, event) })
}

func (h *handle) watch(ctx context.Context, ready func(), event func(netlinkapi.Event)) error {
	socket, err := h.subscribe()
	if err != nil {
		return err
	}
	tables, err := h.listenToTables(false)
	if err != nil {
		socket.Close()
		return err
	}
	ready()
	var mu sync.Mutex // held during event
	one := func(e netlinkapi.Event) {
		mu.Lock()
		defer mu.Unlock()
		event(e)
	}
	return together(ctx, func(ctx context.Context) error { return followSocket(ctx, socket, one) },
		func(ctx context.Context) error {
			return tables.follow(ctx, func(_ int, e netlinkapi.Event) { one(e) })
		})
}

// followSocket reads notifications until the context ends (nil) or some were lost.
func followSocket(ctx context.Context, socket *nl.NetlinkSocket, event func(netlinkapi.Event)) error {
	stop := context.AfterFunc(ctx, socket.Close)
	defer func() {
		if stop() {
			socket.Close()
		}
	}()
	for {
		messages, from, err := socket.Receive()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("watch the network namespace: %w", err)
		case from.Pid != nl.PidKernel:
			continue
		}
		for _, m := range messages {
			for _, e := range parseEvents(m) {
				event(e)
			}
		}
	}
}

func (h *handle) subscribe() (socket *nl.NetlinkSocket, err error) {
	open := func() (err error) {
		socket, err = nl.Subscribe(unix.NETLINK_ROUTE, watchGroups[:]...)
		return classify("subscribe to changes", err)
	}
	if current(h.ns.id) {
		err = OnOwnThread(open)
	} else {
		err = inNamespace(h.ns.file, open)
	}
	if err != nil {
		return nil, err
	}
	if err := prepareSocket(socket.GetFd()); err != nil {
		socket.Close()
		return nil, err
	}
	return socket, nil
}

// prepareSocket filters what the socket receives, and gives it a large buffer. A
// process without privileges gets the largest that the system allows.
func prepareSocket(fd int) error {
	filter := removalFilter()
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program); err != nil {
		return fmt.Errorf("filter changes: %w", err)
	}
	return setBuffer(fd)
}

func setBuffer(fd int) error {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, watchBuffer) == nil {
		return nil
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, watchBuffer); err != nil {
		return fmt.Errorf("set size of receive buffer: %w", err)
	}
	return nil
}

// Offsets in a message about a route: the header, then the route.
const (
	typeOffset     = 4
	flagsOffset    = 6
	protocolOffset = unix.SizeofNlMsghdr + 5
	// routeTypeOffset is that in the route alone.
	routeTypeOffset = 7
)

// removalFilter is a program for the kernel. Messages about routes pass only if a
// static route was deleted, or another process replaced a route; messages about
// neighbours pass only if one was deleted. Whatever the agent adds costs it no event.
func removalFilter() []unix.SockFilter {
	const (
		half, octet = unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, unix.BPF_LD | unix.BPF_B | unix.BPF_ABS
		equal, any  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		end         = unix.BPF_RET | unix.BPF_K
	)
	return []unix.SockFilter{
		0:  {Code: half, K: typeOffset},
		1:  {Code: equal, K: loaded(unix.RTM_NEWNEIGH), Jt: 10},
		2:  {Code: equal, K: loaded(unix.RTM_DELROUTE), Jt: 5},
		3:  {Code: equal, K: loaded(unix.RTM_NEWROUTE), Jf: 9},
		4:  {Code: half, K: flagsOffset},
		5:  {Code: any, K: loaded(unix.NLM_F_REPLACE), Jf: 6},
		6:  {Code: octet, K: protocolOffset},
		7:  {Code: equal, K: uint32(netlinkapi.ProtocolAgent), Jt: 4, Jf: 5},
		8:  {Code: octet, K: protocolOffset},
		9:  {Code: equal, K: uint32(netlinkapi.ProtocolAgent), Jt: 3},
		10: {Code: equal, K: uint32(netlinkapi.ProtocolStatic), Jt: 2},
		11: {Code: equal, K: uint32(netlinkapi.ProtocolBoot), Jt: 1},
		12: {Code: end, K: 0},
		13: {Code: end, K: math.MaxUint32},
	}
}

// loaded is how the filter sees a number of 16 bits: it loads them in network order.
func loaded(n uint16) uint32 {
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], n)
	return uint32(binary.BigEndian.Uint16(b[:]))
}

// parseEvents returns what a message is about.
func parseEvents(m syscall.NetlinkMessage) []netlinkapi.Event {
	switch m.Header.Type {
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		return linkEvents(m)
	case unix.RTM_NEWADDR, unix.RTM_DELADDR:
		return addressEvents(m)
	case unix.RTM_NEWROUTE, unix.RTM_DELROUTE:
		return routeEvents(m.Data)
	case unix.RTM_DELNEIGH:
		if ip, link, ok := parseNeighbour(m.Data); ok {
			return []netlinkapi.Event{{Kind: netlinkapi.NeighbourRemoved, Link: link, IP: ip}}
		}
	case unix.RTM_DELRULE:
		return ruleEvents(m.Data)
	case unix.RTM_NEWNEXTHOP, unix.RTM_DELNEXTHOP:
		return nexthopEvents(m.Header.Type, m.Data)
	case unix.RTM_NEWNETCONF:
		return sysctlEvents(m.Data)
	}
	return nil
}

func changed(link int, flushed bool) []netlinkapi.Event {
	events := []netlinkapi.Event{{Link: link}}
	if flushed {
		events = append(events, netlinkapi.Event{Kind: netlinkapi.RoutesFlushed, Link: link})
	}
	return events
}

func addressEvents(m syscall.NetlinkMessage) []netlinkapi.Event {
	if len(m.Data) < unix.SizeofIfAddrmsg {
		return nil
	}
	info := nl.DeserializeIfAddrmsg(m.Data)
	if m.Header.Type == unix.RTM_NEWADDR {
		return changed(int(info.Index), false)
	}
	events := changed(int(info.Index), info.Family == unix.AF_INET)
	if a, ok := parseAddress(m.Data); ok {
		events = append(events, netlinkapi.Event{Kind: netlinkapi.AddressRemoved, Link: a.Link, Prefix: a.Prefix})
	}
	return events
}

func linkEvents(m syscall.NetlinkMessage) []netlinkapi.Event {
	if len(m.Data) < unix.SizeofIfInfomsg {
		return nil
	}
	info := nl.DeserializeIfInfomsg(m.Data)
	switch {
	case info.Family != unix.AF_UNSPEC: // about a port of a bridge
		return nil
	case m.Header.Type == unix.RTM_DELLINK:
		return []netlinkapi.Event{{Kind: netlinkapi.LinkGone, Link: int(info.Index)}}
	}
	down := info.Change != math.MaxUint32 && info.Change&unix.IFF_UP != 0 && info.Flags&unix.IFF_UP == 0 // else it is new
	events := changed(int(info.Index), down)
	if info.Flags&(unix.IFF_RUNNING|unix.IFF_LOWER_UP) == 0 {
		events = append(events, netlinkapi.Event{Kind: netlinkapi.CarrierLost, Link: int(info.Index)})
	}
	return events
}

// routeEvents returns the events of a removed route.
func routeEvents(data []byte) []netlinkapi.Event {
	if len(data) < unix.SizeofRtMsg {
		return nil
	}
	e := netlinkapi.Event{Kind: netlinkapi.RouteRemoved, Table: uint32(data[4])}
	addr := netip.IPv4Unspecified()
	if data[0] == unix.AF_INET6 {
		addr = netip.IPv6Unspecified()
	}
	var links []int
	nexthop := false
	for kind, value := range attributes(data[unix.SizeofRtMsg:]) {
		switch kind {
		case unix.RTA_DST:
			addr, _ = netip.AddrFromSlice(value)
		case unix.RTA_OIF:
			links = []int{int32At(value)}
		case unix.RTA_MULTIPATH:
			links = hopLinks(value)
		case unix.RTA_TABLE:
			e.Table = uint32(int32At(value))
		case rtaNexthop: // the kernel describes the object as well
			nexthop = true
		}
	}
	if e.Prefix = netip.PrefixFrom(addr, int(data[1])); !e.Prefix.IsValid() {
		return nil
	}
	if nexthop || data[routeTypeOffset] != unix.RTN_UNICAST { // IPv6 names the loopback
		links = []int{0}
	}
	events := make([]netlinkapi.Event, len(links))
	for i, link := range links {
		events[i] = e
		events[i].Link = link
	}
	return events
}

// hopLinks returns the links of several next hops, each once.
func hopLinks(data []byte) (links []int) {
	for len(data) >= unix.SizeofRtNexthop {
		length := int(binary.NativeEndian.Uint16(data))
		if length < unix.SizeofRtNexthop || length > len(data) {
			return links
		}
		if link := int32At(data[4:]); !slices.Contains(links, link) {
			links = append(links, link)
		}
		data = data[min((length+3)&^3, len(data)):]
	}
	return links
}

// parseNeighbour reads the address and the link of a neighbour.
func parseNeighbour(data []byte) (ip netip.Addr, link int, ok bool) {
	if len(data) < unix.SizeofNdMsg {
		return ip, 0, false
	}
	if family := data[0]; family != unix.AF_INET && family != unix.AF_INET6 { // an entry of a bridge
		return ip, 0, false
	}
	link = int32At(data[4:8])
	for kind, value := range attributes(data[unix.SizeofNdMsg:]) {
		if kind == unix.NDA_DST {
			ip, ok = netip.AddrFromSlice(value)
		}
	}
	return ip, link, ok
}

// attributes iterates over attributes of a length, a type and a value each, aligned
// to 4 bytes, as far as they are well-formed.
func attributes(data []byte) iter.Seq2[uint16, []byte] {
	return func(yield func(uint16, []byte) bool) {
		for len(data) >= unix.SizeofRtAttr {
			length := int(binary.NativeEndian.Uint16(data))
			if length < unix.SizeofRtAttr || length > len(data) {
				return
			}
			if !yield(binary.NativeEndian.Uint16(data[2:]), data[unix.SizeofRtAttr:length]) {
				return
			}
			data = data[min((length+3)&^3, len(data)):]
		}
	}
}

// int32At reads a signed number of 32 bits; 0 if there is none.
func int32At(value []byte) int {
	if len(value) < 4 {
		return 0
	}
	return int(int32(binary.NativeEndian.Uint32(value)))
}
