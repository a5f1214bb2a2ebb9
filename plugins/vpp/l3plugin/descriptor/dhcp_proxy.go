package descriptor

import (
	"context"
	"fmt"
	"slices"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/dhcp"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// dhcpServer is one server of a proxy.
type dhcpServer struct {
	dhcp.DHCPProxyConfig
	vss dhcpVSS // of the proxy; no value has any
}

// dhcpVSS is the VPN of the clients, which a proxy sends to its servers (RFC 6607).
type dhcpVSS struct {
	Configured     bool
	VssType        dhcp.VssType
	VssVpnASCIIID  string
	VssOui, VssFib uint32
}

var dhcpProxies = session.Require("DHCP proxy", "dhcp",
	(*dhcp.DHCPProxyConfig)(nil), (*dhcp.DHCPProxyConfigReply)(nil),
	(*dhcp.DHCPProxyDump)(nil), (*dhcp.DHCPProxyDetails)(nil))

// NewDHCPProxy describes DHCP proxies. A DHCP proxy relays the requests of the clients in a
// table to servers. There is one per table and version of IP (of the source address). VPP adds
// it with its first server, whose source address it keeps, and removes it with the last. It
// would make tables that do not exist, which the dependencies prevent.
func NewDHCPProxy(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewGroup(vpp, nil, item.Group[*l3.DHCPProxy, dhcpServer, dhcp.DHCPProxyConfig]{
		Name: DHCPProxyName, Model: model.DHCPProxyModel, Resolve: resolveDHCPProxy,
		ID: func(s dhcpServer) dhcp.DHCPProxyConfig { return s.DHCPProxyConfig },
		Parts: func() (*item.PartCalls[dhcpServer], error) {
			return &item.PartCalls[dhcpServer]{
				Change: func(s dhcpServer, add bool) (request, reply api.Message) {
					s.IsAdd = add
					return &s.DHCPProxyConfig, &dhcp.DHCPProxyConfigReply{}
				},
				List: func(ctx context.Context) ([]dhcpServer, error) { return dumpDHCPServers(ctx, vpp) },
			}, dhcpProxies.Check(vpp)
		},
		PartName: func(s dhcpServer) string {
			return fmt.Sprintf("server %s in table %d", item.Addr(s.DHCPServer), s.ServerVrfID)
		},
		Key: func(_ *item.Names, s dhcpServer) string {
			return model.DHCPProxyModel.Key(&l3.DHCPProxy{SourceIpAddress: item.Addr(s.DHCPSrcAddress), RxVrfId: s.RxVrfID})
		},
		Value: func(_ *item.Names, servers []dhcpServer) *l3.DHCPProxy {
			p := &l3.DHCPProxy{SourceIpAddress: item.Addr(servers[0].DHCPSrcAddress), RxVrfId: servers[0].RxVrfID}
			for _, s := range servers {
				p.Servers = append(p.Servers, &l3.DHCPProxy_DHCPServer{VrfId: s.ServerVrfID, IpAddress: item.Addr(s.DHCPServer)})
			}
			return p
		},
		Recreate: func(a, b *l3.DHCPProxy) bool { return !ipconv.SameAddr(a.GetSourceIpAddress(), b.GetSourceIpAddress()) },
		AddFirst: true,
	})
}

// vssNone is the type without VPN information; VPP does not convert it to network byte order.
const vssNone = dhcp.VssType(uint32(dhcp.VSS_TYPE_API_INVALID) << 24)

func vssOf(d *dhcp.DHCPProxyDetails) dhcpVSS {
	vss := dhcpVSS{d.VssType != vssNone, d.VssType, d.VssVPNAsciiID, d.VssOui, d.VssFibID}
	if !vss.Configured {
		vss.VssType = 0
	}
	return vss
}

func dumpDHCPServers(ctx context.Context, vpp *session.VPP) (out []dhcpServer, err error) {
	for _, ipv6 := range []bool{false, true} {
		found, err := session.Dump[*dhcp.DHCPProxyDetails](ctx, vpp, &dhcp.DHCPProxyDump{IsIP6: ipv6})
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			for _, s := range d.Servers {
				server := dhcpServer{
					DHCPProxyConfig: dhcp.DHCPProxyConfig{RxVrfID: d.RxVrfID, ServerVrfID: s.ServerVrfID, DHCPServer: s.DHCPServer, DHCPSrcAddress: d.DHCPSrcAddress},
					vss:             vssOf(d),
				}
				// VPP does not fill in the family of the addresses.
				server.DHCPServer.Af, server.DHCPSrcAddress.Af = ipconv.Family(ipv6), ipconv.Family(ipv6)
				out = append(out, server)
			}
		}
	}
	return out, nil
}

func resolveDHCPProxy(r *item.Resolver, p *l3.DHCPProxy) (out []dhcpServer) {
	source, err := ipconv.ParseAddr(p.GetSourceIpAddress())
	switch {
	case err != nil:
		r.Fail("source_ip_address", "%w", err)
	case source.IsUnspecified():
		r.Fail("source_ip_address", "%s, expected an address of VPP", source)
	}
	if n := len(p.GetServers()); n == 0 || n > maxByte {
		r.Fail("servers", "%d servers, expected 1 to %d", n, maxByte)
	}
	proxy := dhcpServer{DHCPProxyConfig: dhcp.DHCPProxyConfig{RxVrfID: p.GetRxVrfId(), DHCPSrcAddress: ipconv.Address(source)}}
	r.TableAs("rx-vrf-table-exists", proxy.RxVrfID, proxy.DHCPSrcAddress)
	tables := map[uint32]bool{}
	for n, s := range p.GetServers() {
		field := fmt.Sprintf("servers[%d].ip_address", n)
		addr, err := ipconv.ParseAddr(s.GetIpAddress())
		if err != nil {
			r.Fail(field, "%w", err)
			continue
		}
		server := proxy
		server.ServerVrfID, server.DHCPServer = s.GetVrfId(), ipconv.Address(addr)
		switch {
		case addr.IsUnspecified():
			r.Fail(field, "%s, expected the address of a server", addr)
		case source.IsValid() && addr.Is4() != source.Is4():
			r.Fail(field, "%s, expected the version of IP of source_ip_address %s", addr, source)
		case slices.Contains(out, server):
			r.Fail(field, "%s in table %d is listed twice", addr, server.ServerVrfID)
		}
		out = append(out, server)
		if id := s.GetVrfId(); !tables[id] {
			tables[id] = true
			r.TableAs(fmt.Sprintf("vrf-table-%d-used-by-dhcp-server-exists", id), id, proxy.DHCPSrcAddress)
		}
	}
	return out
}
