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

// VrfTableModel is the model of VRF tables.
var VrfTableModel = models.Of[*l3.VrfTable]()

// RouteModel is the model of routes.
var RouteModel = models.Of[*l3.Route]().Named(routeName)

// ARPModel is the model of neighbours.
var ARPModel = models.Of[*l3.ARPEntry]()

// ProxyARPModel has at most one item.
var ProxyARPModel = models.Of[*l3.ProxyARP]()

// IPScanNeighborModel has at most one item.
var IPScanNeighborModel = models.Of[*l3.IPScanNeighbor]()

// DHCPProxyModel is the model of DHCP proxies.
var DHCPProxyModel = models.Of[*l3.DHCPProxy]().Named(dhcpProxyName)

// L3XConnectModel is the model of cross-connects.
var L3XConnectModel = models.Of[*l3.L3XConnect]()

// TeibModel is the model of tunnel endpoints.
var TeibModel = models.Of[*l3.TeibEntry]()

// VRRPModel is the model of virtual routers.
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

// dhcpProxyName distinguishes the two protocols by the source address.
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
