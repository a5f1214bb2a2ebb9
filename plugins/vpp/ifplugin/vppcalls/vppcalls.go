// Package vppcalls translates operations on interfaces into messages of the VPP
// binary API, and chooses among the variants of a message which the connected
// VPP knows.
package vppcalls

import (
	"context"
	"errors"
	"fmt"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ethernet_types"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// NoInterface is the index that stands for no interface.
const NoInterface = ^uint32(0)

// MAC is an Ethernet address.
type MAC = ethernet_types.MacAddress

// Calls are the operations on interfaces. All methods may be called
// concurrently. Errors name the message and what VPP answered.
type Calls struct {
	vpp *session.VPP
}

// Operations are the operations of VPP that the types of interfaces and the derived values of
// interfaces need.
var Operations = session.Operations{
	setAddress, setTable, setUnnumbered, createAfPacket, createBond, addMember, dhcpClients, setIP6ND,
	createMemif, setRxModes, setRxPlacement, createSubif, rewriteTags,
}

// New returns the operations on the interfaces of a VPP.
func New(vpp *session.VPP) *Calls {
	return &Calls{vpp: vpp}
}

// call is Call for an operation that has one variant.
func (c *Calls) call(ctx context.Context, op *session.Operation[struct{}], req, reply api.Message) error {
	if err := op.Check(c.vpp); err != nil {
		return err
	}
	return c.vpp.Call(ctx, req, reply)
}

// remove is Call for a removal; if VPP answers that there is nothing to remove, that is a success.
func (c *Calls) remove(ctx context.Context, req, reply api.Message, gone ...api.VPPApiError) error {
	if err := c.vpp.Call(ctx, req, reply); !session.Gone(err, gone...) {
		return err
	}
	return nil
}

// watch calls each for the events of a type, until ctx ends or the session does. It calls start
// as soon as it misses none. Without error it has ended with ctx.
func watch[E api.Message](ctx context.Context, c *Calls, what string, start func(binapi.Client) error, each func(E)) error {
	s, err := c.vpp.Session()
	if err != nil {
		return err
	}
	var event E
	watch, err := s.Client.WatchEvent(ctx, event)
	if err != nil {
		return fmt.Errorf("watch %s events: %w", what, err)
	}
	defer watch.Close()
	if err := start(s.Client); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case m, ok := <-watch.Events():
			if !ok && ctx.Err() != nil {
				return nil
			}
			if !ok {
				return fmt.Errorf("%s events: %w", what, binapi.ErrDisconnected)
			}
			if e, ok := m.(E); ok {
				each(e)
			}
		}
	}
}

// SetTag stores the logical name of an interface in VPP.
func (c *Calls) SetTag(ctx context.Context, swIfIndex uint32, tag string) error {
	return c.vpp.Call(ctx, &interfaces.SwInterfaceTagAddDel{
		IsAdd: true, SwIfIndex: interface_types.InterfaceIndex(swIfIndex), Tag: tag,
	}, &interfaces.SwInterfaceTagAddDelReply{})
}

// RemoveTag removes the logical name. VPP itself removes it with the
// interface; this is for interfaces that stay.
func (c *Calls) RemoveTag(ctx context.Context, swIfIndex uint32) error {
	return c.vpp.Call(ctx, &interfaces.SwInterfaceTagAddDel{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex),
	}, &interfaces.SwInterfaceTagAddDelReply{})
}

// SetAdminState sets an interface administratively up or down.
func (c *Calls) SetAdminState(ctx context.Context, swIfIndex uint32, up bool) error {
	req := &interfaces.SwInterfaceSetFlags{SwIfIndex: interface_types.InterfaceIndex(swIfIndex)}
	if up {
		req.Flags = interface_types.IF_STATUS_API_FLAG_ADMIN_UP
	}
	return c.vpp.Call(ctx, req, &interfaces.SwInterfaceSetFlagsReply{})
}

// SetMAC sets the Ethernet address.
func (c *Calls) SetMAC(ctx context.Context, swIfIndex uint32, mac MAC) error {
	return c.vpp.Call(ctx, &interfaces.SwInterfaceSetMacAddress{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex), MacAddress: mac,
	}, &interfaces.SwInterfaceSetMacAddressReply{})
}

// SetMTU sets the largest payload of a frame, in bytes, and the largest IP packet.
// VPP derives the latter, but not from drivers without the former (loopbacks), and
// not where the frame had that size before. An interface without Ethernet, such as a memif
// of mode IP, has only the latter (FEATURE_DISABLED).
func (c *Calls) SetMTU(ctx context.Context, swIfIndex, mtu uint32) error {
	idx := interface_types.InterfaceIndex(swIfIndex)
	err := c.vpp.Call(ctx, &interfaces.HwInterfaceSetMtu{SwIfIndex: idx, Mtu: uint16(mtu)}, &interfaces.HwInterfaceSetMtuReply{})
	if err != nil && !errors.Is(err, api.UNSUPPORTED) && !errors.Is(err, api.FEATURE_DISABLED) {
		return err
	}
	return c.SetPacketMTU(ctx, swIfIndex, mtu)
}

// SetPacketMTU sets the largest IP packet, in bytes; 0 is the MTU of the device.
func (c *Calls) SetPacketMTU(ctx context.Context, swIfIndex, mtu uint32) error {
	packet := make([]uint32, 4) // for all protocols, and for IPv4, IPv6 and MPLS if different
	packet[mtuL3] = mtu
	return c.vpp.Call(ctx, &interfaces.SwInterfaceSetMtu{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex), Mtu: packet,
	}, &interfaces.SwInterfaceSetMtuReply{})
}

// mtuL3 is the place of the MTU for all protocols in lists of MTUs.
const mtuL3 = 0
