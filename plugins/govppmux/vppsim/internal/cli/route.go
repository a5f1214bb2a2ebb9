package cli

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/cmdline"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_neighbor"
	"go.fd.io/govpp/binapi/ip_types"
)

// tables returns the tables of one family.
func (c *CLI) tables(isIPv6 bool) []ip.IPTable {
	var tables []ip.IPTable
	for _, d := range dump[*ip.IPTableDetails](c, &ip.IPTableDump{}) {
		if d.Table.IsIP6 == isIPv6 {
			tables = append(tables, d.Table)
		}
	}
	return tables
}

func (c *CLI) showTables(isIPv6 bool) func(*cmdline.Input) error {
	return func(in *cmdline.Input) error {
		for at, t := range c.tables(isIPv6) {
			in.Line("[%d] table_id:%d %s", at, t.TableID, t.Name)
		}
		return nil
	}
}

// showFIB prints the routes with what they lead to; the indexes that VPP prints with
// them have no counterpart here.
func (c *CLI) showFIB(isIPv6 bool) func(*cmdline.Input) error {
	version := "ip4"
	if isIPv6 {
		version = "ip6"
	}
	return func(in *cmdline.Input) error {
		only, prefix, summary := none, "", false
		for len(in.Args) > 0 {
			switch arg := in.Next(); arg {
			case "table":
				id, err := strconv.ParseUint(in.Next(), 10, 32)
				if err != nil {
					return cmdline.UnknownInput(in.Args)
				}
				only = uint32(id)
			case "summary":
				summary = true
			default:
				prefix = arg
			}
		}
		for _, t := range c.tables(isIPv6) {
			if only != none && only != t.TableID {
				continue
			}
			in.Line("%s, fib_index:%d, flow hash:[src dst sport dport proto flowlabel ] epoch:0 flags:none locks:[%s:1, ]", t.Name, c.net.TableIndex(isIPv6, t.TableID), holder(t))
			routes := dump[*ip.IPRouteDetails](c, &ip.IPRouteDump{Table: t})
			if summary {
				summarise(in, routes)
				continue
			}
			for _, d := range routes {
				if masked := maskedPrefix(d.Route.Prefix); prefix == "" || prefix == masked {
					c.showRoute(in, version, masked, &d.Route)
				}
			}
		}
		return nil
	}
}

// holder is who holds a table; VPP would list interfaces and others, too.
func holder(t ip.IPTable) string {
	if t.TableID == 0 {
		return "default-route"
	}
	return "API"
}

// summarise counts routes by the length of their prefixes.
func summarise(in *cmdline.Input, routes []*ip.IPRouteDetails) {
	count := map[uint8]int{}
	for _, d := range routes {
		count[d.Route.Prefix.Len]++
	}
	in.Line("%s%s", cmdline.Center(20, "Prefix length"), cmdline.Center(16, "Count"))
	for _, length := range slices.Sorted(maps.Keys(count)) {
		in.Line("%20d%16d", length, count[length])
	}
}

func maskedPrefix(p ip_types.Prefix) string {
	prefix, err := netip.ParsePrefix(p.String())
	if err != nil {
		return p.String()
	}
	return prefix.Masked().String()
}

func (c *CLI) showRoute(in *cmdline.Input, version, prefix string, route *ip.IPRoute) {
	in.Line("%s", prefix)
	in.Line("  unicast-%s-chain", version)
	in.Line("  [@0]: dpo-load-balance: [proto:%s index:%d buckets:%d uRPF:%d to:[0:0]]", version, route.StatsIndex, len(route.Paths), route.StatsIndex)
	for at := range route.Paths {
		in.Line("    [%d] %s", at, c.describePath(version, &route.Paths[at]))
	}
}

func (c *CLI) describePath(version string, p *fib_types.FibPath) string {
	nextHop := p.Nh.Address.GetIP4().String()
	if p.Proto == fib_types.FIB_API_PATH_NH_PROTO_IP6 {
		nextHop = p.Nh.Address.GetIP6().String()
	}
	zero := p.Nh.Address == ip_types.AddressUnion{}
	out := c.nameOrStale(p.SwIfIndex)
	switch {
	case p.Type == fib_types.FIB_API_PATH_TYPE_DROP:
		return "[@0]: dpo-drop " + version
	case p.Type == fib_types.FIB_API_PATH_TYPE_LOCAL:
		return fmt.Sprintf("[@11]: dpo-receive: %s on %s", nextHop, out)
	case p.Type == fib_types.FIB_API_PATH_TYPE_ICMP_UNREACH, p.Type == fib_types.FIB_API_PATH_TYPE_ICMP_PROHIBIT:
		return "[@0]: dpo-icmp-error " + version
	case p.SwIfIndex == none && zero && p.Type == fib_types.FIB_API_PATH_TYPE_NORMAL:
		return fmt.Sprintf("[@10]: dst-address,unicast lookup in %s table %d", version, p.TableID)
	case p.SwIfIndex == none:
		return fmt.Sprintf("[@12]: via %s in table %d", nextHop, p.TableID)
	case zero:
		return fmt.Sprintf("[@4]: ipv%s-glean: %s", version[2:], out)
	}
	return fmt.Sprintf("[@5]: ipv%s via %s %s", version[2:], nextHop, out)
}

func (c *CLI) showNeighbors(in *cmdline.Input) error {
	header := false
	for _, af := range []ip_types.AddressFamily{ip_types.ADDRESS_IP4, ip_types.ADDRESS_IP6} {
		for _, d := range dump[*ip_neighbor.IPNeighborDetails](c, &ip_neighbor.IPNeighborDump{SwIfIndex: interface_types.InterfaceIndex(none), Af: af}) {
			if !header {
				header = true
				in.Line("%s%s%s%s%s", cmdline.Center(12, "Age"), cmdline.Center(40, "IP"), cmdline.Center(8, "Flags"), cmdline.Center(20, "Ethernet"), cmdline.Center(24, "Interface"))
			}
			in.Line("%s%s%s%s %s", cmdline.Center(12, fmt.Sprintf("%.4f", d.Age)), cmdline.Center(40, d.Neighbor.IPAddress),
				cmdline.Center(8, neighborFlags(d.Neighbor.Flags)), cmdline.Center(20, d.Neighbor.MacAddress), c.nameOrStale(uint32(d.Neighbor.SwIfIndex)))
		}
	}
	return nil
}

func neighborFlags(flags ip_neighbor.IPNeighborFlags) string {
	static, noFIB := "D", ""
	if flags&ip_neighbor.IP_API_NEIGHBOR_FLAG_STATIC != 0 {
		static = "S"
	}
	if flags&ip_neighbor.IP_API_NEIGHBOR_FLAG_NO_FIB_ENTRY != 0 {
		noFIB = "N"
	}
	return joinNonEmpty(static, noFIB)
}
