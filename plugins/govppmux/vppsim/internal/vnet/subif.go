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

// subif is what makes a sub-interface: which tagged frames belong to it.
type subif struct {
	id           uint32
	flags        interface_types.SubIfFlags
	outer, inner uint16
}

// tagMatch identifies the frames of a sub-interface among the frames of its
// device; no two sub-interfaces may have the same.
type tagMatch struct {
	tags         int // -1: the default, all that match nothing else
	dot1ad       bool
	outer, inner uint16
	anyInner     bool
}

// exactMatch says whether only frames with exactly these tags belong to it.
func (s *subif) exactMatch() bool { return s.flags&subExactMatch != 0 }

// match returns the frames that the flags and VLANs select; false for combinations
// that VPP does not implement. Untagged frames always belong to the device itself.
func (s *subif) match() (tagMatch, bool) {
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
func (s *subif) describe(d *interfaces_api.SwInterfaceDetails) {
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

// subifs are the messages of sub-interfaces; the interfaces have the state.
type subifs struct{ *VNet }

func newSubifs(n *VNet) feature { return &subifs{VNet: n} }

func (ss *subifs) register(server *wire.Server) {
	handleCreate[interfaces_api.CreateVlanSubifReply](server, ss.createVlanSubif)
	handleCreate[interfaces_api.CreateSubifReply](server, ss.createSubif)
	handle[interfaces_api.DeleteSubifReply](server, ss.deleteSubif)
}

func (ss *subifs) reset() {}

// addSub makes a sub-interface, down and with all MTUs zero (that is: the MTUs of
// its device apply). What VPP cannot have it refuses with the given retval, and
// the index that the sub-interface had for a moment.
func (ss *subifs) addSub(hw *hwInterface, sub subif, refusal retval) (ifIndex, retval) {
	want, possible := sub.match()
	if !possible {
		return ifIndex(ss.ifs.next()), refusal
	}
	for _, index := range hw.subs {
		if has, _ := ss.ifs.at(index).sub.match(); has == want {
			return ifIndex(ss.ifs.next()), refusal
		}
	}
	i := &swInterface{hw: hw, isSub: true, sub: sub}
	i.index = ss.ifs.add(i)
	hw.subs[sub.id] = i.index
	ss.created(i)
	return ifIndex(i.index), ok
}

func (ss *subifs) createVlanSubif(req *interfaces_api.CreateVlanSubif) (ifIndex, retval) {
	parent := ss.byIndex(req.SwIfIndex)
	switch {
	case parent == nil:
		return noInterface, api.INVALID_SW_IF_INDEX
	case req.VlanID == 0 || req.VlanID > maxVLAN:
		return noInterface, api.INVALID_VLAN
	case ss.hasSub(parent.hw, req.VlanID):
		return noInterface, api.VLAN_ALREADY_EXISTS
	}
	return ss.addSub(parent.hw, subif{
		id: req.VlanID, flags: subOneTag | subExactMatch, outer: uint16(req.VlanID),
	}, api.INVALID_REGISTRATION)
}

func (ss *subifs) createSubif(req *interfaces_api.CreateSubif) (ifIndex, retval) {
	parent := ss.byIndex(req.SwIfIndex)
	switch {
	case parent == nil:
		return noInterface, api.INVALID_SW_IF_INDEX
	case ss.hasSub(parent.hw, req.SubID):
		return noInterface, api.VLAN_ALREADY_EXISTS
	}
	return ss.addSub(parent.hw, subif{
		id: req.SubID, flags: req.SubIfFlags, outer: req.OuterVlanID, inner: req.InnerVlanID,
	}, api.UNSPECIFIED)
}

func (ss *subifs) hasSub(hw *hwInterface, id uint32) bool {
	_, exists := hw.subs[id]
	return exists
}

func (ss *subifs) deleteSubif(req *interfaces_api.DeleteSubif) retval {
	switch i := ss.byIndex(req.SwIfIndex); {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case !i.isSub:
		return api.INVALID_SUB_SW_IF_INDEX
	default:
		delete(i.hw.subs, i.sub.id)
		ss.deleteSoftware(i)
	}
	return ok
}
