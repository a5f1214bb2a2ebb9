package vnet

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/teib"
)

// tunnelEndpoint says behind which address of the underlay a peer on a tunnel is.
// It is not cleaned up behind the interface.
type tunnelEndpoint struct {
	out     uint32
	peer    netip.Addr
	nextHop netip.Addr
	via     *fib.Table // where the next hop is looked up; not held
	table   uint32     // with the host route of the peer
}

func (n *VNet) handleTunnelEndpoints() {
	wire.Handle(n.server, n.teibAddDel)
	wire.HandleDump(n.server, func(c *wire.Call, _ *teib.TeibDump) {
		for _, e := range n.l3.endpoints.all() {
			c.Send(&teib.TeibDetails{Entry: teib.TeibEntry{
				SwIfIndex: interface_types.InterfaceIndex(e.out), Peer: apiAddr(e.peer),
				Nh: apiAddr(e.nextHop), NhTableID: e.via.ID,
			}})
		}
	})
}

func (n *VNet) teibAddDel(_ *wire.Call, req *teib.TeibEntryAddDel) *teib.TeibEntryAddDelReply {
	rv, i, peer := ok, n.byIndex(req.Entry.SwIfIndex), addrOf(req.Entry.Peer)
	switch {
	case i == nil:
		rv = api.INVALID_SW_IF_INDEX
	case req.IsAdd != 0:
		rv = n.addEndpoint(i, peer, addrOf(req.Entry.Nh), req.Entry.NhTableID)
	default:
		index, e := n.findEndpoint(i.index, peer)
		if e == nil {
			rv = api.NO_SUCH_ENTRY
			break
		}
		n.removeEndpointRoute(e)
		n.l3.endpoints.remove(index)
	}
	return &teib.TeibEntryAddDelReply{Retval: int32(rv)}
}

func (n *VNet) findEndpoint(out uint32, peer netip.Addr) (uint32, *tunnelEndpoint) {
	for index, e := range n.l3.endpoints.all() {
		if e.out == out && e.peer == peer {
			return index, e
		}
	}
	return none, nil
}

func (n *VNet) addEndpoint(i *swInterface, peer, nextHop netip.Addr, table uint32) api.VPPApiError {
	via := n.fibs.Table(familyOf(nextHop), table)
	if via == nil {
		return api.NO_SUCH_FIB
	}
	if _, e := n.findEndpoint(i.index, peer); e != nil {
		return api.ENTRY_ALREADY_EXISTS
	}
	e := &tunnelEndpoint{out: i.index, peer: peer, nextHop: nextHop, via: via}
	n.addEndpointRoute(e, i.table[familyOf(peer)])
	n.l3.endpoints.add(e)
	return ok
}

// addEndpointRoute makes a peer a neighbour on the tunnel.
func (n *VNet) addEndpointRoute(e *tunnelEndpoint, table uint32) {
	e.table = table
	if e.peer.Is6() && e.peer.IsLinkLocalUnicast() {
		return
	}
	t := n.fibs.Table(familyOf(e.peer), table)
	t.Neighbors++
	n.fibs.Add(t, netip.PrefixFrom(e.peer, e.peer.BitLen()), fib.SourceADJ, []fib.Path{fib.ToNeighbor(e.out, e.peer)})
}

func (n *VNet) removeEndpointRoute(e *tunnelEndpoint) {
	if e.peer.Is6() && e.peer.IsLinkLocalUnicast() {
		return
	}
	t := n.fibs.Table(familyOf(e.peer), e.table)
	n.fibs.RemovePaths(t, netip.PrefixFrom(e.peer, e.peer.BitLen()), fib.SourceADJ, []fib.Path{fib.ToNeighbor(e.out, e.peer)})
	t.Neighbors--
	n.fibs.Release(t)
}

// endpointsRebind moves the host routes of the peers on an interface to the table
// that it is being bound to.
func (n *VNet) endpointsRebind(i *swInterface, f family, table uint32) {
	for _, e := range n.l3.endpoints.all() {
		if e.out == i.index && familyOf(e.peer) == f {
			n.removeEndpointRoute(e)
			n.addEndpointRoute(e, table)
		}
	}
}

func (n *VNet) dumpTunnelEndpoints(b *strings.Builder) {
	var lines []string
	for _, e := range n.l3.endpoints.all() {
		lines = append(lines, fmt.Sprintf("teib %s on %s via %s in %d\n", e.peer, n.orStaleIf(e.out), e.nextHop, e.via.ID))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, ""))
}
