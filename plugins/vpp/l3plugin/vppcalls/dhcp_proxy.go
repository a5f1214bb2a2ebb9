package vppcalls

import (
	"context"
	"fmt"
	"net/netip"

	"go.fd.io/govpp/binapi/dhcp"
	"go.fd.io/govpp/binapi/ip_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// DHCPServer is a server that a proxy sends requests to.
type DHCPServer struct {
	// Table that the address is looked up in.
	Table uint32
	Addr  netip.Addr
}

// DHCPProxy relays the requests of the clients in a table, of one version of IP.
type DHCPProxy struct {
	// Table that the clients are in.
	Table   uint32
	Source  netip.Addr
	Servers []DHCPServer
}

var dhcpProxies = session.Require(&Operations, "DHCP proxy", "dhcp",
	(*dhcp.DHCPProxyConfig)(nil), (*dhcp.DHCPProxyConfigReply)(nil),
	(*dhcp.DHCPProxyDump)(nil), (*dhcp.DHCPProxyDetails)(nil))

// SetDHCPServer adds a server to the proxy of a table, or removes it; the proxy is added with its
// first server and goes with its last. The source is that of the first. If there is nothing to
// do, that is a success. VPP makes tables that do not exist.
func (c *Calls) SetDHCPServer(ctx context.Context, table uint32, source netip.Addr, s DHCPServer, add bool) error {
	if err := dhcpProxies.Check(c.vpp); err != nil {
		return err
	}
	err := c.vpp.Call(ctx, &dhcp.DHCPProxyConfig{
		RxVrfID: table, ServerVrfID: s.Table, IsAdd: add,
		DHCPServer: ipconv.Address(s.Addr), DHCPSrcAddress: ipconv.Address(source),
	}, &dhcp.DHCPProxyConfigReply{})
	if err != nil {
		return fmt.Errorf("server %s in table %d: %w", s.Addr, s.Table, err)
	}
	return nil
}

// DumpDHCPProxies returns the proxies of both versions of IP.
func (c *Calls) DumpDHCPProxies(ctx context.Context) ([]DHCPProxy, error) {
	var out []DHCPProxy
	for _, ipv6 := range []bool{false, true} {
		found, err := session.DumpOf[*dhcp.DHCPProxyDetails](ctx, c.vpp, dhcpProxies, &dhcp.DHCPProxyDump{IsIP6: ipv6})
		if err != nil {
			return nil, err
		}
		// VPP does not fill in the family of the addresses.
		addr := func(a ip_types.Address) netip.Addr { a.Af = ipconv.Family(ipv6); return ipconv.FromAddress(a) }
		for _, d := range found {
			p := DHCPProxy{Table: d.RxVrfID, Source: addr(d.DHCPSrcAddress)}
			for _, s := range d.Servers {
				p.Servers = append(p.Servers, DHCPServer{s.ServerVrfID, addr(s.DHCPServer)})
			}
			out = append(out, p)
		}
	}
	return out, nil
}
