package vppcalls

import (
	"go.fd.io/govpp/binapi/arp"
	"go.fd.io/govpp/binapi/dhcp"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_neighbor"
	"go.fd.io/govpp/binapi/l3xc"
	"go.fd.io/govpp/binapi/teib"
	"go.fd.io/govpp/binapi/vlib"
	"go.fd.io/govpp/binapi/vrrp"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
)

// Capabilities are what layer 3 items need of VPP.
func Capabilities() []binding.Capability {
	config, reply := (*ip_neighbor.IPNeighborConfig)(nil), (*ip_neighbor.IPNeighborConfigReply)(nil)
	return []binding.Capability{
		binding.Need("VRF table", "", (*ip.IPTableAddDelV2)(nil), (*ip.IPTableAddDelV2Reply)(nil)).
			Or((*ip.IPTableAddDel)(nil), (*ip.IPTableAddDelReply)(nil)),
		binding.Need("route", "", (*ip.IPRouteAddDel)(nil), (*ip.IPRouteAddDelReply)(nil)),
		binding.Need("ARP entry", "", (*ip_neighbor.IPNeighborAddDel)(nil), (*ip_neighbor.IPNeighborAddDelReply)(nil)),
		binding.Need("proxy ARP", "", (*arp.ProxyArpAddDel)(nil), (*arp.ProxyArpAddDelReply)(nil),
			(*arp.ProxyArpDump)(nil), (*arp.ProxyArpDetails)(nil),
			(*arp.ProxyArpIntfcEnableDisable)(nil), (*arp.ProxyArpIntfcEnableDisableReply)(nil),
			(*arp.ProxyArpIntfcDump)(nil), (*arp.ProxyArpIntfcDetails)(nil)),
		binding.Need("IP scan neighbor", "", config, reply,
			(*ip_neighbor.IPNeighborConfigGet)(nil), (*ip_neighbor.IPNeighborConfigGetReply)(nil)).
			Or(config, reply, (*vlib.CliInband)(nil), (*vlib.CliInbandReply)(nil)).
			Or((*scanEnableDisable)(nil), (*scanEnableDisableReply)(nil)),
		binding.Need("L3 cross-connect", "l3xc", (*l3xc.L3xcUpdate)(nil), (*l3xc.L3xcUpdateReply)(nil),
			(*l3xc.L3xcDel)(nil), (*l3xc.L3xcDelReply)(nil), (*l3xc.L3xcDump)(nil), (*l3xc.L3xcDetails)(nil)),
		binding.Need("DHCP proxy", "dhcp", (*dhcp.DHCPProxyConfig)(nil), (*dhcp.DHCPProxyConfigReply)(nil),
			(*dhcp.DHCPProxyDump)(nil), (*dhcp.DHCPProxyDetails)(nil)),
		binding.Need("TEIB", "", (*teib.TeibEntryAddDel)(nil), (*teib.TeibEntryAddDelReply)(nil),
			(*teib.TeibDump)(nil), (*teib.TeibDetails)(nil)),
		binding.Need("VRRP", "vrrp", (*vrrp.VrrpVrAddDel)(nil), (*vrrp.VrrpVrAddDelReply)(nil),
			(*vrrp.VrrpVrStartStop)(nil), (*vrrp.VrrpVrStartStopReply)(nil),
			(*vrrp.VrrpVrDump)(nil), (*vrrp.VrrpVrDetails)(nil)),
		binding.Need("VRRP: unicast", "vrrp", (*vrrp.VrrpVrSetPeers)(nil), (*vrrp.VrrpVrSetPeersReply)(nil),
			(*vrrp.VrrpVrPeerDump)(nil), (*vrrp.VrrpVrPeerDetails)(nil)),
	}
}
