package vnet

import (
	"net/netip"
	"slices"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/l2"
)

const (
	// maxBridgeDomainID is the largest ID of a bridge domain.
	maxBridgeDomainID = 1<<24 - 1
	// defaultLearnLimit is how many MACs a bridge domain may learn.
	defaultLearnLimit = 256 * 1024 * 64
)

// bridgeDomain is the slot of a bridge domain. When the domain is deleted the slot
// stays, and with it everything that is not reset here: the next domain with the
// same index inherits it.
type bridgeDomain struct {
	id         uint32
	features   uint32 // zero: the slot is not in use
	members    []uint32
	bvi        uint32
	uuFwd      uint32
	macAge     uint8 // minutes, 0 is never
	seq        uint8
	tag        string
	learnLimit uint32
	arp        map[netip.Addr]ethernet_types.MacAddress
	noFlood    int
}

// validate sets up the slot of a domain that comes into use without
// bridge_domain_add_del: with everything on but ARP termination.
func (bd *bridgeDomain) validate() {
	if bd.features != 0 {
		return
	}
	bd.features = ^uint32(featARPTerm | featUUFwd | featARPUFwd)
	bd.bvi, bd.uuFwd = none, none
	bd.members, bd.noFlood = nil, 0
	bd.arp = make(map[netip.Addr]ethernet_types.MacAddress)
}

// addMember puts an interface into the flood list: the BVI first, those that are
// not flooded to last.
func (bd *bridgeDomain) addMember(i *swInterface) {
	at := len(bd.members) - bd.noFlood
	switch i.l2.flood {
	case floodBVI:
		at = 0
	case floodNone:
		at = len(bd.members)
		bd.noFlood++
	}
	bd.members = slices.Insert(bd.members, at, i.index)
}

func (bd *bridgeDomain) removeMember(i *swInterface) {
	at := slices.Index(bd.members, i.index)
	if at < 0 {
		return
	}
	if i.l2.flood == floodNone {
		bd.noFlood--
	}
	bd.members = slices.Delete(bd.members, at, at+1)
}

// add takes the lowest free slot for a new bridge domain.
func (s *layer2) add(id uint32) uint32 {
	index := s.indexes.take()
	if int(index) == len(s.domains) {
		s.domains = append(s.domains, &bridgeDomain{})
	}
	s.byID[id] = index
	s.domains[index].id = id
	s.domains[index].learnLimit = defaultLearnLimit
	return index
}

func (s *layer2) findOrAdd(id uint32) uint32 {
	if index, exists := s.byID[id]; exists {
		return index
	}
	return s.add(id)
}

// remove frees the slot of a bridge domain. Configured MACs stay in the L2 FIB.
func (s *layer2) remove(index uint32) {
	bd := s.domains[index]
	bd.seq++
	delete(s.byID, bd.id)
	s.indexes.release(index)
	bd.id, bd.features, bd.tag, bd.learnLimit = none, 0, "", 0
	bd.members, bd.arp = nil, nil
}

// unusedID draws an ID as bridge_domain_add_del_v2 does when the client wants any.
func (s *layer2) unusedID() uint32 {
	for {
		s.idSeed = s.idSeed*1664525 + 1013904223
		for i := range uint32(1 << 10) {
			s.idSeed += (2*(i%2) - 1) * i
			s.idSeed &= maxBridgeDomainID
			if _, used := s.byID[s.idSeed]; !used {
				return s.idSeed
			}
		}
	}
}

// featuresOf translates the flags of the API into feature bits.
func featuresOf(flags l2.BdFlags) uint32 {
	var features uint32
	for _, bit := range []struct {
		flag    l2.BdFlags
		feature uint32
	}{
		{l2.BRIDGE_API_FLAG_LEARN, featLearn},
		{l2.BRIDGE_API_FLAG_FWD, featForward},
		{l2.BRIDGE_API_FLAG_FLOOD, featFlood},
		{l2.BRIDGE_API_FLAG_UU_FLOOD, featUUFlood},
		{l2.BRIDGE_API_FLAG_ARP_TERM, featARPTerm},
		{l2.BRIDGE_API_FLAG_ARP_UFWD, featARPUFwd},
	} {
		if flags&bit.flag != 0 {
			features |= bit.feature
		}
	}
	return features
}

// createDomain implements the adding half of bridge_domain_add_del.
func (s *layer2) createDomain(req *l2.BridgeDomainAddDel) retval {
	if _, exists := s.byID[req.BdID]; exists {
		return api.BD_ALREADY_EXISTS
	}
	if req.BdID > maxBridgeDomainID {
		return api.BD_ID_EXCEED_MAX
	}
	var on l2.BdFlags
	for _, f := range []struct {
		wanted bool
		flag   l2.BdFlags
	}{
		{req.Flood, l2.BRIDGE_API_FLAG_FLOOD},
		{req.UuFlood, l2.BRIDGE_API_FLAG_UU_FLOOD},
		{req.Forward, l2.BRIDGE_API_FLAG_FWD},
		{req.Learn, l2.BRIDGE_API_FLAG_LEARN},
		{req.ArpTerm, l2.BRIDGE_API_FLAG_ARP_TERM},
		{req.ArpUfwd, l2.BRIDGE_API_FLAG_ARP_UFWD},
	} {
		if f.wanted {
			on |= f.flag
		}
	}
	bd := s.domains[s.add(req.BdID)]
	bd.validate()
	bd.features &^= featuresOf(^on)
	bd.features |= featuresOf(on)
	bd.macAge, bd.tag = req.MacAge, req.BdTag
	return ok
}

// deleteDomain implements the deleting half of bridge_domain_add_del. A domain with
// members stays; configured MACs do not keep it.
func (s *layer2) deleteDomain(id uint32) retval {
	index, exists := s.byID[id]
	switch {
	case !exists:
		return api.NO_SUCH_ENTRY
	case index == 0:
		return api.BD_NOT_MODIFIABLE
	case len(s.domains[index].members) > 0:
		return api.BD_IN_USE
	}
	s.remove(index)
	return ok
}

// domain finds a bridge domain that may be changed.
func (s *layer2) domain(id uint32) (*bridgeDomain, retval) {
	if id == 0 {
		return nil, api.BD_NOT_MODIFIABLE
	}
	index, exists := s.byID[id]
	if !exists {
		return nil, api.NO_SUCH_ENTRY
	}
	return s.domains[index], ok
}
