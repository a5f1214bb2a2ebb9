package vnet

import (
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/af_packet"
	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/interface_types"
)

const afPacketDevice = "af-packet"

// afPackets are the AF_PACKET interfaces.
type afPackets struct {
	*VNet
	kind[string] // the name of the host interface
}

func newAfPackets(n *VNet) feature { return &afPackets{VNet: n} }

func (as *afPackets) register(server *wire.Server) {
	handleCreate[af_packet.AfPacketCreateReply](server, func(req *af_packet.AfPacketCreate) (ifIndex, retval) {
		return as.createAFPacket(req.HostIfName, as.macOrRandom(req.HwAddr, req.UseRandomHwAddr), 1, true)
	})
	handleCreate[af_packet.AfPacketCreateV2Reply](server, func(req *af_packet.AfPacketCreateV2) (ifIndex, retval) {
		return as.createAFPacket(req.HostIfName, as.macOrRandom(req.HwAddr, req.UseRandomHwAddr), req.NumRxQueues, true)
	})
	handleCreate[af_packet.AfPacketCreateV3Reply](server, func(req *af_packet.AfPacketCreateV3) (ifIndex, retval) {
		if req.Mode != af_packet.AF_PACKET_API_MODE_ETHERNET && req.Mode != af_packet.AF_PACKET_API_MODE_IP {
			return noInterface, api.INVALID_VALUE
		}
		mac := as.macOrRandom(req.HwAddr, req.UseRandomHwAddr)
		return as.createAFPacket(req.HostIfName, mac, req.NumRxQueues, req.Mode == af_packet.AF_PACKET_API_MODE_ETHERNET)
	})
	handle[af_packet.AfPacketDeleteReply](server, as.deleteAFPacket)
	handle[af_packet.AfPacketSetL4CksumOffloadReply](server, func(*af_packet.AfPacketSetL4CksumOffload) retval {
		return ok // deprecated, without effect
	})
	wire.HandleDump(server, func(c *wire.Call, _ *af_packet.AfPacketDump) {
		for index, host := range as.of(noInterface) {
			c.Send(&af_packet.AfPacketDetails{SwIfIndex: index, HostIfName: *host})
		}
	})
}

func (as *afPackets) reset() { as.kind = kind[string]{} }

func (as *afPackets) on(host string) (instance uint32, has *made[string]) {
	return as.with(func(name *string) bool { return *name == host })
}

// hostPrefix begins the names of AF_PACKET interfaces.
const hostPrefix = "host-"

// createAFPacket makes host-<name>, link up. A second one on the same host
// interface is refused, with the index of the first.
func (as *afPackets) createAFPacket(host string, mac ethernet_types.MacAddress, queues uint16, ethernet bool) (ifIndex, retval) {
	if _, has := as.on(host); has != nil {
		return ifIndex(has.swIndex), api.IF_ALREADY_EXISTS
	}
	if as.cfg.HostInterface != nil && !as.cfg.HostInterface(host) {
		return 0, api.INVALID_INTERFACE
	}
	hw := &hwInterface{
		name: hostPrefix + host, device: afPacketDevice, ethernet: ethernet, anyFrame: true,
		rxQueues: makeQueues(queues, interface_types.RX_MODE_API_INTERRUPT),
	}
	if ethernet {
		hw.mac = mac
	}
	as.linkFollowsAdmin(hw)
	i := as.createHardware(hw)
	as.keep(i, &host)
	as.setLink(hw, true)
	return ifIndex(i.index), ok
}

func (as *afPackets) deleteAFPacket(req *af_packet.AfPacketDelete) retval {
	instance, has := as.on(req.HostIfName)
	if has == nil {
		return api.SYSCALL_ERROR_1
	}
	as.deleteHardware(as.ifs.at(has.swIndex).hw)
	as.remove(instance)
	return ok
}
