package vnet

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/ip_neighbor"
	"go.fd.io/govpp/binapi/ip_types"
)

// arpKey identifies a neighbour. The interface may be gone: static neighbours
// stay when it is deleted and belong to the next one with its index.
type arpKey struct {
	out  uint32
	addr netip.Addr
}

// arpEntry is an ARP or ND entry.
type arpEntry struct {
	mac     ethernet_types.MacAddress
	static  bool
	noFIB   bool
	stale   bool // not added again since ip_neighbor_replace_begin
	adj     uint32
	routed  bool // has a host route, in table
	table   uint32
	updated time.Time
	turn    uint64 // when it was updated, among all
}

// arpEntries is the ARP and ND state.
type arpEntries struct {
	byOut   map[uint32]map[netip.Addr]*arpEntry // by interface and address
	count   [families]int
	nextAdj uint32
	turn    uint64
}

func (s *arpEntries) get(key arpKey) *arpEntry { return s.byOut[key.out][key.addr] }

func (n *VNet) handleARP() {
	wire.Handle(n.server, n.arpAddDel)
	wire.HandleDump(n.server, n.arpDump)
	wire.Handle(n.server, n.arpFlush)
	handle[ip_neighbor.IPNeighborReplaceBeginReply](n.server, func(*ip_neighbor.IPNeighborReplaceBegin) retval {
		for _, of := range n.arps.byOut {
			for _, nb := range of {
				nb.stale = true
			}
		}
		return ok
	})
	handle[ip_neighbor.IPNeighborReplaceEndReply](n.server, func(*ip_neighbor.IPNeighborReplaceEnd) retval {
		n.removeARPs(func(_ arpKey, nb *arpEntry) bool { return nb.stale })
		return ok
	})
}

func (n *VNet) arpAddDel(_ *wire.Call, req *ip_neighbor.IPNeighborAddDel) *ip_neighbor.IPNeighborAddDelReply {
	key := arpKey{uint32(req.Neighbor.SwIfIndex), addrOf(req.Neighbor.IPAddress)}
	stats, rv := none, ok
	i := n.byIndex(req.Neighbor.SwIfIndex)
	switch {
	case i == nil:
		rv = api.INVALID_SW_IF_INDEX
	case req.IsAdd && !i.hw.ethernet:
		rv = n.crash(i, "ARP entry on an interface without MAC address")
	case req.IsAdd:
		stats, rv = n.addARP(key, &req.Neighbor)
	case n.arps.get(key) == nil:
		rv = api.NO_SUCH_ENTRY
	default:
		n.removeARP(key)
	}
	return &ip_neighbor.IPNeighborAddDelReply{Retval: int32(rv), StatsIndex: stats}
}

// addARP adds or changes a neighbour. A dynamic one can become static but not
// the other way round, and cannot change the MAC of a static one.
func (n *VNet) addARP(key arpKey, req *ip_neighbor.IPNeighbor) (stats uint32, rv retval) {
	static := req.Flags&ip_neighbor.IP_API_NEIGHBOR_FLAG_STATIC != 0
	nb := n.arps.get(key)
	if nb == nil {
		f := familyOf(key.addr)
		if !n.ipScanNeighbor.room(f) {
			return none, api.LIMIT_EXCEEDED
		}
		nb = &arpEntry{static: static, noFIB: req.Flags&ip_neighbor.IP_API_NEIGHBOR_FLAG_NO_FIB_ENTRY != 0, adj: none}
		if n.arps.byOut[key.out] == nil {
			n.arps.byOut[key.out] = make(map[netip.Addr]*arpEntry)
		}
		n.arps.byOut[key.out][key.addr] = nb
		n.arps.count[f]++
		if !nb.noFIB {
			n.addARPRoute(key, nb)
		}
	}
	nb.stale = false
	if nb.static && !static {
		if nb.mac != req.MacAddress {
			return none, api.INVALID_SW_IF_INDEX // VPP says -2, whatever it may mean
		}
		return nb.adj, ok
	}
	nb.static = nb.static || static
	n.arps.turn++
	nb.mac, nb.updated, nb.turn = req.MacAddress, n.cfg.Now(), n.arps.turn
	return nb.adj, ok
}

// addARPRoute puts the host route of a neighbour into the table of its
// interface. Link-local ones live in tables of their own, which dumps leave out.
func (n *VNet) addARPRoute(key arpKey, nb *arpEntry) {
	nb.routed = true
	nb.adj = n.arps.nextAdj
	n.arps.nextAdj++
	if key.addr.IsLinkLocalUnicast() && key.addr.Is6() {
		return
	}
	f := familyOf(key.addr)
	if i := n.ifs.at(key.out); i != nil {
		nb.table = i.table[f]
	}
	t := n.fibs.Table(f, nb.table)
	t.Held++
	n.fibs.Add(t, netip.PrefixFrom(key.addr, key.addr.BitLen()), fib.SourceADJ, []fib.Path{fib.ToNeighbor(key.out, key.addr)})
}

func (n *VNet) removeARPRoute(key arpKey, nb *arpEntry) {
	if !nb.routed || (key.addr.IsLinkLocalUnicast() && key.addr.Is6()) {
		return
	}
	t := n.fibs.Table(familyOf(key.addr), nb.table)
	n.fibs.RemovePaths(t, netip.PrefixFrom(key.addr, key.addr.BitLen()), fib.SourceADJ, []fib.Path{fib.ToNeighbor(key.out, key.addr)})
	n.releaseTable(t)
}

func (n *VNet) removeARP(key arpKey) {
	n.removeARPRoute(key, n.arps.get(key))
	delete(n.arps.byOut[key.out], key.addr)
	if len(n.arps.byOut[key.out]) == 0 {
		delete(n.arps.byOut, key.out)
	}
	n.arps.count[familyOf(key.addr)]--
}

// removeARPs removes all that match.
func (n *VNet) removeARPs(match func(arpKey, *arpEntry) bool) {
	for _, out := range slices.Collect(maps.Keys(n.arps.byOut)) {
		n.removeARPsOf(out, match)
	}
}

// removeARPsOf removes the matching entries of one interface.
func (n *VNet) removeARPsOf(out uint32, match func(arpKey, *arpEntry) bool) {
	for _, addr := range slices.SortedFunc(maps.Keys(n.arps.byOut[out]), netip.Addr.Compare) {
		if key := (arpKey{out, addr}); match(key, n.arps.get(key)) {
			n.removeARP(key)
		}
	}
}

// flushDeleted removes the neighbours of an interface that disappears. Until 25.10
// static ones stay.
func (n *VNet) flushDeleted(index uint32) {
	n.flushDynamic(index)
	if !n.before("26.02") {
		n.removeARPsOf(index, func(arpKey, *arpEntry) bool { return true })
	}
}

// flushDynamic removes the dynamic neighbours of an interface that goes down;
// static ones stay.
func (n *VNet) flushDynamic(index uint32) {
	n.removeARPsOf(index, func(_ arpKey, nb *arpEntry) bool { return !nb.static })
}

// flushCovered removes the dynamic neighbours in a subnet that the interface has no
// longer an address in.
func (n *VNet) flushCovered(index uint32, prefix netip.Prefix) {
	n.removeARPsOf(index, func(key arpKey, nb *arpEntry) bool {
		return !nb.static && prefix.Contains(key.addr)
	})
}

// arpsRebind moves the host routes of an interface's neighbours to the table
// that it is being bound to. Those that were not to have one get one, as in VPP.
func (n *VNet) arpsRebind(i *swInterface, f family, table uint32) {
	for addr, nb := range n.arps.byOut[i.index] {
		key := arpKey{i.index, addr}
		if familyOf(addr) != f {
			continue
		}
		n.removeARPRoute(key, nb)
		old := i.table[f]
		i.table[f] = table
		n.addARPRoute(key, nb)
		i.table[f] = old
	}
}

func (n *VNet) sortedARPs() []arpKey {
	var keys []arpKey
	for out, of := range n.arps.byOut {
		for addr := range of {
			keys = append(keys, arpKey{out, addr})
		}
	}
	slices.SortFunc(keys, func(a, b arpKey) int {
		return cmp.Or(cmp.Compare(a.out, b.out), a.addr.Compare(b.addr))
	})
	return keys
}

func (n *VNet) arpDump(c *wire.Call, req *ip_neighbor.IPNeighborDump) {
	f := familyFlag(req.Af == ip_types.ADDRESS_IP6)
	for _, key := range n.sortedARPs() {
		if familyOf(key.addr) != f || !selects(req.SwIfIndex, key.out) {
			continue
		}
		nb := n.arps.get(key)
		details := &ip_neighbor.IPNeighborDetails{
			Age: n.cfg.Now().Sub(nb.updated).Seconds(),
			Neighbor: ip_neighbor.IPNeighbor{
				SwIfIndex: ifIndex(key.out), MacAddress: nb.mac, IPAddress: apiAddr(key.addr),
			},
		}
		if nb.static {
			details.Neighbor.Flags |= ip_neighbor.IP_API_NEIGHBOR_FLAG_STATIC
		}
		if nb.noFIB {
			details.Neighbor.Flags |= ip_neighbor.IP_API_NEIGHBOR_FLAG_NO_FIB_ENTRY
		}
		c.Send(details)
	}
}

// arpFlush removes static neighbours too.
func (n *VNet) arpFlush(_ *wire.Call, req *ip_neighbor.IPNeighborFlush) *ip_neighbor.IPNeighborFlushReply {
	index := uint32(req.SwIfIndex)
	if index != none && n.byIndex(req.SwIfIndex) == nil {
		return &ip_neighbor.IPNeighborFlushReply{Retval: int32(api.INVALID_SW_IF_INDEX)}
	}
	f := familyFlag(req.Af == ip_types.ADDRESS_IP6)
	n.removeARPs(func(key arpKey, _ *arpEntry) bool {
		return familyOf(key.addr) == f && (index == none || index == key.out)
	})
	return &ip_neighbor.IPNeighborFlushReply{}
}
