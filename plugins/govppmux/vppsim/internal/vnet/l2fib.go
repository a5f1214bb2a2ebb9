package vnet

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ethernet_types"
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

// l2FIB is the L2 FIB, the static entries of bridge domains.
type l2FIB struct {
	*VNet
	entries map[macKey]macEntry
}

func (k macKey) compare(other macKey) int {
	return cmp.Or(cmp.Compare(k.bd, other.bd), bytes.Compare(k.mac[:], other.mac[:]))
}

// sorted returns the keys of the L2 FIB in a stable order.
func (lf *l2FIB) sorted() []macKey {
	return slices.SortedFunc(maps.Keys(lf.entries), macKey.compare)
}

// delete removes an entry; out must match unless it is 0.
func (lf *l2FIB) delete(key macKey, out uint32) retval {
	entry, exists := lf.entries[key]
	if !exists || (out != 0 && out != entry.out) {
		return api.NO_SUCH_ENTRY
	}
	delete(lf.entries, key)
	return ok
}

func newL2FIB(n *VNet) feature {
	n.l2fib = &l2FIB{VNet: n}
	return n.l2fib
}

func (lf *l2FIB) register(server *wire.Server) {
	handle[l2.L2fibAddDelReply](server, lf.l2fibAddDel)
	wire.HandleDump(server, lf.l2fibDump)
	handle[l2.L2FibClearTableReply](server, func(*l2.L2FibClearTable) retval {
		clear(lf.entries)
		return ok
	})
	handle[l2.L2fibFlushAllReply](server, func(*l2.L2fibFlushAll) retval {
		for _, bd := range lf.l2.domains {
			if bd.features != 0 {
				bd.seq++
			}
		}
		return ok
	})
	handle[l2.L2fibFlushBdReply](server, func(req *l2.L2fibFlushBd) retval {
		index, exists := lf.l2.byID[req.BdID]
		if !exists {
			return api.NO_SUCH_ENTRY
		}
		lf.l2.domains[index].seq++
		return ok
	})
	handle[l2.L2fibFlushIntReply](server, func(req *l2.L2fibFlushInt) retval {
		i := lf.byIndex(req.SwIfIndex)
		if i == nil {
			return api.INVALID_SW_IF_INDEX
		}
		i.l2.seq++
		return ok
	})
}

func (lf *l2FIB) reset() { lf.entries = make(map[macKey]macEntry) }

// l2fibAddDel: the domain must exist, and the interface of a forwarding entry must
// be in some bridge domain, not necessarily in this one.
func (lf *l2FIB) l2fibAddDel(req *l2.L2fibAddDel) retval {
	index, exists := lf.l2.byID[req.BdID]
	if !exists {
		return api.NO_SUCH_ENTRY
	}
	key := macKey{index, req.Mac}
	switch {
	case !req.IsAdd:
		return lf.delete(key, uint32(req.SwIfIndex))
	case req.FilterMac:
		lf.entries[key] = macEntry{out: none, static: true, filter: true}
		return ok
	}
	i := lf.byIndex(req.SwIfIndex)
	if i == nil || i.l2.mode != modeBridge {
		return api.INVALID_SW_IF_INDEX
	}
	lf.entries[key] = macEntry{out: i.index, static: req.StaticMac, bvi: req.BviMac}
	return ok
}

// l2fibDump: ~0 means all bridge domains, and only then entries of deleted ones are
// seen, with ~0 for the ID.
func (lf *l2FIB) l2fibDump(c *wire.Call, req *l2.L2FibTableDump) {
	index, exists := lf.l2.byID[req.BdID]
	if req.BdID != none && !exists {
		return
	}
	for _, key := range lf.sorted() {
		if req.BdID != none && key.bd != index {
			continue
		}
		entry := lf.entries[key]
		c.Send(&l2.L2FibTableDetails{
			BdID: lf.l2.domains[key.bd].id, Mac: key.mac,
			SwIfIndex: ifIndex(entry.out),
			StaticMac: entry.static, FilterMac: entry.filter, BviMac: entry.bvi,
		})
	}
}

func (lf *l2FIB) dump(b *strings.Builder) {
	for _, m := range lf.MACs() {
		fmt.Fprintf(b, "l2fib %s in %s", m.Address, orStale(lf.l2.domains[m.Domain].id, true))
		dumpWord(b, m.Filter, "filter")
		dumpWord(b, !m.Filter, "to %s", lf.orStaleIf(m.Interface))
		dumpWord(b, m.Static && !m.Filter, "static")
		dumpWord(b, m.BVI, "bvi")
		b.WriteByte('\n')
	}
}
