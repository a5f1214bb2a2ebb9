package vppconfig

import (
	"google.golang.org/protobuf/proto"

	linuxinterfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
	linuxl3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	abf "github.com/tenuto-dev/tenuto/proto/ligato/vpp/abf"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
	dns "github.com/tenuto-dev/tenuto/proto/ligato/vpp/dns"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	ipfix "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipfix"
	ipsec "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipsec"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/vpp/punt"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
	stn "github.com/tenuto-dev/tenuto/proto/ligato/vpp/stn"
	wireguard "github.com/tenuto-dev/tenuto/proto/ligato/vpp/wireguard"
)

// Put collects items to add or to change.
type Put struct{ r *Request }

// Delete continues with items to remove.
func (p *Put) Delete() *Delete { return p.r.Delete() }

// Send sends the request, see Request.Send.
func (p *Put) Send() Reply { return p.r.Send() }

// Interface puts an interface.
func (p *Put) Interface(v *interfaces.Interface) *Put { p.r.put(v); return p }

// Span puts a port mirroring.
func (p *Put) Span(v *interfaces.Span) *Put { p.r.put(v); return p }

// ACL puts an access list.
func (p *Put) ACL(v *acl.ACL) *Put { p.r.put(v); return p }

// ABF puts an ACL-based forwarding.
func (p *Put) ABF(v *abf.ABF) *Put { p.r.put(v); return p }

// BD puts a bridge domain.
func (p *Put) BD(v *l2.BridgeDomain) *Put { p.r.put(v); return p }

// BDFIB puts an entry of the forwarding table of a bridge domain.
func (p *Put) BDFIB(v *l2.FIBEntry) *Put { p.r.put(v); return p }

// XConnect puts a cross-connect.
func (p *Put) XConnect(v *l2.XConnectPair) *Put { p.r.put(v); return p }

// VrfTable puts a VRF table.
func (p *Put) VrfTable(v *l3.VrfTable) *Put { p.r.put(v); return p }

// StaticRoute puts a route.
func (p *Put) StaticRoute(v *l3.Route) *Put { p.r.put(v); return p }

// Arp puts a static neighbour.
func (p *Put) Arp(v *l3.ARPEntry) *Put { p.r.put(v); return p }

// ProxyArp puts the proxy ARP.
func (p *Put) ProxyArp(v *l3.ProxyARP) *Put { p.r.put(v); return p }

// IPScanNeighbor puts the scanning of neighbours.
func (p *Put) IPScanNeighbor(v *l3.IPScanNeighbor) *Put { p.r.put(v); return p }

// DHCPProxy puts a DHCP proxy.
func (p *Put) DHCPProxy(v *l3.DHCPProxy) *Put { p.r.put(v); return p }

// L3XConnect puts a cross-connect in layer 3.
func (p *Put) L3XConnect(v *l3.L3XConnect) *Put { p.r.put(v); return p }

// TeibEntry puts an entry of the tunnel endpoint table.
func (p *Put) TeibEntry(v *l3.TeibEntry) *Put { p.r.put(v); return p }

// VRRP puts a virtual router.
func (p *Put) VRRP(v *l3.VRRPEntry) *Put { p.r.put(v); return p }

// StnRule puts a steal-the-NIC rule.
func (p *Put) StnRule(v *stn.Rule) *Put { p.r.put(v); return p }

// NAT44Global puts the global NAT44 settings.
func (p *Put) NAT44Global(v *nat.Nat44Global) *Put { p.r.put(v); return p }

// DNAT44 puts a destination NAT.
func (p *Put) DNAT44(v *nat.DNat44) *Put { p.r.put(v); return p }

// NAT44Interface puts the NAT44 of an interface.
func (p *Put) NAT44Interface(v *nat.Nat44Interface) *Put { p.r.put(v); return p }

// NAT44AddressPool puts a pool of NAT44 addresses.
func (p *Put) NAT44AddressPool(v *nat.Nat44AddressPool) *Put { p.r.put(v); return p }

// NAT44VrfTable puts a VRF table of NAT44.
func (p *Put) NAT44VrfTable(v *nat.Nat44VrfTable) *Put { p.r.put(v); return p }

// NAT44VrfRoute puts a route between VRF tables of NAT44.
func (p *Put) NAT44VrfRoute(v *nat.Nat44VrfRoute) *Put { p.r.put(v); return p }

// IPSecSPD puts a security policy database.
func (p *Put) IPSecSPD(v *ipsec.SecurityPolicyDatabase) *Put { p.r.put(v); return p }

// IPSecSP puts a security policy.
func (p *Put) IPSecSP(v *ipsec.SecurityPolicy) *Put { p.r.put(v); return p }

// IPSecSA puts a security association.
func (p *Put) IPSecSA(v *ipsec.SecurityAssociation) *Put { p.r.put(v); return p }

// IPSecTunnelProtection puts the protection of a tunnel.
func (p *Put) IPSecTunnelProtection(v *ipsec.TunnelProtection) *Put { p.r.put(v); return p }

// PuntIPRedirect puts a redirection of IP traffic.
func (p *Put) PuntIPRedirect(v *punt.IPRedirect) *Put { p.r.put(v); return p }

// PuntToHost puts a punt to the host.
func (p *Put) PuntToHost(v *punt.ToHost) *Put { p.r.put(v); return p }

// PuntException puts a punt of exceptions.
func (p *Put) PuntException(v *punt.Exception) *Put { p.r.put(v); return p }

// SRv6Global puts the global SRv6 settings.
func (p *Put) SRv6Global(v *srv6.SRv6Global) *Put { p.r.put(v); return p }

// LocalSID puts an SRv6 local SID.
func (p *Put) LocalSID(v *srv6.LocalSID) *Put { p.r.put(v); return p }

// SRv6Policy puts an SRv6 policy.
func (p *Put) SRv6Policy(v *srv6.Policy) *Put { p.r.put(v); return p }

// SRv6Steering puts an SRv6 steering.
func (p *Put) SRv6Steering(v *srv6.Steering) *Put { p.r.put(v); return p }

// IPFIX puts the export of flows.
func (p *Put) IPFIX(v *ipfix.IPFIX) *Put { p.r.put(v); return p }

// FlowprobeParams puts the parameters of flow probes.
func (p *Put) FlowprobeParams(v *ipfix.FlowProbeParams) *Put { p.r.put(v); return p }

// FlowprobeFeature puts the flow probe of an interface.
func (p *Put) FlowprobeFeature(v *ipfix.FlowProbeFeature) *Put { p.r.put(v); return p }

// DNSCache puts the DNS cache.
func (p *Put) DNSCache(v *dns.DNSCache) *Put { p.r.put(v); return p }

// WgPeer puts a WireGuard peer.
func (p *Put) WgPeer(v *wireguard.Peer) *Put { p.r.put(v); return p }

// Item puts an item of any model, also of those that have no method of their own.
func (p *Put) Item(v proto.Message) *Put { p.r.put(v); return p }

// VppInterface puts an interface of VPP, as Interface does.
func (p *Put) VppInterface(v *interfaces.Interface) *Put { p.r.put(v); return p }

// LinuxInterface puts an interface of Linux.
func (p *Put) LinuxInterface(v *linuxinterfaces.Interface) *Put { p.r.put(v); return p }

// LinuxArpEntry puts a static neighbour of Linux.
func (p *Put) LinuxArpEntry(v *linuxl3.ARPEntry) *Put { p.r.put(v); return p }

// LinuxRoute puts a route of Linux.
func (p *Put) LinuxRoute(v *linuxl3.Route) *Put { p.r.put(v); return p }

// IptablesRuleChain puts a chain of packet filter rules of Linux.
func (p *Put) IptablesRuleChain(v *iptables.RuleChain) *Put { p.r.put(v); return p }
