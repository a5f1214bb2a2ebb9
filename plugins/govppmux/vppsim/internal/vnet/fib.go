package vnet

import "net/netip"

// fibs holds the routing tables by family and table ID.
type fibs struct {
	tables [families]map[uint32]*fibTable
}

// fibTable is one routing table.
type fibTable struct{ id uint32 }

func newFIBs() fibs {
	var f fibs
	for fam := range families {
		f.tables[fam] = map[uint32]*fibTable{0: {}}
	}
	return f
}

func (n *VNet) tableExists(f family, id uint32) bool { return n.fibs.tables[f][id] != nil }

// bindTable puts an interface into a table.
func (n *VNet) bindTable(i *swInterface, f family, id uint32) { i.table[f] = id }

func (n *VNet) addAddressRoutes(*swInterface, netip.Prefix)    {}
func (n *VNet) removeAddressRoutes(*swInterface, netip.Prefix) {}
