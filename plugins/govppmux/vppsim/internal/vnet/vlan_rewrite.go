package vnet

import (
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/l2"
)

// Operations of l2_interface_vlan_tag_rewrite.
const (
	vtrDisabled = iota
	vtrPush1
	vtrPush2
	vtrPop1
	vtrPop2
	vtrTranslate11
	vtrTranslate12
	vtrTranslate21
	vtrTranslate22
)

// tagRewrite is what happens to the VLAN tags of received frames.
type tagRewrite struct {
	op         uint32
	dot1q      bool
	tag1, tag2 uint16
}

// pops is how many tags an operation takes off, pushes how many it puts on.
func vtrPops(op uint32) int {
	switch op {
	case vtrPop1, vtrTranslate11, vtrTranslate12:
		return 1
	case vtrPop2, vtrTranslate21, vtrTranslate22:
		return 2
	}
	return 0
}

func vtrPushes(op uint32) int {
	switch op {
	case vtrPush1, vtrTranslate11, vtrTranslate21:
		return 1
	case vtrPush2, vtrTranslate12, vtrTranslate22:
		return 2
	}
	return 0
}

// configuredTags is how many tags a frame of the interface certainly has.
func (i *swInterface) configuredTags() int {
	flags := i.sub.flags
	switch {
	case !i.isSub, flags&subNoTags != 0, flags&subAnyOuter != 0:
		return 0
	case flags&subOneTag != 0:
		return 1
	case flags&subTwoTags == 0:
		return 0
	case flags&subAnyInner != 0:
		return 1
	}
	return 2
}

func (n *VNet) vlanTagRewrite(_ *wire.Call, req *l2.L2InterfaceVlanTagRewrite) *l2.L2InterfaceVlanTagRewriteReply {
	rv := ok
	switch i := n.byIndex(req.SwIfIndex); {
	case i == nil:
		rv = api.INVALID_SW_IF_INDEX
	case req.VtrOp > vtrTranslate22:
		rv = api.INVALID_VALUE
	case !i.hw.ethernet:
		rv = api.INVALID_INTERFACE
	case i.configuredTags() < vtrPops(req.VtrOp):
		rv = api.INVALID_VLAN_TAG_COUNT
		if old, exists := n.l2.rewrites[i.index]; exists {
			n.l2.rewrites[i.index] = tagRewrite{op: old.op} // VPP has forgotten the tags by then
		}
	case req.VtrOp == vtrDisabled:
		delete(n.l2.rewrites, i.index)
		i.l2.features &^= featVTR
	default:
		n.l2.rewrites[i.index] = newTagRewrite(req)
		i.l2.features |= featVTR
	}
	return &l2.L2InterfaceVlanTagRewriteReply{Retval: int32(rv)}
}

// newTagRewrite keeps of a request what its operation needs: the rest is not
// stored by VPP and reads back as zero.
func newTagRewrite(req *l2.L2InterfaceVlanTagRewrite) tagRewrite {
	r := tagRewrite{op: req.VtrOp}
	pushes := vtrPushes(req.VtrOp)
	if pushes > 0 {
		r.dot1q, r.tag1 = req.PushDot1q != 0, uint16(req.Tag1)
	}
	if pushes > 1 {
		r.tag2 = uint16(req.Tag2)
	}
	return r
}
