// Package model places layer 3 items of VPP in the key space: VRF tables,
// routes, neighbours, proxies, cross-connects and virtual routers.
package model

import (
	"net/netip"
	"strconv"

	"github.com/tenuto-dev/tenuto/infra/models"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// VrfTableModel places VRF tables at
// config/vpp/v2/vrf-table/id/{id}/protocol/{IPV4|IPV6}.
var VrfTableModel = models.Of[*l3.VrfTable]()

// RouteModel places routes at config/vpp/v2/route/
// [if/{interface}/]vrf/{id}/dst/{network}/{prefix length}/[gw/{next hop}]; see
// routeName.
var RouteModel = models.Of[*l3.Route]().Named(routeName)

// ARPModel places neighbours at config/vpp/v2/arp/{interface}/{address}.
var ARPModel = models.Of[*l3.ARPEntry]()

// ProxyARPModel is the only item at config/vpp/v2/proxyarp-global.
var ProxyARPModel = models.Of[*l3.ProxyARP]()

// IPScanNeighborModel is the only item at config/vpp/v2/ipscanneigh-global.
var IPScanNeighborModel = models.Of[*l3.IPScanNeighbor]()

// DHCPProxyModel places DHCP proxies at
// config/vpp/v2/dhcp-proxy/{IPv4|IPv6}/rx-vrf/{id}.
var DHCPProxyModel = models.Of[*l3.DHCPProxy]().Named(dhcpProxyName)

// L3XConnectModel places cross-connects at
// config/vpp/v2/l3xconnect/{interface}/protocol/{IPV4|IPV6}.
var L3XConnectModel = models.Of[*l3.L3XConnect]()

// TeibModel places tunnel endpoints at
// config/vpp/v2/teib/{interface}/peer/{address}.
var TeibModel = models.Of[*l3.TeibEntry]()

// VRRPModel places virtual routers at
// config/vpp/v2/vrrp/{interface}/vrid/{number}.
var VRRPModel = models.Of[*l3.VRRPEntry]()

// ProxyARPInterfaceKey makes an interface answer ARP requests, derived from
// ProxyARP; it carries ProxyARP.Interface.
var ProxyARPInterfaceKey = models.MustKeyTemplate("vpp/proxyarp/interface/{iface}")

// VrfTableKey returns the key of a VRF table. Nothing may depend on table 0:
// it exists in VPP without being configured.
func VrfTableKey(id uint32, protocol l3.VrfTable_Protocol) string {
	return VrfTableModel.Key(&l3.VrfTable{Id: id, Protocol: protocol})
}

// routeName has the outgoing interface only if there is one, the destination
// without host bits, and the next hop as it is spelled. Without a next hop the
// name ends after the destination, with a slash: that is how clients name such
// routes. VPP reports an unspecified next hop instead ("gw/0.0.0.0", "gw/::").
func routeName(r *l3.Route) string {
	name := make([]byte, 0, 128) // there are many routes
	if r.GetOutgoingInterface() != "" {
		name = append(append(append(name, "if/"...), r.GetOutgoingInterface()...), '/')
	}
	name = strconv.AppendUint(append(name, "vrf/"...), uint64(r.GetVrfId()), 10)
	name = append(netallocmodel.AppendNetworkKeyPart(append(name, "/dst/"...), r.GetDstNetwork()), '/')
	if r.GetNextHopAddr() != "" {
		name = append(append(name, "gw/"...), r.GetNextHopAddr()...)
	}
	return string(name)
}

// dhcpProxyName tells the two protocols apart by the source address.
func dhcpProxyName(p *l3.DHCPProxy) string {
	protocol := models.InvalidPart
	if addr, err := netip.ParseAddr(p.GetSourceIpAddress()); err == nil && addr.Zone() == "" {
		protocol = "IPv6"
		if addr.Unmap().Is4() {
			protocol = "IPv4"
		}
	}
	return protocol + "/rx-vrf/" + decimal(p.GetRxVrfId())
}

func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
