package vnet

import (
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	interfaces_api "go.fd.io/govpp/binapi/interface"
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

// vlanRewrites are the tag rewrites of the interfaces in L2.
type vlanRewrites struct {
	*VNet
	byInterface map[uint32]tagRewrite // deleted ones included
}

func newVlanRewrites(n *VNet) feature { return &vlanRewrites{VNet: n} }

func (rs *vlanRewrites) register(server *wire.Server) {
	handle[l2.L2InterfaceVlanTagRewriteReply](server, rs.vlanTagRewrite)
}

func (rs *vlanRewrites) reset() { rs.byInterface = make(map[uint32]tagRewrite) }

func (rs *vlanRewrites) leftL2(index uint32) { delete(rs.byInterface, index) }

func (rs *vlanRewrites) interfaceDetails(d *interfaces_api.SwInterfaceDetails, i *swInterface) {
	r, exists := rs.byInterface[i.index]
	if !exists || !i.hw.ethernet {
		return
	}
	d.VtrOp, d.VtrTag1, d.VtrTag2 = r.op, uint32(r.tag1), uint32(r.tag2)
	if r.dot1q {
		d.VtrPushDot1q = 1
	}
}

func (rs *vlanRewrites) dumpInterface(b *strings.Builder, i *swInterface) {
	if r, exists := rs.byInterface[i.index]; exists {
		fmt.Fprintf(b, "  rewrite %d dot1q %t tags %d %d\n", r.op, r.dot1q, r.tag1, r.tag2)
	}
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

func (rs *vlanRewrites) vlanTagRewrite(req *l2.L2InterfaceVlanTagRewrite) retval {
	switch i := rs.byIndex(req.SwIfIndex); {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case req.VtrOp > vtrTranslate22:
		return api.INVALID_VALUE
	case !i.hw.ethernet:
		return api.INVALID_INTERFACE
	case i.configuredTags() < vtrPops(req.VtrOp):
		if old, exists := rs.byInterface[i.index]; exists {
			rs.byInterface[i.index] = tagRewrite{op: old.op} // VPP has forgotten the tags by then
		}
		return api.INVALID_VLAN_TAG_COUNT
	case req.VtrOp == vtrDisabled:
		delete(rs.byInterface, i.index)
		i.l2.features &^= featVTR
	default:
		rs.byInterface[i.index] = newTagRewrite(req)
		i.l2.features |= featVTR
	}
	return ok
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
