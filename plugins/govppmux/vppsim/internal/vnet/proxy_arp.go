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
	ranges []arpRange
	on     map[uint32]struct{} // by sw_if_index
}

// arpRange are addresses of a table. VPP does not mind the first being the larger.
type arpRange struct {
	table     *fib.Table
	first, to [4]byte
}

func (n *VNet) handleProxyARP() {
	wire.Handle(n.server, n.proxyARPAddDel)
	wire.HandleDump(n.server, func(c *wire.Call, _ *arp.ProxyArpDump) {
		for _, r := range n.l3.arpProxies.ranges {
			table := r.table.ID
			if n.before("25.10") {
				table = r.table.Index // as VPP has it inside
			}
			c.Send(&arp.ProxyArpDetails{Proxy: arp.ProxyArp{TableID: table, Low: r.first, Hi: r.to}})
		}
	})
	wire.Handle(n.server, n.proxyARPEnable)
	wire.HandleDump(n.server, func(c *wire.Call, _ *arp.ProxyArpIntfcDump) {
		for _, index := range slices.Sorted(maps.Keys(n.l3.arpProxies.on)) {
			c.Send(&arp.ProxyArpIntfcDetails{SwIfIndex: index})
		}
	})
}

// proxyARPAddDel: adding a range twice succeeds and holds it once.
func (n *VNet) proxyARPAddDel(_ *wire.Call, req *arp.ProxyArpAddDel) *arp.ProxyArpAddDelReply {
	t := n.fibs.Table(ip4, req.Proxy.TableID)
	if t == nil {
		return &arp.ProxyArpAddDelReply{Retval: int32(api.NO_SUCH_FIB)}
	}
	s, r := &n.l3.arpProxies, arpRange{t, req.Proxy.Low, req.Proxy.Hi}
	at, rv := slices.Index(s.ranges, r), ok
	switch {
	case req.IsAdd && at < 0:
		s.ranges = append(s.ranges, r)
	case !req.IsAdd && at < 0:
		rv = api.NO_SUCH_ENTRY
	case !req.IsAdd:
		s.ranges = slices.Delete(s.ranges, at, at+1)
	}
	return &arp.ProxyArpAddDelReply{Retval: int32(rv)}
}

func (n *VNet) proxyARPEnable(_ *wire.Call, req *arp.ProxyArpIntfcEnableDisable) *arp.ProxyArpIntfcEnableDisableReply {
	rv := ok
	switch {
	case n.byIndex(req.SwIfIndex) == nil:
		rv = api.INVALID_SW_IF_INDEX
	case req.Enable:
		n.l3.arpProxies.on[uint32(req.SwIfIndex)] = struct{}{}
	default:
		delete(n.l3.arpProxies.on, uint32(req.SwIfIndex))
	}
	return &arp.ProxyArpIntfcEnableDisableReply{Retval: int32(rv)}
}

func (n *VNet) dumpProxyARP(b *strings.Builder) {
	for _, r := range slices.SortedFunc(slices.Values(n.l3.arpProxies.ranges), func(a, b arpRange) int {
		return strings.Compare(a.String(), b.String())
	}) {
		fmt.Fprintf(b, "proxy-arp %s\n", r)
	}
	for _, index := range slices.Sorted(maps.Keys(n.l3.arpProxies.on)) {
		fmt.Fprintf(b, "proxy-arp on %s\n", n.orStaleIf(index))
	}
}

// String is a range on one line.
func (r arpRange) String() string {
	return fmt.Sprintf("%s - %s in %d", netip.AddrFrom4(r.first), netip.AddrFrom4(r.to), r.table.ID)
}
