package vnet

import (
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/cmdline"
	"go.fd.io/govpp/binapi/ethernet_types"
)

// BridgeDomain is what show bridge-domain knows beyond the API.
type BridgeDomain struct {
	// ID and Index are the domain's number and its slot.
	ID, Index uint32
	// Seq changes when learnt MACs are flushed.
	Seq uint8
	// MACAge is in minutes, 0 for no ageing.
	MACAge uint8
	// Features is the bitmap of L2 input features.
	Features uint32
	// LearnLimit is the largest number of learnt MACs.
	LearnLimit uint32
	// BVI and UUFwd are interfaces, all bits set for none.
	BVI, UUFwd uint32
	// Tag is the domain's tag.
	Tag string
	// Members in the order of flooding; frames go to the first Flooded of them.
	Members []BridgeMember
	Flooded int
}

// BridgeMember is an interface in a bridge domain.
type BridgeMember struct {
	// Index is the sw_if_index.
	Index uint32
	// Seq changes when MACs learnt on the interface are flushed.
	Seq uint8
	// SHG is the split-horizon group.
	SHG uint8
	// BVI marks the bridged virtual interface.
	BVI bool
}

// BridgeDomains returns the bridge domains in use, by slot, without the one of ID 0.
func (n *VNet) BridgeDomains() []BridgeDomain {
	var domains []BridgeDomain
	for index, bd := range n.l2.domains {
		if index == 0 || bd.features == 0 {
			continue
		}
		d := BridgeDomain{
			ID: bd.id, Index: uint32(index), Seq: bd.seq, MACAge: bd.macAge, Features: bd.features,
			LearnLimit: bd.learnLimit, BVI: bd.bvi, UUFwd: bd.uuFwd, Tag: bd.tag,
			Flooded: len(bd.members) - bd.noFlood,
		}
		for _, index := range bd.members {
			m := BridgeMember{Index: index}
			if i := n.ifs.at(index); i != nil {
				m.Seq, m.SHG, m.BVI = i.l2.seq, i.l2.shg, i.l2.bvi
			}
			d.Members = append(d.Members, m)
		}
		domains = append(domains, d)
	}
	return domains
}

// MAC is an entry of the L2 FIB.
type MAC struct {
	// Domain is the slot of the bridge domain, which may have been deleted.
	Domain uint32
	// Address is the MAC address.
	Address ethernet_types.MacAddress
	// Interface is where it leads, all bits set for a filter; it may be gone.
	Interface uint32
	// Static, Filter and BVI are the entry's flags.
	Static, Filter, BVI bool
}

// MACs returns the L2 FIB, sorted.
func (n *VNet) MACs() []MAC {
	macs := make([]MAC, 0, len(n.l2fib.entries))
	for _, key := range n.l2fib.sorted() {
		e := n.l2fib.entries[key]
		macs = append(macs, MAC{key.bd, key.mac, e.out, e.static, e.filter, e.bvi})
	}
	return macs
}

// L2Of returns the slot of the bridge domain that an interface is in.
func (n *VNet) L2Of(index uint32) (domain BridgeDomain, member BridgeMember, bridged bool) {
	i := n.ifs.at(index)
	if i == nil || i.l2.mode != modeBridge {
		return BridgeDomain{}, BridgeMember{}, false
	}
	bd := n.l2.domains[i.l2.bd]
	return BridgeDomain{ID: bd.id, Index: i.l2.bd}, BridgeMember{Index: index, SHG: i.l2.shg, BVI: i.l2.bvi}, true
}

// InterfaceName returns the name of an interface, empty if there is none.
func (n *VNet) InterfaceName(index uint32) string {
	if i := n.ifs.at(index); i != nil {
		return i.name()
	}
	return ""
}

// TableIndex returns what VPP calls a routing table inside; it must exist.
func (n *VNet) TableIndex(isIPv6 bool, id uint32) uint32 {
	return n.fibs.Table(familyFlag(isIPv6), id).Index
}

// Commands returns the commands of the features.
func (n *VNet) Commands() []cmdline.Command {
	var all []cmdline.Command
	for _, f := range n.hooks.commanders {
		all = append(all, f.commands()...)
	}
	return all
}
