package vppcalls

import (
	"context"

	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

var createLoopback = session.Require(&Operations, "interface SOFTWARE_LOOPBACK", "",
	(*interfaces.CreateLoopback)(nil), (*interfaces.CreateLoopbackReply)(nil))

// CreateLoopback creates a loopback with the address.
func (c *Calls) CreateLoopback(ctx context.Context, mac MAC) (swIfIndex uint32, err error) {
	reply := &interfaces.CreateLoopbackReply{}
	if err := c.call(ctx, createLoopback, &interfaces.CreateLoopback{MacAddress: mac}, reply); err != nil {
		return NoInterface, err
	}
	return uint32(reply.SwIfIndex), nil
}

// DeleteLoopback deletes a loopback. If it does not exist, that is a success.
func (c *Calls) DeleteLoopback(ctx context.Context, swIfIndex uint32) error {
	err := c.vpp.Call(ctx, &interfaces.DeleteLoopback{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex),
	}, &interfaces.DeleteLoopbackReply{})
	if session.Gone(err) {
		return nil
	}
	return err
}

// IsLoopbackName reports whether VPP gave the name to a loopback.
func IsLoopbackName(internalName string) bool {
	return len(internalName) > len(loopbackPrefix) && internalName[:len(loopbackPrefix)] == loopbackPrefix
}

// loopbackPrefix is how VPP names loopbacks ("loop0").
const loopbackPrefix = "loop"
