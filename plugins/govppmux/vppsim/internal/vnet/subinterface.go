package vnet

import (
	interfaces_api "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
)

// subInterface is what makes a sub-interface: which tagged frames belong to it.
type subInterface struct {
	id           uint32
	flags        interface_types.SubIfFlags
	outer, inner uint16
}

// exactMatch says whether only frames with exactly these tags belong to it.
func (s *subInterface) exactMatch() bool {
	return s.flags&interface_types.SUB_IF_API_FLAG_EXACT_MATCH != 0
}

// describe fills in the fields of the details that only sub-interfaces have.
func (s *subInterface) describe(d *interfaces_api.SwInterfaceDetails) {
	d.Type = interface_types.IF_API_TYPE_SUB
	d.SubID = s.id
	d.SubIfFlags = s.flags
	d.SubOuterVlanID = s.outer
	d.SubInnerVlanID = s.inner
	if s.flags&interface_types.SUB_IF_API_FLAG_ONE_TAG != 0 {
		d.SubNumberOfTags++
	}
	if s.flags&interface_types.SUB_IF_API_FLAG_TWO_TAGS != 0 {
		d.SubNumberOfTags += 2
	}
}
