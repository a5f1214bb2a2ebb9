package netlinkapi

import (
	"context"
	"maps"
	"slices"
)

// Sysctls reads and changes the parameters of links in /proc/sys/net. The name of one is the
// version of IP and the file in conf/LINK: "ipv4.rp_filter". The offloads of a link are parameters
// that are 0 or 1, see OffloadParameter, and so are the numbers of its queues. Without a link it
// means a parameter of the namespace, such as TCPAcceptL3Master. LinkSpeed can be read only.
type Sysctls interface {
	// Sysctls returns parameters of a link, but those that this kernel does not have for it.
	// A link that is not there is ErrNotFound.
	// Equivalent to: `sysctl net.ipv4.conf.LINK.rp_filter`, `ethtool -k LINK`, `ethtool -l LINK` and `ethtool LINK`
	Sysctls(ctx context.Context, link string, names []string) (map[string]int, error)
	// SetSysctl returns ErrNotFound if the link is not there, and ErrUnsupported if this
	// kernel does not have the parameter for it.
	// Equivalent to: `sysctl -w net.ipv4.conf.LINK.rp_filter=2`, `ethtool -K LINK gro off` and `ethtool -L LINK rx 2`
	SetSysctl(ctx context.Context, link, name string, value int) error
}

// TCPAcceptL3Master is the parameter of a namespace that lets a socket which listens in no VRF
// accept the connections of all VRFs: 0 or 1.
const TCPAcceptL3Master = "ipv4.tcp_l3mdev_accept"

// LinkSpeed is the parameter with the speed of a link in Mb/s, whatever its state is; 0: unknown.
const LinkSpeed = "link.speed"

// SysctlRange returns the values that a parameter may have; false if the agent does not
// change the parameter.
func SysctlRange(name string) (lowest, highest int, known bool) {
	r, known := sysctls[name]
	if slices.Contains(QueueParameters(), name) {
		return queues.lowest, queues.highest, true
	}
	if offload, ok := OffloadOf(name); ok {
		r, known = onOff, slices.Contains(OffloadNames(), offload)
	}
	return r.lowest, r.highest, known
}

// SysctlNames lists the parameters that SysctlRange knows, without offloads and queues.
func SysctlNames() []string { return slices.Sorted(maps.Keys(sysctls)) }

type sysctlRange struct{ lowest, highest int }

// Ranges of parameters.
var (
	onOff   = sysctlRange{0, 1}
	upTo2   = sysctlRange{0, 2}
	queues  = sysctlRange{1, MaxQueues}
	sysctls = map[string]sysctlRange{
		"ipv4.accept_local":                onOff,
		"ipv4.accept_redirects":            onOff,
		"ipv4.accept_source_route":         onOff,
		"ipv4.arp_accept":                  upTo2,
		"ipv4.arp_announce":                upTo2,
		"ipv4.arp_filter":                  onOff,
		"ipv4.arp_ignore":                  {0, 8},
		"ipv4.arp_notify":                  onOff,
		"ipv4.bc_forwarding":               onOff,
		"ipv4.drop_gratuitous_arp":         onOff,
		"ipv4.forwarding":                  onOff,
		"ipv4.ignore_routes_with_linkdown": onOff,
		"ipv4.log_martians":                onOff,
		"ipv4.promote_secondaries":         onOff,
		"ipv4.proxy_arp":                   onOff,
		"ipv4.proxy_arp_pvlan":             onOff,
		"ipv4.route_localnet":              onOff,
		"ipv4.rp_filter":                   upTo2,
		"ipv4.secure_redirects":            onOff,
		"ipv4.send_redirects":              onOff,
		"ipv4.shared_media":                onOff,
		"ipv4.src_valid_mark":              onOff,
		"ipv6.accept_dad":                  {-1, 2},
		"ipv6.accept_ra":                   upTo2,
		"ipv6.accept_ra_defrtr":            onOff,
		"ipv6.accept_ra_mtu":               onOff,
		"ipv6.accept_ra_pinfo":             onOff,
		"ipv6.accept_ra_rtr_pref":          onOff,
		"ipv6.accept_redirects":            onOff,
		"ipv6.accept_source_route":         {-1, 1},
		"ipv6.addr_gen_mode":               {0, 3},
		"ipv6.autoconf":                    onOff,
		"ipv6.dad_transmits":               {0, 100},
		"ipv6.disable_ipv6":                onOff,
		"ipv6.disable_policy":              onOff,
		"ipv6.forwarding":                  upTo2,
		"ipv6.hop_limit":                   {1, 255},
		"ipv6.keep_addr_on_down":           {-1, 1},
		"ipv6.ndisc_notify":                onOff,
		"ipv6.proxy_ndp":                   onOff,
		"ipv6.router_solicitations":        {-1, 100},
		"ipv6.seg6_enabled":                onOff,
		"ipv6.use_tempaddr":                {-1, 2},
	}
)
