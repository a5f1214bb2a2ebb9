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

// Delete collects items to remove; the arguments are the fields that identify
// an item among the items of its type.
type Delete struct{ r *Request }

// Put continues with items to add or to change.
func (d *Delete) Put() *Put { return d.r.Put() }

// Send sends the request, see Request.Send.
func (d *Delete) Send() Reply { return d.r.Send() }

// Interface removes an interface.
func (d *Delete) Interface(name string) *Delete {
	d.r.remove(&interfaces.Interface{Name: name})
	return d
}

// Span removes a port mirroring.
func (d *Delete) Span(from, to string) *Delete {
	d.r.remove(&interfaces.Span{InterfaceFrom: from, InterfaceTo: to})
	return d
}

// ACL removes an access list.
func (d *Delete) ACL(name string) *Delete {
	d.r.remove(&acl.ACL{Name: name})
	return d
}

// ABF removes an ACL-based forwarding.
func (d *Delete) ABF(index uint32) *Delete {
	d.r.remove(&abf.ABF{Index: index})
	return d
}

// BD removes a bridge domain.
func (d *Delete) BD(name string) *Delete {
	d.r.remove(&l2.BridgeDomain{Name: name})
	return d
}

// BDFIB removes an entry of the forwarding table of a bridge domain.
func (d *Delete) BDFIB(bridgeDomain, mac string) *Delete {
	d.r.remove(&l2.FIBEntry{BridgeDomain: bridgeDomain, PhysAddress: mac})
	return d
}

// XConnect removes a cross-connect.
func (d *Delete) XConnect(receiveInterface string) *Delete {
	d.r.remove(&l2.XConnectPair{ReceiveInterface: receiveInterface})
	return d
}

// VrfTable removes a VRF table.
func (d *Delete) VrfTable(id uint32, protocol l3.VrfTable_Protocol) *Delete {
	d.r.remove(&l3.VrfTable{Id: id, Protocol: protocol})
	return d
}

// StaticRoute removes a route.
func (d *Delete) StaticRoute(iface string, vrf uint32, dstNetwork, nextHop string) *Delete {
	d.r.remove(&l3.Route{OutgoingInterface: iface, VrfId: vrf, DstNetwork: dstNetwork, NextHopAddr: nextHop})
	return d
}

// Arp removes a static neighbour.
func (d *Delete) Arp(iface, ipAddress string) *Delete {
	d.r.remove(&l3.ARPEntry{Interface: iface, IpAddress: ipAddress})
	return d
}

// ProxyArp removes the proxy ARP.
func (d *Delete) ProxyArp() *Delete {
	d.r.remove(&l3.ProxyARP{})
	return d
}

// IPScanNeighbor removes the scanning of neighbours.
func (d *Delete) IPScanNeighbor() *Delete {
	d.r.remove(&l3.IPScanNeighbor{})
	return d
}

// DHCPProxy removes a DHCP proxy.
func (d *Delete) DHCPProxy(sourceIP string, rxVrf uint32) *Delete {
	d.r.remove(&l3.DHCPProxy{SourceIpAddress: sourceIP, RxVrfId: rxVrf})
	return d
}

// L3XConnect removes a cross-connect in layer 3.
func (d *Delete) L3XConnect(iface string, protocol l3.L3XConnect_Protocol) *Delete {
	d.r.remove(&l3.L3XConnect{Interface: iface, Protocol: protocol})
	return d
}

// TeibEntry removes an entry of the tunnel endpoint table.
func (d *Delete) TeibEntry(iface, peer string) *Delete {
	d.r.remove(&l3.TeibEntry{Interface: iface, PeerAddr: peer})
	return d
}

// VRRP removes a virtual router.
func (d *Delete) VRRP(iface string, vrID uint32) *Delete {
	d.r.remove(&l3.VRRPEntry{Interface: iface, VrId: vrID})
	return d
}

// StnRule removes a steal-the-NIC rule.
func (d *Delete) StnRule(iface, ipAddress string) *Delete {
	d.r.remove(&stn.Rule{Interface: iface, IpAddress: ipAddress})
	return d
}

// NAT44Global removes the global NAT44 settings.
func (d *Delete) NAT44Global() *Delete {
	d.r.remove(&nat.Nat44Global{})
	return d
}

// DNAT44 removes a destination NAT.
func (d *Delete) DNAT44(label string) *Delete {
	d.r.remove(&nat.DNat44{Label: label})
	return d
}

// NAT44Interface removes the NAT44 of an interface.
func (d *Delete) NAT44Interface(name string) *Delete {
	d.r.remove(&nat.Nat44Interface{Name: name})
	return d
}

// NAT44AddressPool removes a pool of NAT44 addresses.
func (d *Delete) NAT44AddressPool(name string, vrf uint32, firstIP, lastIP string) *Delete {
	d.r.remove(&nat.Nat44AddressPool{Name: name, VrfId: vrf, FirstIp: firstIP, LastIp: lastIP})
	return d
}

// NAT44VrfTable removes a VRF table of NAT44.
func (d *Delete) NAT44VrfTable(srcVrf uint32) *Delete {
	d.r.remove(&nat.Nat44VrfTable{SrcVrfId: srcVrf})
	return d
}

// NAT44VrfRoute removes a route between VRF tables of NAT44.
func (d *Delete) NAT44VrfRoute(srcVrf, dstVrf uint32) *Delete {
	d.r.remove(&nat.Nat44VrfRoute{SrcVrfId: srcVrf, DestVrfId: dstVrf})
	return d
}

// IPSecSPD removes a security policy database.
func (d *Delete) IPSecSPD(index uint32) *Delete {
	d.r.remove(&ipsec.SecurityPolicyDatabase{Index: index})
	return d
}

// IPSecSP removes a security policy; the fields of its key matter.
func (d *Delete) IPSecSP(v *ipsec.SecurityPolicy) *Delete { d.r.remove(v); return d }

// IPSecSA removes a security association.
func (d *Delete) IPSecSA(index uint32) *Delete {
	d.r.remove(&ipsec.SecurityAssociation{Index: index})
	return d
}

// IPSecTunnelProtection removes the protection of a tunnel.
func (d *Delete) IPSecTunnelProtection(iface, nextHop string) *Delete {
	d.r.remove(&ipsec.TunnelProtection{Interface: iface, NextHopAddr: nextHop})
	return d
}

// PuntIPRedirect removes a redirection of IP traffic.
func (d *Delete) PuntIPRedirect(protocol punt.L3Protocol, txInterface string) *Delete {
	d.r.remove(&punt.IPRedirect{L3Protocol: protocol, TxInterface: txInterface})
	return d
}

// PuntToHost removes a punt to the host.
func (d *Delete) PuntToHost(l3Protocol punt.L3Protocol, l4Protocol punt.L4Protocol, port uint32) *Delete {
	d.r.remove(&punt.ToHost{L3Protocol: l3Protocol, L4Protocol: l4Protocol, Port: port})
	return d
}

// PuntException removes a punt of exceptions.
func (d *Delete) PuntException(reason string) *Delete {
	d.r.remove(&punt.Exception{Reason: reason})
	return d
}

// SRv6Global removes the global SRv6 settings.
func (d *Delete) SRv6Global() *Delete {
	d.r.remove(&srv6.SRv6Global{})
	return d
}

// LocalSID removes an SRv6 local SID.
func (d *Delete) LocalSID(sid string) *Delete {
	d.r.remove(&srv6.LocalSID{Sid: sid})
	return d
}

// SRv6Policy removes an SRv6 policy.
func (d *Delete) SRv6Policy(bsid string) *Delete {
	d.r.remove(&srv6.Policy{Bsid: bsid})
	return d
}

// SRv6Steering removes an SRv6 steering.
func (d *Delete) SRv6Steering(name string) *Delete {
	d.r.remove(&srv6.Steering{Name: name})
	return d
}

// IPFIX removes the export of flows.
func (d *Delete) IPFIX() *Delete {
	d.r.remove(&ipfix.IPFIX{})
	return d
}

// FlowprobeParams removes the parameters of flow probes.
func (d *Delete) FlowprobeParams() *Delete {
	d.r.remove(&ipfix.FlowProbeParams{})
	return d
}

// FlowprobeFeature removes the flow probe of an interface.
func (d *Delete) FlowprobeFeature(iface string) *Delete {
	d.r.remove(&ipfix.FlowProbeFeature{Interface: iface})
	return d
}

// DNSCache removes the DNS cache.
func (d *Delete) DNSCache() *Delete {
	d.r.remove(&dns.DNSCache{})
	return d
}

// WgPeer removes a WireGuard peer.
func (d *Delete) WgPeer(iface, endpoint string, port uint32) *Delete {
	d.r.remove(&wireguard.Peer{WgIfName: iface, Endpoint: endpoint, Port: port})
	return d
}

// Item removes an item of any model; of its fields only those are used that its key has.
func (d *Delete) Item(v proto.Message) *Delete { d.r.remove(v); return d }

// VppInterface removes an interface of VPP, as Interface does.
func (d *Delete) VppInterface(name string) *Delete { return d.Interface(name) }

// LinuxInterface removes an interface of Linux.
func (d *Delete) LinuxInterface(name string) *Delete {
	d.r.remove(&linuxinterfaces.Interface{Name: name})
	return d
}

// LinuxArpEntry removes a static neighbour of Linux.
func (d *Delete) LinuxArpEntry(iface, ipAddress string) *Delete {
	d.r.remove(&linuxl3.ARPEntry{Interface: iface, IpAddress: ipAddress})
	return d
}

// LinuxRoute removes a route of Linux, of the table of its interface.
func (d *Delete) LinuxRoute(dstNetwork, iface string) *Delete {
	d.r.remove(&linuxl3.Route{DstNetwork: dstNetwork, OutgoingInterface: iface})
	return d
}

// IptablesRuleChain removes a chain of packet filter rules of Linux.
func (d *Delete) IptablesRuleChain(name string) *Delete {
	d.r.remove(&iptables.RuleChain{Name: name})
	return d
}
