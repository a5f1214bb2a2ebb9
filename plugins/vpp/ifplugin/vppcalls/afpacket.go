package vppcalls

import (
	"context"
	"strings"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/af_packet"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// afPacketPrefix is how VPP names an interface on a host interface.
const afPacketPrefix = "host-"

var createAfPacket = session.Declare("interface AF_PACKET", "af_packet",
	session.Variant(func(p af_packet.AfPacketCreateV3) (request, reply api.Message) {
		return &p, &af_packet.AfPacketCreateV3Reply{}
	}, (*af_packet.AfPacketCreateV3)(nil), (*af_packet.AfPacketCreateV3Reply)(nil), (*af_packet.AfPacketDump)(nil), (*af_packet.AfPacketDetails)(nil)),
	session.Variant(func(p af_packet.AfPacketCreateV3) (request, reply api.Message) {
		v2 := session.SameFields[af_packet.AfPacketCreateV2](&p)
		return &v2, &af_packet.AfPacketCreateV2Reply{}
	}, (*af_packet.AfPacketCreateV2)(nil), (*af_packet.AfPacketCreateV2Reply)(nil), (*af_packet.AfPacketDump)(nil), (*af_packet.AfPacketDetails)(nil)))

// CreateAfPacket attaches VPP to a host interface, in the namespace of VPP, which makes up the
// MAC address of its side if mac is nil. The error is api.IF_ALREADY_EXISTS if VPP is attached to
// it already.
func (c *Calls) CreateAfPacket(ctx context.Context, host string, mac *MAC) (swIfIndex uint32, err error) {
	create, err := createAfPacket.On(c.vpp)
	if err != nil {
		return NoInterface, err
	}
	p := af_packet.AfPacketCreateV3{
		Mode: af_packet.AF_PACKET_API_MODE_ETHERNET, UseRandomHwAddr: mac == nil, HostIfName: host, NumRxQueues: 1, NumTxQueues: 1,
	}
	if mac != nil {
		p.HwAddr = *mac
	}
	req, reply := create(p)
	err = c.vpp.Call(ctx, req, reply)
	return uint32(session.InterfaceIndex(reply)), err
}

// DeleteAfPacket detaches VPP from a host interface. If it is not attached,
// that is a success: VPP answers with SYSCALL_ERROR_1. VPP leaves the host
// interface down.
func (c *Calls) DeleteAfPacket(ctx context.Context, hostIfName string) error {
	return c.remove(ctx, &af_packet.AfPacketDelete{HostIfName: hostIfName}, &af_packet.AfPacketDeleteReply{}, api.SYSCALL_ERROR_1)
}

// DumpAfPackets returns the host interfaces that VPP is attached to, by the
// index of the VPP interface; none if the connected VPP has no such interfaces.
func (c *Calls) DumpAfPackets(ctx context.Context) (map[uint32]string, error) {
	found, err := session.DumpOf[*af_packet.AfPacketDetails](ctx, c.vpp, createAfPacket, &af_packet.AfPacketDump{})
	if err != nil {
		return nil, err
	}
	hosts := make(map[uint32]string, len(found))
	for _, d := range found {
		hosts[uint32(d.SwIfIndex)] = d.HostIfName
	}
	return hosts, nil
}

// AfPacketName is the name that VPP gives to the interface on a host
// interface.
func AfPacketName(hostIfName string) string { return afPacketPrefix + hostIfName }

// IsAfPacketName reports whether VPP gave the name to an AF_PACKET interface.
func IsAfPacketName(internalName string) bool { return strings.HasPrefix(internalName, afPacketPrefix) }
