package kernel

import (
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// ruleEvents returns the event of a deleted rule of the agent.
func ruleEvents(data []byte) []netlinkapi.Event {
	if len(data) < unix.SizeofRtMsg { // struct fib_rule_hdr has the same size
		return nil
	}
	e := netlinkapi.Event{Kind: netlinkapi.RuleRemoved}
	ours := false
	for kind, value := range attributes(data[unix.SizeofRtMsg:]) {
		switch kind {
		case nl.FRA_PRIORITY:
			e.Priority = uint32(int32At(value))
		case nl.FRA_PROTOCOL:
			ours = len(value) > 0 && netlinkapi.Protocol(value[0]) == netlinkapi.ProtocolAgent
		}
	}
	if !ours {
		return nil
	}
	return []netlinkapi.Event{e}
}

// Attributes of RTM_NEWNETCONF, from linux/netconf.h.
const (
	netconfLink           = 1
	netconfForwarding     = 2
	netconfRPFilter       = 3
	netconfProxy          = 5
	netconfIgnoreLinkdown = 6
	netconfBCForwarding   = 8
)

// netconfSysctls are the parameters that the attributes of RTM_NEWNETCONF stand for, of IPv4 and
// IPv6; empty: none.
var netconfSysctls = map[uint16][2]string{
	netconfForwarding:     {"ipv4.forwarding", "ipv6.forwarding"},
	netconfRPFilter:       {"ipv4.rp_filter", ""},
	netconfProxy:          {"ipv4.proxy_arp", "ipv6.proxy_ndp"},
	netconfIgnoreLinkdown: {"ipv4.ignore_routes_with_linkdown", ""},
	netconfBCForwarding:   {"ipv4.bc_forwarding", ""},
}

// sysctlEvents returns the events of parameters of one link.
func sysctlEvents(data []byte) []netlinkapi.Event {
	const header = 4 // struct netconfmsg, aligned
	if len(data) < header || data[0] != unix.AF_INET && data[0] != unix.AF_INET6 {
		return nil
	}
	version := 0
	if data[0] == unix.AF_INET6 {
		version = 1
	}
	link := 0
	var names []string
	for kind, value := range attributes(data[header:]) {
		if kind == netconfLink {
			link = int32At(value)
		} else if name := netconfSysctls[kind][version]; name != "" {
			names = append(names, name)
		}
	}
	if link <= 0 { // all links, or later ones
		return nil
	}
	events := make([]netlinkapi.Event, len(names))
	for i, name := range names {
		events[i] = netlinkapi.Event{Kind: netlinkapi.SysctlChanged, Link: link, Sysctl: name}
	}
	return events
}
