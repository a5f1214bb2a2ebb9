package vnet

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/l2"
)

// macKey is the key of the L2 FIB: it contains the index of the bridge domain, not
// its ID, which is why entries outlive their domain and reappear in the next one
// that gets the index.
type macKey struct {
	bd  uint32
	mac ethernet_types.MacAddress
}

// macEntry is a configured entry of the L2 FIB. Configured entries never age.
type macEntry struct {
	out                 uint32 // none for a filter
	static, filter, bvi bool
}

func (k macKey) compare(other macKey) int {
	return cmp.Or(cmp.Compare(k.bd, other.bd), bytes.Compare(k.mac[:], other.mac[:]))
}

// sortedMACs returns the keys of the L2 FIB in a stable order.
func (s *layer2) sortedMACs() []macKey {
	return slices.SortedFunc(maps.Keys(s.fib), macKey.compare)
}

// deleteMAC removes an entry; out must match unless it is 0.
func (s *layer2) deleteMAC(key macKey, out uint32) api.VPPApiError {
	entry, exists := s.fib[key]
	if !exists || (out != 0 && out != entry.out) {
		return api.NO_SUCH_ENTRY
	}
	delete(s.fib, key)
	return ok
}

func (n *VNet) handleL2FIB() {
	wire.Handle(n.server, func(_ *wire.Call, req *l2.L2fibAddDel) *l2.L2fibAddDelReply {
		return &l2.L2fibAddDelReply{Retval: int32(n.l2fibAddDel(req))}
	})
	wire.HandleDump(n.server, n.l2fibDump)
	wire.Handle(n.server, func(*wire.Call, *l2.L2FibClearTable) *l2.L2FibClearTableReply {
		clear(n.l2.fib)
		return &l2.L2FibClearTableReply{}
	})
	wire.Handle(n.server, func(*wire.Call, *l2.L2fibFlushAll) *l2.L2fibFlushAllReply {
		for _, bd := range n.l2.domains {
			if bd.features != 0 {
				bd.seq++
			}
		}
		return &l2.L2fibFlushAllReply{}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *l2.L2fibFlushBd) *l2.L2fibFlushBdReply {
		index, exists := n.l2.byID[req.BdID]
		if !exists {
			return &l2.L2fibFlushBdReply{Retval: int32(api.NO_SUCH_ENTRY)}
		}
		n.l2.domains[index].seq++
		return &l2.L2fibFlushBdReply{}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *l2.L2fibFlushInt) *l2.L2fibFlushIntReply {
		i := n.byIndex(req.SwIfIndex)
		if i == nil {
			return &l2.L2fibFlushIntReply{Retval: int32(api.INVALID_SW_IF_INDEX)}
		}
		i.l2.seq++
		return &l2.L2fibFlushIntReply{}
	})
}

// l2fibAddDel: the domain must exist, and the interface of a forwarding entry must
// be in some bridge domain, not necessarily in this one.
func (n *VNet) l2fibAddDel(req *l2.L2fibAddDel) api.VPPApiError {
	index, exists := n.l2.byID[req.BdID]
	if !exists {
		return api.NO_SUCH_ENTRY
	}
	key := macKey{index, req.Mac}
	switch {
	case !req.IsAdd:
		return n.l2.deleteMAC(key, uint32(req.SwIfIndex))
	case req.FilterMac:
		n.l2.fib[key] = macEntry{out: none, static: true, filter: true}
		return ok
	}
	i := n.byIndex(req.SwIfIndex)
	if i == nil || i.l2.mode != modeBridge {
		return api.INVALID_SW_IF_INDEX
	}
	n.l2.fib[key] = macEntry{out: i.index, static: req.StaticMac, bvi: req.BviMac}
	return ok
}

// l2fibDump: ~0 means all bridge domains, and only then entries of deleted ones are
// seen, with ~0 for the ID.
func (n *VNet) l2fibDump(c *wire.Call, req *l2.L2FibTableDump) {
	index, exists := n.l2.byID[req.BdID]
	if req.BdID != none && !exists {
		return
	}
	for _, key := range n.l2.sortedMACs() {
		if req.BdID != none && key.bd != index {
			continue
		}
		entry := n.l2.fib[key]
		c.Send(&l2.L2FibTableDetails{
			BdID: n.l2.domains[key.bd].id, Mac: key.mac,
			SwIfIndex: interface_types.InterfaceIndex(entry.out),
			StaticMac: entry.static, FilterMac: entry.filter, BviMac: entry.bvi,
		})
	}
}
