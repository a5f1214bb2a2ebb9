package vnet

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/arp"
)

// proxyARP answers requests for addresses of others. Nothing of it is cleaned up
// behind an interface or a table.
type proxyARP struct {
	*VNet
	ranges []arpRange
	on     map[uint32]struct{} // by sw_if_index
}

// arpRange are addresses of a table. VPP does not mind the first being the larger.
type arpRange struct {
	table     *fib.Table
	first, to [4]byte
}

func newProxyARP(n *VNet) feature { return &proxyARP{VNet: n} }

func (ps *proxyARP) register(server *wire.Server) {
	handle[arp.ProxyArpAddDelReply](server, ps.proxyARPAddDel)
	wire.HandleDump(server, func(c *wire.Call, _ *arp.ProxyArpDump) {
		for _, r := range ps.ranges {
			table := r.table.ID
			if ps.before("25.10") {
				table = r.table.Index // as VPP has it inside
			}
			c.Send(&arp.ProxyArpDetails{Proxy: arp.ProxyArp{TableID: table, Low: r.first, Hi: r.to}})
		}
	})
	handle[arp.ProxyArpIntfcEnableDisableReply](server, ps.proxyARPEnable)
	wire.HandleDump(server, func(c *wire.Call, _ *arp.ProxyArpIntfcDump) {
		for _, index := range slices.Sorted(maps.Keys(ps.on)) {
			c.Send(&arp.ProxyArpIntfcDetails{SwIfIndex: index})
		}
	})
}

func (ps *proxyARP) reset() { ps.ranges, ps.on = nil, make(map[uint32]struct{}) }

// proxyARPAddDel: adding a range twice succeeds and holds it once.
func (ps *proxyARP) proxyARPAddDel(req *arp.ProxyArpAddDel) retval {
	t := ps.fibs.Table(ip4, req.Proxy.TableID)
	if t == nil {
		return api.NO_SUCH_FIB
	}
	r := arpRange{t, req.Proxy.Low, req.Proxy.Hi}
	at := slices.Index(ps.ranges, r)
	switch {
	case req.IsAdd && at < 0:
		ps.ranges = append(ps.ranges, r)
	case !req.IsAdd && at < 0:
		return api.NO_SUCH_ENTRY
	case !req.IsAdd:
		ps.ranges = slices.Delete(ps.ranges, at, at+1)
	}
	return ok
}

func (ps *proxyARP) proxyARPEnable(req *arp.ProxyArpIntfcEnableDisable) retval {
	switch {
	case ps.byIndex(req.SwIfIndex) == nil:
		return api.INVALID_SW_IF_INDEX
	case req.Enable:
		ps.on[uint32(req.SwIfIndex)] = struct{}{}
	default:
		delete(ps.on, uint32(req.SwIfIndex))
	}
	return ok
}

func (ps *proxyARP) dump(b *strings.Builder) {
	for _, r := range slices.SortedFunc(slices.Values(ps.ranges), func(a, b arpRange) int {
		return strings.Compare(a.String(), b.String())
	}) {
		fmt.Fprintf(b, "proxy-arp %s\n", r)
	}
	for _, index := range slices.Sorted(maps.Keys(ps.on)) {
		fmt.Fprintf(b, "proxy-arp on %s\n", ps.orStaleIf(index))
	}
}

// String is a range on one line.
func (r arpRange) String() string {
	return fmt.Sprintf("%s - %s in %d", netip.AddrFrom4(r.first), netip.AddrFrom4(r.to), r.table.ID)
}
