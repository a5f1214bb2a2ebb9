package vnet

import (
	"fmt"
	"math"
	"net/netip"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip"
)

// pathMTU is the largest packet to an address.
type pathMTU struct {
	addr  netip.Addr
	table *fib.Table // held
	mtu   uint16
}

// pathMTUs are the path MTUs, one for an address in a table (src/vnet/ip/ip_path_mtu.c). A real
// VPP crashes when a table is deleted that has or had them.
type pathMTUs struct {
	*VNet
	pool[pathMTU]
}

func newPathMTUs(n *VNet) feature { return &pathMTUs{VNet: n} }

func (m *pathMTUs) register(server *wire.Server) {
	handle[ip.IPPathMtuUpdateReply](server, m.update)
	wire.Handle(server, func(c *wire.Call, _ *ip.IPPathMtuGet) *ip.IPPathMtuGetReply {
		for _, e := range m.all() {
			c.Send(&ip.IPPathMtuDetails{Pmtu: ip.IPPathMtu{TableID: e.table.ID, Nh: apiAddr(e.addr), PathMtu: e.mtu}})
		}
		return &ip.IPPathMtuGetReply{Cursor: m.end()}
	})
}

func (m *pathMTUs) reset() { m.pool = pool[pathMTU]{} }

func (m *pathMTUs) update(req *ip.IPPathMtuUpdate) retval {
	addr := addrOf(req.Pmtu.Nh)
	table := m.fibs.Table(familyOf(addr), req.Pmtu.TableID)
	if table == nil {
		return api.NO_SUCH_TABLE
	}
	index, has := m.find(func(e *pathMTU) bool { return e.addr == addr && e.table == table })
	invalid := req.Pmtu.PathMtu == 0 || req.Pmtu.PathMtu == math.MaxUint16
	switch {
	case has == nil && !invalid:
		table.Held++
		m.add(&pathMTU{addr, table, req.Pmtu.PathMtu})
	case has != nil && !invalid:
		has.mtu = req.Pmtu.PathMtu
	case has != nil:
		m.remove(index)
		m.releaseTable(table)
	}
	return ok
}

func (m *pathMTUs) dump(b *strings.Builder) {
	var lines []string
	for _, e := range m.all() {
		lines = append(lines, fmt.Sprintf("path mtu %d to %s in %d\n", e.mtu, e.addr, e.table.ID))
	}
	dumpSorted(b, lines)
}
