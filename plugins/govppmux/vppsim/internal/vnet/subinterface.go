package vnet

import (
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	interfaces_api "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
)

// Shorter names for the flags that say which frames belong to a sub-interface.
const (
	subNoTags     = interface_types.SUB_IF_API_FLAG_NO_TAGS
	subOneTag     = interface_types.SUB_IF_API_FLAG_ONE_TAG
	subTwoTags    = interface_types.SUB_IF_API_FLAG_TWO_TAGS
	subDot1ad     = interface_types.SUB_IF_API_FLAG_DOT1AD
	subExactMatch = interface_types.SUB_IF_API_FLAG_EXACT_MATCH
	subDefault    = interface_types.SUB_IF_API_FLAG_DEFAULT
	subAnyOuter   = interface_types.SUB_IF_API_FLAG_OUTER_VLAN_ID_ANY
	subAnyInner   = interface_types.SUB_IF_API_FLAG_INNER_VLAN_ID_ANY
)

const maxVLAN = 4095

// subInterface is what makes a sub-interface: which tagged frames belong to it.
type subInterface struct {
	id           uint32
	flags        interface_types.SubIfFlags
	outer, inner uint16
}

// tagMatch identifies the frames of a sub-interface among those of its device; no
// two sub-interfaces may have the same.
type tagMatch struct {
	tags         int // -1: the default, all that match nothing else
	dot1ad       bool
	outer, inner uint16
	anyInner     bool
}

// exactMatch says whether only frames with exactly these tags belong to it.
func (s *subInterface) exactMatch() bool { return s.flags&subExactMatch != 0 }

// match returns the frames that the flags and VLANs select; false for combinations
// that VPP does not implement. Untagged frames always belong to the device itself.
func (s *subInterface) match() (tagMatch, bool) {
	m := tagMatch{dot1ad: s.flags&subDot1ad != 0, outer: s.outer}
	switch {
	case s.flags&subDefault != 0:
		return tagMatch{tags: -1}, true
	case s.flags&subNoTags != 0, s.flags == 0:
		return tagMatch{}, false
	case s.flags&subOneTag != 0:
		m.tags = 1
		return m, s.flags&subAnyOuter == 0
	}
	m.tags = 2
	if s.flags&subAnyInner != 0 {
		m.anyInner = true
		return m, s.flags&(subAnyOuter|subExactMatch) == 0
	}
	m.inner = s.inner
	return m, s.flags&subAnyOuter == 0 || s.flags&subExactMatch == 0
}

// describe fills in the fields of the details that only sub-interfaces have.
func (s *subInterface) describe(d *interfaces_api.SwInterfaceDetails) {
	d.Type = interface_types.IF_API_TYPE_SUB
	d.SubID = s.id
	d.SubIfFlags = s.flags
	d.SubOuterVlanID = s.outer
	d.SubInnerVlanID = s.inner
	if s.flags&subOneTag != 0 {
		d.SubNumberOfTags++
	}
	if s.flags&subTwoTags != 0 {
		d.SubNumberOfTags += 2
	}
}

func (n *VNet) handleSubInterfaces() {
	wire.Handle(n.server, n.createVlanSubif)
	wire.Handle(n.server, n.createSubif)
	wire.Handle(n.server, n.deleteSubif)
}

// addSub makes a sub-interface, down and with all MTUs zero (that is: those of its
// device apply). It returns nil if VPP cannot have it; VPP's reply then carries the
// index that the sub-interface had for a moment.
func (n *VNet) addSub(hw *hwInterface, sub subInterface) *swInterface {
	want, possible := sub.match()
	if !possible {
		return nil
	}
	for _, index := range hw.subs {
		if has, _ := n.ifs.at(index).sub.match(); has == want {
			return nil
		}
	}
	i := &swInterface{hw: hw, isSub: true, sub: sub}
	i.index = n.ifs.add(i)
	hw.subs[sub.id] = i.index
	n.created(i)
	return i
}

func (n *VNet) createVlanSubif(_ *wire.Call, req *interfaces_api.CreateVlanSubif) *interfaces_api.CreateVlanSubifReply {
	reply := &interfaces_api.CreateVlanSubifReply{SwIfIndex: interface_types.InterfaceIndex(none)}
	parent := n.byIndex(req.SwIfIndex)
	rv := ok
	switch {
	case parent == nil:
		rv = api.INVALID_SW_IF_INDEX
	case req.VlanID == 0 || req.VlanID > maxVLAN:
		rv = api.INVALID_VLAN
	case n.hasSub(parent.hw, req.VlanID):
		rv = api.VLAN_ALREADY_EXISTS
	default:
		sub := subInterface{id: req.VlanID, flags: subOneTag | subExactMatch, outer: uint16(req.VlanID)}
		if i := n.addSub(parent.hw, sub); i == nil {
			rv = api.INVALID_REGISTRATION
			reply.SwIfIndex = interface_types.InterfaceIndex(n.ifs.next())
		} else {
			reply.SwIfIndex = interface_types.InterfaceIndex(i.index)
		}
	}
	reply.Retval = int32(rv)
	return reply
}

func (n *VNet) createSubif(_ *wire.Call, req *interfaces_api.CreateSubif) *interfaces_api.CreateSubifReply {
	reply := &interfaces_api.CreateSubifReply{SwIfIndex: interface_types.InterfaceIndex(none)}
	parent := n.byIndex(req.SwIfIndex)
	rv := ok
	switch {
	case parent == nil:
		rv = api.INVALID_SW_IF_INDEX
	case n.hasSub(parent.hw, req.SubID):
		rv = api.VLAN_ALREADY_EXISTS
	default:
		sub := subInterface{id: req.SubID, flags: req.SubIfFlags, outer: req.OuterVlanID, inner: req.InnerVlanID}
		if i := n.addSub(parent.hw, sub); i == nil {
			rv = api.UNSPECIFIED
			reply.SwIfIndex = interface_types.InterfaceIndex(n.ifs.next())
		} else {
			reply.SwIfIndex = interface_types.InterfaceIndex(i.index)
		}
	}
	reply.Retval = int32(rv)
	return reply
}

func (n *VNet) hasSub(hw *hwInterface, id uint32) bool {
	_, exists := hw.subs[id]
	return exists
}

func (n *VNet) deleteSubif(_ *wire.Call, req *interfaces_api.DeleteSubif) *interfaces_api.DeleteSubifReply {
	rv := ok
	switch i := n.byIndex(req.SwIfIndex); {
	case i == nil:
		rv = api.INVALID_SW_IF_INDEX
	case !i.isSub:
		rv = api.INVALID_SUB_SW_IF_INDEX
	default:
		delete(i.hw.subs, i.sub.id)
		n.deleteSoftware(i)
	}
	return &interfaces_api.DeleteSubifReply{Retval: int32(rv)}
}
