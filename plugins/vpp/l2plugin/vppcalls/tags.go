package vppcalls

import (
	"context"
	"errors"

	"go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/l2"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// leave takes an interface out of layer 2 with a request. VPP then forgets the rewriting of
// its VLAN tags (set_int_l2_mode in src/vnet/l2/l2_input.c). The next bridge domain needs it,
// so if the interface is tagged, leave sets it again, and the features of layer 2 as well.
func (c *Calls) leave(ctx context.Context, index ifIndex, tagged bool, req, reply api.Message) (err error) {
	var found []*interfaces.SwInterfaceDetails
	if tagged {
		found, err = session.Dump[*interfaces.SwInterfaceDetails](ctx, c.vpp, &interfaces.SwInterfaceDump{SwIfIndex: index})
	}
	if err == nil {
		err = c.vpp.Call(ctx, req, reply)
	}
	if err != nil {
		return err
	}
	for _, d := range found {
		if d.SwIfIndex != index || d.VtrOp == 0 {
			continue
		}
		err := c.vpp.Call(ctx, &l2.L2InterfaceVlanTagRewrite{
			SwIfIndex: index, VtrOp: d.VtrOp, PushDot1q: uint32(d.VtrPushDot1q), Tag1: d.VtrTag1, Tag2: d.VtrTag2,
		}, &l2.L2InterfaceVlanTagRewriteReply{})
		if err != nil && !session.Gone(err) {
			return err
		}
	}
	return c.vpp.LeftLayer2(ctx, uint32(index))
}

// clearRewrite ends a rewrite of VLAN tags that VPP has kept on an index since before its
// interface existed. Interfaces without Ethernet frames have none.
func (c *Calls) clearRewrite(ctx context.Context, index ifIndex) error {
	err := c.vpp.Call(ctx, &l2.L2InterfaceVlanTagRewrite{SwIfIndex: index}, &l2.L2InterfaceVlanTagRewriteReply{})
	if errors.Is(err, api.INVALID_INTERFACE) {
		return nil
	}
	return err
}
