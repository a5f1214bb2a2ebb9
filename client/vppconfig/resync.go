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

// Resync collects all items that the client wants.
type Resync struct{ r *Request }

// Send makes the items the whole configuration of the local clients: others
// that they put before, of whatever type, are removed.
func (s *Resync) Send() Reply { return s.r.replace() }

// Interface adds an interface.
func (s *Resync) Interface(v *interfaces.Interface) *Resync { s.r.put(v); return s }

// Span adds a port mirroring.
func (s *Resync) Span(v *interfaces.Span) *Resync { s.r.put(v); return s }

// ACL adds an access list.
func (s *Resync) ACL(v *acl.ACL) *Resync { s.r.put(v); return s }

// ABF adds an ACL-based forwarding.
func (s *Resync) ABF(v *abf.ABF) *Resync { s.r.put(v); return s }

// BD adds a bridge domain.
func (s *Resync) BD(v *l2.BridgeDomain) *Resync { s.r.put(v); return s }

// BDFIB adds an entry of the forwarding table of a bridge domain.
func (s *Resync) BDFIB(v *l2.FIBEntry) *Resync { s.r.put(v); return s }

// XConnect adds a cross-connect.
func (s *Resync) XConnect(v *l2.XConnectPair) *Resync { s.r.put(v); return s }

// VrfTable adds a VRF table.
func (s *Resync) VrfTable(v *l3.VrfTable) *Resync { s.r.put(v); return s }

// StaticRoute adds a route.
func (s *Resync) StaticRoute(v *l3.Route) *Resync { s.r.put(v); return s }

// Arp adds a static neighbour.
func (s *Resync) Arp(v *l3.ARPEntry) *Resync { s.r.put(v); return s }

// ProxyArp adds the proxy ARP.
func (s *Resync) ProxyArp(v *l3.ProxyARP) *Resync { s.r.put(v); return s }

// IPScanNeighbor adds the scanning of neighbours.
func (s *Resync) IPScanNeighbor(v *l3.IPScanNeighbor) *Resync { s.r.put(v); return s }

// DHCPProxy adds a DHCP proxy.
func (s *Resync) DHCPProxy(v *l3.DHCPProxy) *Resync { s.r.put(v); return s }

// L3XConnect adds a cross-connect in layer 3.
func (s *Resync) L3XConnect(v *l3.L3XConnect) *Resync { s.r.put(v); return s }

// TeibEntry adds an entry of the tunnel endpoint table.
func (s *Resync) TeibEntry(v *l3.TeibEntry) *Resync { s.r.put(v); return s }

// VRRP adds a virtual router.
func (s *Resync) VRRP(v *l3.VRRPEntry) *Resync { s.r.put(v); return s }

// StnRule adds a steal-the-NIC rule.
func (s *Resync) StnRule(v *stn.Rule) *Resync { s.r.put(v); return s }

// NAT44Global adds the global NAT44 settings.
func (s *Resync) NAT44Global(v *nat.Nat44Global) *Resync { s.r.put(v); return s }

// DNAT44 adds a destination NAT.
func (s *Resync) DNAT44(v *nat.DNat44) *Resync { s.r.put(v); return s }

// NAT44Interface adds the NAT44 of an interface.
func (s *Resync) NAT44Interface(v *nat.Nat44Interface) *Resync { s.r.put(v); return s }

// NAT44AddressPool adds a pool of NAT44 addresses.
func (s *Resync) NAT44AddressPool(v *nat.Nat44AddressPool) *Resync { s.r.put(v); return s }

// NAT44VrfTable adds a VRF table of NAT44.
func (s *Resync) NAT44VrfTable(v *nat.Nat44VrfTable) *Resync { s.r.put(v); return s }

// NAT44VrfRoute adds a route between VRF tables of NAT44.
func (s *Resync) NAT44VrfRoute(v *nat.Nat44VrfRoute) *Resync { s.r.put(v); return s }

// IPSecSPD adds a security policy database.
func (s *Resync) IPSecSPD(v *ipsec.SecurityPolicyDatabase) *Resync { s.r.put(v); return s }

// IPSecSP adds a security policy.
func (s *Resync) IPSecSP(v *ipsec.SecurityPolicy) *Resync { s.r.put(v); return s }

// IPSecSA adds a security association.
func (s *Resync) IPSecSA(v *ipsec.SecurityAssociation) *Resync { s.r.put(v); return s }

// IPSecTunnelProtection adds the protection of a tunnel.
func (s *Resync) IPSecTunnelProtection(v *ipsec.TunnelProtection) *Resync { s.r.put(v); return s }

// PuntIPRedirect adds a redirection of IP traffic.
func (s *Resync) PuntIPRedirect(v *punt.IPRedirect) *Resync { s.r.put(v); return s }

// PuntToHost adds a punt to the host.
func (s *Resync) PuntToHost(v *punt.ToHost) *Resync { s.r.put(v); return s }

// PuntException adds a punt of exceptions.
func (s *Resync) PuntException(v *punt.Exception) *Resync { s.r.put(v); return s }

// SRv6Global adds the global SRv6 settings.
func (s *Resync) SRv6Global(v *srv6.SRv6Global) *Resync { s.r.put(v); return s }

// LocalSID adds an SRv6 local SID.
func (s *Resync) LocalSID(v *srv6.LocalSID) *Resync { s.r.put(v); return s }

// SRv6Policy adds an SRv6 policy.
func (s *Resync) SRv6Policy(v *srv6.Policy) *Resync { s.r.put(v); return s }

// SRv6Steering adds an SRv6 steering.
func (s *Resync) SRv6Steering(v *srv6.Steering) *Resync { s.r.put(v); return s }

// IPFIX adds the export of flows.
func (s *Resync) IPFIX(v *ipfix.IPFIX) *Resync { s.r.put(v); return s }

// FlowprobeParams adds the parameters of flow probes.
func (s *Resync) FlowprobeParams(v *ipfix.FlowProbeParams) *Resync { s.r.put(v); return s }

// FlowprobeFeature adds the flow probe of an interface.
func (s *Resync) FlowprobeFeature(v *ipfix.FlowProbeFeature) *Resync { s.r.put(v); return s }

// DNSCache adds the DNS cache.
func (s *Resync) DNSCache(v *dns.DNSCache) *Resync { s.r.put(v); return s }

// WgPeer adds a WireGuard peer.
func (s *Resync) WgPeer(v *wireguard.Peer) *Resync { s.r.put(v); return s }

// Item adds an item of any model, also of those that have no method of their own.
func (s *Resync) Item(v proto.Message) *Resync { s.r.put(v); return s }

// VppInterface adds an interface of VPP, as Interface does.
func (s *Resync) VppInterface(v *interfaces.Interface) *Resync { s.r.put(v); return s }

// LinuxInterface adds an interface of Linux.
func (s *Resync) LinuxInterface(v *linuxinterfaces.Interface) *Resync { s.r.put(v); return s }

// LinuxArpEntry adds a static neighbour of Linux.
func (s *Resync) LinuxArpEntry(v *linuxl3.ARPEntry) *Resync { s.r.put(v); return s }

// LinuxRoute adds a route of Linux.
func (s *Resync) LinuxRoute(v *linuxl3.Route) *Resync { s.r.put(v); return s }

// IptablesRuleChain adds a chain of packet filter rules of Linux.
func (s *Resync) IptablesRuleChain(v *iptables.RuleChain) *Resync { s.r.put(v); return s }
