package vnet

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/teib"
)

// teibEntry says behind which address of the underlay a peer on a tunnel is.
// It is not cleaned up behind the interface.
type teibEntry struct {
	out     uint32
	peer    netip.Addr
	nextHop netip.Addr
	via     *fib.Table // where the next hop is looked up; not held
	table   uint32     // with the host route of the peer
}

// teibs are the entries of the TEIB.
type teibs struct {
	*VNet
	pool[teibEntry]
}

func newTeibs(n *VNet) feature { return &teibs{VNet: n} }

func (ts *teibs) register(server *wire.Server) {
	handle[teib.TeibEntryAddDelReply](server, ts.teibAddDel)
	wire.HandleDump(server, func(c *wire.Call, _ *teib.TeibDump) {
		for _, e := range ts.all() {
			c.Send(&teib.TeibDetails{Entry: teib.TeibEntry{
				SwIfIndex: ifIndex(e.out), Peer: apiAddr(e.peer),
				Nh: apiAddr(e.nextHop), NhTableID: e.via.ID,
			}})
		}
	})
}

func (ts *teibs) reset() { ts.pool = pool[teibEntry]{} }

func (ts *teibs) teibAddDel(req *teib.TeibEntryAddDel) retval {
	i, peer := ts.byIndex(req.Entry.SwIfIndex), addrOf(req.Entry.Peer)
	switch {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case req.IsAdd != 0:
		return ts.addEntry(i, peer, addrOf(req.Entry.Nh), req.Entry.NhTableID)
	}
	index, e := ts.find(i.index, peer)
	if e == nil {
		return api.NO_SUCH_ENTRY
	}
	ts.removeRoute(e)
	ts.remove(index)
	return ok
}

func (ts *teibs) find(out uint32, peer netip.Addr) (uint32, *teibEntry) {
	return ts.pool.find(func(e *teibEntry) bool { return e.out == out && e.peer == peer })
}

func (ts *teibs) addEntry(i *swInterface, peer, nextHop netip.Addr, table uint32) retval {
	via := ts.fibs.Table(familyOf(nextHop), table)
	if via == nil {
		return api.NO_SUCH_FIB
	}
	if _, e := ts.find(i.index, peer); e != nil {
		return api.ENTRY_ALREADY_EXISTS
	}
	e := &teibEntry{out: i.index, peer: peer, nextHop: nextHop, via: via}
	ts.addRoute(e, i.table[familyOf(peer)])
	ts.add(e)
	return ok
}

// addRoute makes a peer a neighbour on the tunnel.
func (ts *teibs) addRoute(e *teibEntry, table uint32) {
	e.table = table
	if e.peer.Is6() && e.peer.IsLinkLocalUnicast() {
		return
	}
	t := ts.fibs.Table(familyOf(e.peer), table)
	t.Held++
	ts.fibs.Add(t, netip.PrefixFrom(e.peer, e.peer.BitLen()), fib.SourceADJ, []fib.Path{fib.ToNeighbor(e.out, e.peer)})
}

func (ts *teibs) removeRoute(e *teibEntry) {
	if e.peer.Is6() && e.peer.IsLinkLocalUnicast() {
		return
	}
	t := ts.fibs.Table(familyOf(e.peer), e.table)
	ts.fibs.RemovePaths(t, netip.PrefixFrom(e.peer, e.peer.BitLen()), fib.SourceADJ, []fib.Path{fib.ToNeighbor(e.out, e.peer)})
	ts.releaseTable(t)
}

// interfaceRebind moves the host routes of the peers on an interface to the table
// that it is being bound to.
func (ts *teibs) interfaceRebind(i *swInterface, f family, table uint32) {
	for _, e := range ts.all() {
		if e.out == i.index && familyOf(e.peer) == f {
			ts.removeRoute(e)
			ts.addRoute(e, table)
		}
	}
}

func (ts *teibs) dump(b *strings.Builder) {
	var lines []string
	for _, e := range ts.all() {
		lines = append(lines, fmt.Sprintf("teib %s on %s via %s in %d\n", e.peer, ts.orStaleIf(e.out), e.nextHop, e.via.ID))
	}
	dumpSorted(b, lines)
}
