package vnet

import (
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/af_packet"
	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/interface_types"
)

const afPacketDevice = "af-packet"

// afPacket is an interface attached to a host interface; the host name is its key.
type afPacket struct {
	swIndex uint32
	host    string
}

func (n *VNet) handleAFPackets() {
	wire.Handle(n.server, func(_ *wire.Call, req *af_packet.AfPacketCreate) *af_packet.AfPacketCreateReply {
		index, rv := n.createAFPacket(req.HostIfName, n.macOrRandom(req.HwAddr, req.UseRandomHwAddr), 1, true)
		return &af_packet.AfPacketCreateReply{Retval: int32(rv), SwIfIndex: index}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *af_packet.AfPacketCreateV2) *af_packet.AfPacketCreateV2Reply {
		index, rv := n.createAFPacket(req.HostIfName, n.macOrRandom(req.HwAddr, req.UseRandomHwAddr), req.NumRxQueues, true)
		return &af_packet.AfPacketCreateV2Reply{Retval: int32(rv), SwIfIndex: index}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *af_packet.AfPacketCreateV3) *af_packet.AfPacketCreateV3Reply {
		if req.Mode != af_packet.AF_PACKET_API_MODE_ETHERNET && req.Mode != af_packet.AF_PACKET_API_MODE_IP {
			return &af_packet.AfPacketCreateV3Reply{
				Retval: int32(api.INVALID_VALUE), SwIfIndex: interface_types.InterfaceIndex(none),
			}
		}
		mac := n.macOrRandom(req.HwAddr, req.UseRandomHwAddr)
		index, rv := n.createAFPacket(req.HostIfName, mac, req.NumRxQueues, req.Mode == af_packet.AF_PACKET_API_MODE_ETHERNET)
		return &af_packet.AfPacketCreateV3Reply{Retval: int32(rv), SwIfIndex: index}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *af_packet.AfPacketDelete) *af_packet.AfPacketDeleteReply {
		return &af_packet.AfPacketDeleteReply{Retval: int32(n.deleteAFPacket(req.HostIfName))}
	})
	wire.Handle(n.server, func(*wire.Call, *af_packet.AfPacketSetL4CksumOffload) *af_packet.AfPacketSetL4CksumOffloadReply {
		return &af_packet.AfPacketSetL4CksumOffloadReply{} // deprecated, without effect
	})
	wire.HandleDump(n.server, func(c *wire.Call, _ *af_packet.AfPacketDump) {
		for _, a := range n.ifs.afPackets.all() {
			c.Send(&af_packet.AfPacketDetails{
				SwIfIndex: interface_types.InterfaceIndex(a.swIndex), HostIfName: a.host,
			})
		}
	})
}

// macOrRandom returns the MAC address asked for, or one of VPP's random ones.
func (n *VNet) macOrRandom(mac ethernet_types.MacAddress, random bool) ethernet_types.MacAddress {
	if random {
		return n.randomMAC()
	}
	return mac
}

// createAFPacket makes host-<name>, link up. A second one on the same host
// interface is refused, with the index of the first.
func (n *VNet) createAFPacket(host string, mac ethernet_types.MacAddress, queues uint16, ethernet bool) (interface_types.InterfaceIndex, api.VPPApiError) {
	if instance, exists := n.ifs.afByHost[host]; exists {
		return interface_types.InterfaceIndex(n.ifs.afPackets.at(instance).swIndex), api.IF_ALREADY_EXISTS
	}
	if n.cfg.HostInterface != nil && !n.cfg.HostInterface(host) {
		return 0, api.INVALID_INTERFACE
	}
	hw := &hwInterface{
		name: "host-" + host, device: afPacketDevice, ethernet: ethernet, anyFrame: true,
		rxQueues: makeQueues(queues, interface_types.RX_MODE_API_INTERRUPT),
	}
	if ethernet {
		hw.mac = mac
	}
	hw.adminChanged = func(up bool) { n.setLink(hw, up) }
	i := n.createHardware(hw)
	hw.instance = n.ifs.afPackets.add(&afPacket{swIndex: i.index, host: host})
	n.ifs.afByHost[host] = hw.instance
	n.setLink(hw, true)
	return interface_types.InterfaceIndex(i.index), ok
}

func (n *VNet) deleteAFPacket(host string) api.VPPApiError {
	instance, exists := n.ifs.afByHost[host]
	if !exists {
		return api.SYSCALL_ERROR_1
	}
	n.deleteHardware(n.ifs.at(n.ifs.afPackets.at(instance).swIndex).hw)
	n.ifs.afPackets.remove(instance)
	delete(n.ifs.afByHost, host)
	return ok
}

// randomMAC makes up an address of the form VPP makes up, the same sequence after
// each start.
func (n *VNet) randomMAC() ethernet_types.MacAddress {
	n.ifs.macSeed = n.ifs.macSeed*1664525 + 1013904223
	s := n.ifs.macSeed
	return ethernet_types.MacAddress{2, 0xfe, byte(s), byte(s >> 8), byte(s >> 16), byte(s >> 24)}
}
