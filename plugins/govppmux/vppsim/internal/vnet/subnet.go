package vnet

import (
	"cmp"
	"net/netip"
	"slices"
)

// subnets finds out quickly that a new address overlaps no other in its table, which
// is the usual case; whether an overlap is a conflict takes a closer look.
type subnets struct {
	byTable [families]map[uint32][]netip.Prefix // sorted; no two overlap without being equal
	// replacing is set between the marks of an address replacement, when stale
	// addresses may overlap new ones.
	replacing bool
}

func newSubnets() subnets {
	var s subnets
	for f := range families {
		s.byTable[f] = make(map[uint32][]netip.Prefix)
	}
	return s
}

func comparePrefixes(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}

func (s *subnets) add(table uint32, address netip.Prefix) {
	f, subnet := familyOf(address.Addr()), address.Masked()
	list := s.byTable[f][table]
	at, _ := slices.BinarySearchFunc(list, subnet, comparePrefixes)
	s.byTable[f][table] = slices.Insert(list, at, subnet)
}

func (s *subnets) remove(table uint32, address netip.Prefix) {
	f, subnet := familyOf(address.Addr()), address.Masked()
	list := s.byTable[f][table]
	if at, found := slices.BinarySearchFunc(list, subnet, comparePrefixes); found {
		s.byTable[f][table] = slices.Delete(list, at, at+1)
	}
}

// mayOverlap is false only if no address of the table overlaps the new one.
func (s *subnets) mayOverlap(table uint32, address netip.Prefix) bool {
	if s.replacing {
		return true
	}
	subnet := address.Masked()
	list := s.byTable[familyOf(address.Addr())][table]
	at, found := slices.BinarySearchFunc(list, subnet, comparePrefixes)
	return found ||
		at > 0 && list[at-1].Overlaps(subnet) ||
		at < len(list) && list[at].Overlaps(subnet)
}
