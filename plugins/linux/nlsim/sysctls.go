package nlsim

import (
	"context"
	"maps"
	"net/netip"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

const disableIPv6 = "ipv6.disable_ipv6"

// otherSysctls are the parameters of new links that are not 0.
var otherSysctls = map[string]int{
	"ipv4.accept_redirects": 1, "ipv4.secure_redirects": 1, "ipv4.send_redirects": 1, "ipv4.shared_media": 1,
	"ipv6.accept_dad": 1, "ipv6.accept_ra": 1, "ipv6.accept_ra_defrtr": 1, "ipv6.accept_ra_mtu": 1, "ipv6.accept_ra_pinfo": 1,
	"ipv6.accept_ra_rtr_pref": 1, "ipv6.accept_redirects": 1, "ipv6.autoconf": 1, "ipv6.dad_transmits": 1, "ipv6.hop_limit": 64,
	"ipv6.router_solicitations": -1, netlinkapi.QueuesRX: 1, netlinkapi.QueuesTX: 1,
}

// offloads are the offloads of new links that are on.
var offloads = []string{netlinkapi.OffloadRXChecksum, netlinkapi.OffloadTXChecksum, "scatter-gather",
	"tcp-segmentation-offload", "generic-segmentation-offload", "rx-vlan-offload", "tx-vlan-offload"}

// fixedOffloads are the offloads that no link can change.
var fixedOffloads = []string{"large-receive-offload", "ntuple-filters", "receive-hashing"}

// maxQueues is the most queues that a VETH allows.
const maxQueues = 8

// vethSpeed is the speed of a VETH in Mb/s.
const vethSpeed = 10_000

// notified are the parameters whose changes the kernel sends events for.
var notified = []string{
	"ipv4.forwarding", "ipv6.forwarding", "ipv4.rp_filter", "ipv4.proxy_arp", "ipv6.proxy_ndp",
	"ipv4.ignore_routes_with_linkdown", "ipv4.bc_forwarding",
}

// sysctl returns a parameter; false if there is no such.
func (l *link) sysctl(name string) (value int, known bool) {
	if name == netlinkapi.LinkSpeed {
		return l.speed(), true
	}
	if _, _, known = netlinkapi.SysctlRange(name); !known {
		return 0, false
	}
	if offload, ok := netlinkapi.OffloadOf(name); ok {
		value = initialOffload(offload)
	}
	if slices.Contains(netlinkapi.QueueParameters(), name) && (l.peer == nil || name == netlinkapi.QueuesCombined) {
		return 0, false
	}
	if value, changed := l.sysctls[name]; changed {
		return value, true
	}
	return value + otherSysctls[name], true
}

// speed returns what the kernel reports for a VETH, and for what is on it.
func (l *link) speed() int {
	switch {
	case l.peer != nil:
		return vethSpeed
	case l.parent != nil:
		return l.parent.speed()
	}
	return 0
}

// initialOffload returns an offload that was not changed.
func initialOffload(name string) int {
	if slices.Contains(offloads, name) {
		return 1
	}
	return 0
}

func (l *link) setSysctl(name string, value int) {
	l.sysctls = maps.Clone(l.sysctls)
	if l.sysctls == nil {
		l.sysctls = map[string]int{}
	}
	offload, _ := netlinkapi.OffloadOf(name)
	if l.sysctls[name] = value; value == otherSysctls[name]+initialOffload(offload) {
		delete(l.sysctls, name)
	}
	switch {
	case name != disableIPv6:
	case value == 0 && l.Up:
		l.addLoopback()
	case value != 0:
		l.flushAddresses(func(a netlinkapi.Address) bool { return a.Link == l.Index && a.Prefix.Addr().Is6() })
		l.flushRoutes(netip.Addr.Is6)
	}
}

// Sysctls implements netlinkapi.Sysctls.
func (h *handle) Sysctls(ctx context.Context, name string, names []string) (values map[string]int, err error) {
	err = h.read(ctx, "Sysctls", func() error {
		values = map[string]int{}
		if name == "" {
			if slices.Contains(names, netlinkapi.TCPAcceptL3Master) {
				values[netlinkapi.TCPAcceptL3Master] = h.ns.sysctls[netlinkapi.TCPAcceptL3Master]
			}
			return nil
		}
		l := h.ns.byName(name)
		if l == nil {
			return netlinkapi.ErrNotFound
		}
		for _, n := range names {
			if v, known := l.sysctl(n); known {
				values[n] = v
			}
		}
		return nil
	})
	return values, err
}

// SetSysctl implements netlinkapi.Sysctls.
func (h *handle) SetSysctl(ctx context.Context, name, sysctl string, value int) error {
	return h.change(ctx, "SetSysctl", func() error {
		if name == "" {
			return h.ns.setSysctl(sysctl, value)
		}
		l := h.ns.byName(name)
		if l == nil {
			return netlinkapi.ErrNotFound
		}
		lowest, highest, known := netlinkapi.SysctlRange(sysctl)
		switch {
		case !known:
			return netlinkapi.ErrUnsupported
		case value < lowest || value > highest:
			return errInvalid
		}
		if offload, _ := netlinkapi.OffloadOf(sysctl); slices.Contains(fixedOffloads, offload) {
			return netlinkapi.ErrUnsupported
		}
		if slices.Contains(netlinkapi.QueueParameters(), sysctl) && value > maxQueues {
			return errInvalid
		}
		before, there := l.sysctl(sysctl)
		if !there {
			return netlinkapi.ErrUnsupported
		}
		l.setSysctl(sysctl, value)
		if value != before && slices.Contains(notified, sysctl) {
			h.ns.notify(netlinkapi.Event{Kind: netlinkapi.SysctlChanged, Link: l.Index, Sysctl: sysctl})
		}
		return nil
	})
}

// setSysctl changes a parameter of the namespace.
func (ns *space) setSysctl(name string, value int) error {
	switch {
	case name != netlinkapi.TCPAcceptL3Master:
		return netlinkapi.ErrUnsupported
	case value != 0 && value != 1:
		return errInvalid
	case ns.sysctls == nil:
		ns.sysctls = map[string]int{}
	}
	ns.sysctls[name] = value
	return nil
}

// sysctlNames lists the parameters that were changed.
func (l *link) sysctlNames() []string { return slices.Sorted(maps.Keys(l.sysctls)) }
