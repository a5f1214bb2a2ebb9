package vppcalls

import (
	"context"

	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/l2"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

var (
	createSubif = session.Require("interface SUB_INTERFACE", "",
		(*interfaces.CreateVlanSubif)(nil), (*interfaces.CreateVlanSubifReply)(nil))
	rewriteTags = session.Require("interface SUB_INTERFACE: tag rewrite", "",
		(*l2.L2InterfaceVlanTagRewrite)(nil), (*l2.L2InterfaceVlanTagRewriteReply)(nil))
)

// TagRewrite is what happens to the VLAN tags of received frames, and the
// reverse to those that are sent. The zero value is nothing.
type TagRewrite struct {
	// Op is the operation in the numbers of VPP, 0 for none.
	Op uint32
	// Dot1q: the first tag that is put on is an 802.1Q one, else 802.1ad.
	Dot1q bool
	// Tag1 and Tag2 are the VLANs of the tags that are put on.
	Tag1, Tag2 uint32
}

// CreateSubif creates the sub-interface of parent for frames with exactly one
// VLAN tag. The error is api.VLAN_ALREADY_EXISTS if there is one.
func (c *Calls) CreateSubif(ctx context.Context, parent, vlan uint32) (swIfIndex uint32, err error) {
	reply := &interfaces.CreateVlanSubifReply{}
	err = c.call(ctx, createSubif, &interfaces.CreateVlanSubif{
		SwIfIndex: interface_types.InterfaceIndex(parent), VlanID: vlan,
	}, reply)
	return uint32(reply.SwIfIndex), err
}

// DeleteSubif deletes a sub-interface. If it does not exist, that is a success.
func (c *Calls) DeleteSubif(ctx context.Context, swIfIndex uint32) error {
	return c.remove(ctx, &interfaces.DeleteSubif{SwIfIndex: interface_types.InterfaceIndex(swIfIndex)}, &interfaces.DeleteSubifReply{})
}

// SetTagRewrite sets what happens to VLAN tags.
func (c *Calls) SetTagRewrite(ctx context.Context, swIfIndex uint32, r TagRewrite) error {
	req := &l2.L2InterfaceVlanTagRewrite{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex), VtrOp: r.Op, Tag1: r.Tag1, Tag2: r.Tag2,
	}
	if r.Dot1q {
		req.PushDot1q = 1
	}
	return c.call(ctx, rewriteTags, req, &l2.L2InterfaceVlanTagRewriteReply{})
}
