package vppcalls

import (
	"go.fd.io/govpp/binapi/af_packet"
	"go.fd.io/govpp/binapi/bond"
	"go.fd.io/govpp/binapi/dhcp"
	"go.fd.io/govpp/binapi/gre"
	"go.fd.io/govpp/binapi/gtpu"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/ipip"
	"go.fd.io/govpp/binapi/ipsec"
	"go.fd.io/govpp/binapi/l2"
	"go.fd.io/govpp/binapi/memif"
	"go.fd.io/govpp/binapi/rd_cp"
	"go.fd.io/govpp/binapi/rdma"
	"go.fd.io/govpp/binapi/span"
	"go.fd.io/govpp/binapi/tapv2"
	"go.fd.io/govpp/binapi/vmxnet3"
	"go.fd.io/govpp/binapi/vxlan"
	"go.fd.io/govpp/binapi/vxlan_gpe"
	"go.fd.io/govpp/binapi/wireguard"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
)

// Capabilities are what the types of interfaces, and what is derived from
// interfaces, need of VPP. A name that ends with ":" and more words is a part of
// another item.
func Capabilities() []binding.Capability {
	return append(linkCapabilities(), []binding.Capability{
		binding.Need("interface: addresses", "",
			(*interfaces.SwInterfaceAddDelAddress)(nil), (*interfaces.SwInterfaceAddDelAddressReply)(nil)),
		binding.Need("interface: VRF", "", (*interfaces.SwInterfaceSetTable)(nil), (*interfaces.SwInterfaceSetTableReply)(nil)),
		binding.Need("interface: unnumbered", "",
			(*interfaces.SwInterfaceSetUnnumbered)(nil), (*interfaces.SwInterfaceSetUnnumberedReply)(nil)),
		binding.Need("interface: DHCP client", "dhcp", (*dhcp.DHCPClientConfig)(nil), (*dhcp.DHCPClientConfigReply)(nil)),
		binding.Need("interface: IPv6 ND", "",
			(*rd_cp.IP6NdAddressAutoconfig)(nil), (*rd_cp.IP6NdAddressAutoconfigReply)(nil)),
		binding.Need("interface: rx modes", "", (*interfaces.SwInterfaceSetRxMode)(nil), (*interfaces.SwInterfaceSetRxModeReply)(nil)),
		binding.Need("interface: rx placement", "",
			(*interfaces.SwInterfaceSetRxPlacement)(nil), (*interfaces.SwInterfaceSetRxPlacementReply)(nil)),
		binding.Need("SPAN", "", (*span.SwInterfaceSpanEnableDisable)(nil), (*span.SwInterfaceSpanEnableDisableReply)(nil)),
	}...)
}

func linkCapabilities() []binding.Capability {
	return []binding.Capability{
		binding.Need("interface SOFTWARE_LOOPBACK", "", (*interfaces.CreateLoopback)(nil), (*interfaces.CreateLoopbackReply)(nil)),
		binding.Need("interface SUB_INTERFACE", "", (*interfaces.CreateVlanSubif)(nil), (*interfaces.CreateVlanSubifReply)(nil)),
		binding.Need("interface SUB_INTERFACE: tag rewrite", "",
			(*l2.L2InterfaceVlanTagRewrite)(nil), (*l2.L2InterfaceVlanTagRewriteReply)(nil)),
		binding.Need("interface MEMIF", "memif", (*memif.MemifCreateV2)(nil), (*memif.MemifCreateV2Reply)(nil)).
			Or((*memif.MemifCreate)(nil), (*memif.MemifCreateReply)(nil)),
		binding.Need("interface TAP", "tap", (*tapv2.TapCreateV3)(nil), (*tapv2.TapCreateV3Reply)(nil)).
			Or((*tapv2.TapCreateV2)(nil), (*tapv2.TapCreateV2Reply)(nil)),
		binding.Need("interface AF_PACKET", "af_packet", (*af_packet.AfPacketCreateV3)(nil), (*af_packet.AfPacketCreateV3Reply)(nil)).
			Or((*af_packet.AfPacketCreateV2)(nil), (*af_packet.AfPacketCreateV2Reply)(nil)),
		binding.Need("interface VXLAN_TUNNEL", "vxlan", (*vxlan.VxlanAddDelTunnelV3)(nil), (*vxlan.VxlanAddDelTunnelV3Reply)(nil)).
			Or((*vxlan.VxlanAddDelTunnel)(nil), (*vxlan.VxlanAddDelTunnelReply)(nil)),
		binding.Need("interface VXLAN_TUNNEL: GPE", "vxlan-gpe",
			(*vxlan_gpe.VxlanGpeAddDelTunnelV2)(nil), (*vxlan_gpe.VxlanGpeAddDelTunnelV2Reply)(nil)).
			Or((*vxlan_gpe.VxlanGpeAddDelTunnel)(nil), (*vxlan_gpe.VxlanGpeAddDelTunnelReply)(nil)),
		binding.Need("interface IPSEC_TUNNEL", "", (*ipsec.IpsecItfCreate)(nil), (*ipsec.IpsecItfCreateReply)(nil)),
		binding.Need("interface VMXNET3_INTERFACE", "vmxnet3", (*vmxnet3.Vmxnet3Create)(nil), (*vmxnet3.Vmxnet3CreateReply)(nil)),
		binding.Need("interface BOND_INTERFACE", "", (*bond.BondCreate2)(nil), (*bond.BondCreate2Reply)(nil)),
		binding.Need("interface BOND_INTERFACE: members", "", (*bond.BondAddMember)(nil), (*bond.BondAddMemberReply)(nil)),
		binding.Need("interface GRE_TUNNEL", "gre", (*gre.GreTunnelAddDel)(nil), (*gre.GreTunnelAddDelReply)(nil)),
		// In the order of the variants: the second version crashes where it refuses.
		binding.Need("interface GTPU_TUNNEL", "gtpu", (*gtpu.GtpuAddDelTunnel)(nil), (*gtpu.GtpuAddDelTunnelReply)(nil)).
			Or((*gtpu.GtpuAddDelTunnelV2)(nil), (*gtpu.GtpuAddDelTunnelV2Reply)(nil)),
		binding.Need("interface IPIP_TUNNEL", "", (*ipip.IpipAddTunnel)(nil), (*ipip.IpipAddTunnelReply)(nil)),
		binding.Need("interface WIREGUARD_TUNNEL", "wireguard",
			(*wireguard.WireguardInterfaceCreate)(nil), (*wireguard.WireguardInterfaceCreateReply)(nil)),
		binding.Need("interface RDMA", "rdma", (*rdma.RdmaCreateV4)(nil), (*rdma.RdmaCreateV4Reply)(nil)).
			Or((*rdma.RdmaCreateV3)(nil), (*rdma.RdmaCreateV3Reply)(nil)),
	}
}
