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
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_neighbor"
	"go.fd.io/govpp/binapi/ip_types"
)

// neighborKey identifies a neighbour. The interface may be gone: static neighbours
// stay when it is deleted and belong to the next one with its index.
type neighborKey struct {
	out  uint32
	addr netip.Addr
}

// neighbor is an ARP or ND entry.
type neighbor struct {
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

// neighbors is the ARP and ND state.
type neighbors struct {
	byOut   map[uint32]map[netip.Addr]*neighbor // by interface and address
	count   [families]int
	nextAdj uint32
	turn    uint64
}

func (s *neighbors) get(key neighborKey) *neighbor { return s.byOut[key.out][key.addr] }

func (n *VNet) handleNeighbors() {
	wire.Handle(n.server, n.neighborAddDel)
	wire.HandleDump(n.server, n.neighborDump)
	wire.Handle(n.server, n.neighborFlush)
	wire.Handle(n.server, func(*wire.Call, *ip_neighbor.IPNeighborReplaceBegin) *ip_neighbor.IPNeighborReplaceBeginReply {
		for _, of := range n.nbs.byOut {
			for _, nb := range of {
				nb.stale = true
			}
		}
		return &ip_neighbor.IPNeighborReplaceBeginReply{}
	})
	wire.Handle(n.server, func(*wire.Call, *ip_neighbor.IPNeighborReplaceEnd) *ip_neighbor.IPNeighborReplaceEndReply {
		n.removeNeighbors(func(_ neighborKey, nb *neighbor) bool { return nb.stale })
		return &ip_neighbor.IPNeighborReplaceEndReply{}
	})
}

func (n *VNet) neighborAddDel(_ *wire.Call, req *ip_neighbor.IPNeighborAddDel) *ip_neighbor.IPNeighborAddDelReply {
	key := neighborKey{uint32(req.Neighbor.SwIfIndex), addrOf(req.Neighbor.IPAddress)}
	stats, rv := none, ok
	switch {
	case n.byIndex(req.Neighbor.SwIfIndex) == nil:
		rv = api.INVALID_SW_IF_INDEX
	case req.IsAdd:
		stats, rv = n.addNeighbor(key, &req.Neighbor)
	case n.nbs.get(key) == nil:
		rv = api.NO_SUCH_ENTRY
	default:
		n.removeNeighbor(key)
	}
	return &ip_neighbor.IPNeighborAddDelReply{Retval: int32(rv), StatsIndex: stats}
}

// addNeighbor adds or changes a neighbour. A dynamic one can become static but not
// the other way round, and cannot change the MAC of a static one.
func (n *VNet) addNeighbor(key neighborKey, req *ip_neighbor.IPNeighbor) (stats uint32, rv api.VPPApiError) {
	static := req.Flags&ip_neighbor.IP_API_NEIGHBOR_FLAG_STATIC != 0
	nb := n.nbs.get(key)
	if nb == nil {
		f := familyOf(key.addr)
		if !n.roomForNeighbor(f) {
			return none, api.LIMIT_EXCEEDED
		}
		nb = &neighbor{static: static, noFIB: req.Flags&ip_neighbor.IP_API_NEIGHBOR_FLAG_NO_FIB_ENTRY != 0, adj: none}
		if n.nbs.byOut[key.out] == nil {
			n.nbs.byOut[key.out] = make(map[netip.Addr]*neighbor)
		}
		n.nbs.byOut[key.out][key.addr] = nb
		n.nbs.count[f]++
		if !nb.noFIB {
			n.addNeighborRoute(key, nb)
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
	n.nbs.turn++
	nb.mac, nb.updated, nb.turn = req.MacAddress, n.cfg.Now(), n.nbs.turn
	return nb.adj, ok
}

// addNeighborRoute puts the host route of a neighbour into the table of its
// interface. Link-local ones live in tables of their own, which dumps leave out.
func (n *VNet) addNeighborRoute(key neighborKey, nb *neighbor) {
	nb.routed = true
	nb.adj = n.nbs.nextAdj
	n.nbs.nextAdj++
	if key.addr.IsLinkLocalUnicast() && key.addr.Is6() {
		return
	}
	f := familyOf(key.addr)
	if i := n.ifs.at(key.out); i != nil {
		nb.table = i.table[f]
	}
	t := n.fibs.Table(f, nb.table)
	t.Neighbors++
	n.fibs.Add(t, netip.PrefixFrom(key.addr, key.addr.BitLen()), fib.SourceADJ, []fib.Path{fib.ToNeighbor(key.out, key.addr)})
}

func (n *VNet) removeNeighborRoute(key neighborKey, nb *neighbor) {
	if !nb.routed || (key.addr.IsLinkLocalUnicast() && key.addr.Is6()) {
		return
	}
	t := n.fibs.Table(familyOf(key.addr), nb.table)
	n.fibs.RemovePaths(t, netip.PrefixFrom(key.addr, key.addr.BitLen()), fib.SourceADJ, []fib.Path{fib.ToNeighbor(key.out, key.addr)})
	t.Neighbors--
	n.fibs.Release(t)
}

func (n *VNet) removeNeighbor(key neighborKey) {
	n.removeNeighborRoute(key, n.nbs.get(key))
	delete(n.nbs.byOut[key.out], key.addr)
	if len(n.nbs.byOut[key.out]) == 0 {
		delete(n.nbs.byOut, key.out)
	}
	n.nbs.count[familyOf(key.addr)]--
}

// removeNeighbors removes all that match.
func (n *VNet) removeNeighbors(match func(neighborKey, *neighbor) bool) {
	for _, out := range slices.Collect(maps.Keys(n.nbs.byOut)) {
		n.removeNeighborsOf(out, match)
	}
}

// removeNeighborsOf removes those of one interface that match.
func (n *VNet) removeNeighborsOf(out uint32, match func(neighborKey, *neighbor) bool) {
	for _, addr := range slices.SortedFunc(maps.Keys(n.nbs.byOut[out]), netip.Addr.Compare) {
		if key := (neighborKey{out, addr}); match(key, n.nbs.get(key)) {
			n.removeNeighbor(key)
		}
	}
}

// flushDeleted removes the neighbours of an interface that disappears. Until 25.10
// static ones stay.
func (n *VNet) flushDeleted(index uint32) {
	n.flushDynamic(index)
	if !n.before("26.02") {
		n.removeNeighborsOf(index, func(neighborKey, *neighbor) bool { return true })
	}
}

// flushDynamic removes the dynamic neighbours of an interface that goes down;
// static ones stay.
func (n *VNet) flushDynamic(index uint32) {
	n.removeNeighborsOf(index, func(_ neighborKey, nb *neighbor) bool { return !nb.static })
}

// flushCovered removes the dynamic neighbours in a subnet that the interface has no
// longer an address in.
func (n *VNet) flushCovered(index uint32, prefix netip.Prefix) {
	n.removeNeighborsOf(index, func(key neighborKey, nb *neighbor) bool {
		return !nb.static && prefix.Contains(key.addr)
	})
}

// neighborsRebind moves the host routes of an interface's neighbours to the table
// that it is being bound to. Those that were not to have one get one, as in VPP.
func (n *VNet) neighborsRebind(i *swInterface, f family, table uint32) {
	for addr, nb := range n.nbs.byOut[i.index] {
		key := neighborKey{i.index, addr}
		if familyOf(addr) != f {
			continue
		}
		n.removeNeighborRoute(key, nb)
		old := i.table[f]
		i.table[f] = table
		n.addNeighborRoute(key, nb)
		i.table[f] = old
	}
}

func (n *VNet) sortedNeighbors() []neighborKey {
	var keys []neighborKey
	for out, of := range n.nbs.byOut {
		for addr := range of {
			keys = append(keys, neighborKey{out, addr})
		}
	}
	slices.SortFunc(keys, func(a, b neighborKey) int {
		return cmp.Or(cmp.Compare(a.out, b.out), a.addr.Compare(b.addr))
	})
	return keys
}

func (n *VNet) neighborDump(c *wire.Call, req *ip_neighbor.IPNeighborDump) {
	f := familyFlag(req.Af == ip_types.ADDRESS_IP6)
	for _, key := range n.sortedNeighbors() {
		if familyOf(key.addr) != f || (uint32(req.SwIfIndex) != none && uint32(req.SwIfIndex) != key.out) {
			continue
		}
		nb := n.nbs.get(key)
		details := &ip_neighbor.IPNeighborDetails{
			Age: n.cfg.Now().Sub(nb.updated).Seconds(),
			Neighbor: ip_neighbor.IPNeighbor{
				SwIfIndex: interface_types.InterfaceIndex(key.out), MacAddress: nb.mac, IPAddress: apiAddr(key.addr),
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

// neighborFlush removes static neighbours too.
func (n *VNet) neighborFlush(_ *wire.Call, req *ip_neighbor.IPNeighborFlush) *ip_neighbor.IPNeighborFlushReply {
	index := uint32(req.SwIfIndex)
	if index != none && n.byIndex(req.SwIfIndex) == nil {
		return &ip_neighbor.IPNeighborFlushReply{Retval: int32(api.INVALID_SW_IF_INDEX)}
	}
	f := familyFlag(req.Af == ip_types.ADDRESS_IP6)
	n.removeNeighbors(func(key neighborKey, _ *neighbor) bool {
		return familyOf(key.addr) == f && (index == none || index == key.out)
	})
	return &ip_neighbor.IPNeighborFlushReply{}
}
