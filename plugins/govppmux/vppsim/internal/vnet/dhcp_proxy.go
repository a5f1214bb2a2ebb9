package vnet

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/dhcp"
	"go.fd.io/govpp/binapi/ip_types"
)

// dhcpProxy relays the requests of the clients in one table to servers. The source
// address comes from the first server's request, whatever the later requests have.
type dhcpProxy struct {
	source  netip.Addr
	servers []dhcpServer
}

type dhcpServer struct {
	addr  netip.Addr
	table *fib.Table
}

// broadcast is for the proxy itself while there is one in an IPv4 table.
var broadcast = netip.MustParsePrefix("255.255.255.255/32")

// vssNone is how VPP says that there is no VPN information: it forgets to swap the
// bytes of the number.
const vssNone = dhcp.VssType(uint32(dhcp.VSS_TYPE_API_INVALID) << 24)

// dhcpProxies are the DHCP proxies, by ID of the table of the clients.
type dhcpProxies struct {
	*VNet
	byTable [families]map[uint32]*dhcpProxy
}

func newDhcpProxies(n *VNet) feature { return &dhcpProxies{VNet: n} }

func (ps *dhcpProxies) register(server *wire.Server) {
	handle[dhcp.DHCPProxyConfigReply](server, ps.dhcpProxyConfig)
	wire.HandleDump(server, ps.dhcpProxyDump)
}

func (ps *dhcpProxies) reset() {
	for f := range families {
		ps.byTable[f] = make(map[uint32]*dhcpProxy)
	}
}

func (ps *dhcpProxies) dhcpProxyConfig(req *dhcp.DHCPProxyConfig) retval {
	server, source := addrOf(req.DHCPServer), addrOf(req.DHCPSrcAddress)
	switch {
	case req.DHCPServer.Af != req.DHCPSrcAddress.Af:
		return api.INVALID_ARGUMENT
	case server.IsUnspecified():
		return api.INVALID_DST_ADDRESS
	case source.IsUnspecified():
		return api.INVALID_SRC_ADDRESS
	case req.IsAdd:
		ps.addDHCPServer(req.RxVrfID, source, server, req.ServerVrfID)
	default:
		ps.removeDHCPServer(req.RxVrfID, server, req.ServerVrfID)
	}
	return ok
}

// addDHCPServer makes the tables that do not exist. Of IPv6 clients only the
// multicast table is needed, which is not simulated.
func (ps *dhcpProxies) addDHCPServer(rx uint32, source, server netip.Addr, table uint32) {
	f := familyOf(server)
	p := ps.byTable[f][rx]
	if p == nil {
		p = &dhcpProxy{source: source}
		ps.byTable[f][rx] = p
		if f == ip4 {
			t := ps.holdTable(f, rx)
			ps.fibs.Set(t, broadcast, fib.SourceDHCP, []fib.Path{fib.Local(0, netip.IPv4Unspecified())})
		}
	}
	if slices.ContainsFunc(p.servers, func(s dhcpServer) bool { return s.addr == server && s.table.ID == table }) {
		return
	}
	p.servers = append(p.servers, dhcpServer{server, ps.holdTable(f, table)})
}

// removeDHCPServer: the proxy goes with its last server. Nothing to remove is fine.
func (ps *dhcpProxies) removeDHCPServer(rx uint32, server netip.Addr, table uint32) {
	f := familyOf(server)
	p := ps.byTable[f][rx]
	if p == nil {
		return
	}
	at := slices.IndexFunc(p.servers, func(s dhcpServer) bool { return s.addr == server && s.table.ID == table })
	if at < 0 {
		return
	}
	ps.releaseTable(p.servers[at].table)
	last := len(p.servers) - 1
	p.servers[at] = p.servers[last] // VPP fills the gap with the last one
	p.servers = p.servers[:last]
	if last > 0 {
		return
	}
	delete(ps.byTable[f], rx)
	if t := ps.fibs.Table(f, rx); f == ip4 {
		ps.fibs.Remove(t, broadcast, fib.SourceDHCP)
		ps.releaseTable(t)
	}
}

// dhcpProxyDump leaves the family out of the addresses, as VPP does.
func (ps *dhcpProxies) dhcpProxyDump(c *wire.Call, req *dhcp.DHCPProxyDump) {
	f := familyFlag(req.IsIP6)
	for _, rx := range slices.Sorted(maps.Keys(ps.byTable[f])) {
		p := ps.byTable[f][rx]
		details := &dhcp.DHCPProxyDetails{
			RxVrfID: rx, IsIPv6: f == ip6, VssType: vssNone,
			DHCPSrcAddress: ip_types.Address{Un: apiAddr(p.source).Un},
		}
		for _, s := range p.servers {
			details.Servers = append(details.Servers, dhcp.DHCPServer{
				ServerVrfID: s.table.ID, DHCPServer: ip_types.Address{Un: apiAddr(s.addr).Un},
			})
		}
		details.Count = uint8(len(details.Servers))
		c.Send(details)
	}
}

func (ps *dhcpProxies) dump(b *strings.Builder) {
	for f := range families {
		for _, rx := range slices.Sorted(maps.Keys(ps.byTable[f])) {
			p := ps.byTable[f][rx]
			fmt.Fprintf(b, "%s dhcp-proxy in %d from %s to", f, rx, p.source)
			var servers []string
			for _, s := range p.servers {
				servers = append(servers, fmt.Sprintf("%s in %d", s.addr, s.table.ID))
			}
			slices.Sort(servers)
			fmt.Fprintf(b, " %s\n", strings.Join(servers, ", "))
		}
	}
}
