package vnet

import (
	"net/netip"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"
)

func (n *VNet) handleVRFTables() {
	handle[ip.IPTableAddDelReply](n.server, func(req *ip.IPTableAddDel) retval {
		n.changeVRFTable(req.IsAdd, &req.Table)
		return ok
	})
	handle[ip.IPTableAddDelV2Reply](n.server, func(req *ip.IPTableAddDelV2) retval {
		n.changeVRFTable(req.IsAdd, &req.Table)
		return ok
	})
	handle[ip.IPTableFlushReply](n.server, func(req *ip.IPTableFlush) retval { return n.flushVRFTable(&req.Table) })
	wire.HandleDump(n.server, n.vrfTableDump)
	handle[ip.SetIPFlowHashV2Reply](n.server, func(req *ip.SetIPFlowHashV2) retval {
		return n.setFlowHash(req.Af, req.TableID, uint32(req.FlowHashConfig))
	})
	handle[ip.SetIPFlowHashV3Reply](n.server, func(req *ip.SetIPFlowHashV3) retval {
		return n.setFlowHash(req.Af, req.TableID, uint32(req.FlowHashConfig))
	})
}

// changeVRFTable always succeeds: adding a table twice holds it once, deleting a table
// that is in use only lets go of it, and table 0 cannot be touched.
func (n *VNet) changeVRFTable(add bool, table *ip.IPTable) {
	f := familyFlag(table.IsIP6)
	t := n.fibs.Table(f, table.TableID)
	switch {
	case table.TableID == 0:
	case !add && t == nil:
	case !add:
		t.API = false
		n.fibs.Release(t)
	case t == nil:
		n.fibs.Create(f, table.TableID, table.Name).API = true
	default:
		t.API = true
	}
}

// flushVRFTable removes the routes that the API made, and takes down every interface
// in the table.
func (n *VNet) flushVRFTable(table *ip.IPTable) retval {
	f := familyFlag(table.IsIP6)
	t := n.fibs.Table(f, table.TableID)
	if t == nil {
		return api.NO_SUCH_FIB
	}
	for _, i := range n.ifs.all() {
		if i.table[f] == t.ID {
			n.setAdmin(i, false)
		}
	}
	n.fibs.Flush(t, fib.SourceAPI)
	return ok
}

func (n *VNet) vrfTableDump(c *wire.Call, _ *ip.IPTableDump) {
	for f := range families {
		for t := range n.fibs.ByIndex(f) {
			c.Send(&ip.IPTableDetails{Table: ip.IPTable{TableID: t.ID, IsIP6: f == ip6, Name: t.Name}})
		}
	}
	if !n.srPolicies.none() { // their tables have no number, and do not go before the last policy
		for _, version := range []string{"IP6", "IP4"} {
			name := "SRv6 steering of " + version + " prefixes through BSIDs"
			c.Send(&ip.IPTableDetails{Table: ip.IPTable{TableID: none, IsIP6: true, Name: name}})
		}
	}
}

func (n *VNet) setFlowHash(af ip_types.AddressFamily, id, config uint32) retval {
	t := n.fibs.Table(familyFlag(af == ip_types.ADDRESS_IP6), id)
	if t == nil {
		return api.NO_SUCH_FIB
	}
	t.FlowHash = config
	return ok
}

// bindTable puts an interface into a table. A table other than 0 is held by the
// interfaces in it.
func (n *VNet) bindTable(i *swInterface, f family, id uint32) {
	old := n.fibs.Table(f, i.table[f])
	n.arpsRebind(i, f, id)
	for _, feature := range n.hooks.rebinders {
		feature.interfaceRebind(i, f, id)
	}
	for _, a := range i.addresses[f] { // an unnumbered interface may have its own
		n.subnets.remove(old.ID, a.prefix)
		n.subnets.add(id, a.prefix)
	}
	i.table[f] = id
	if id != 0 {
		n.fibs.Table(f, id).Bound++
	}
	if old.ID != 0 {
		old.Bound--
		n.fibs.Release(old)
	}
}

// holdTable makes a table if there is none, and keeps it until releaseTable.
func (n *VNet) holdTable(f family, id uint32) *fib.Table {
	t := n.fibs.Table(f, id)
	if t == nil {
		t = n.fibs.Create(f, id, "")
	}
	t.Held++
	return t
}

func (n *VNet) releaseTable(t *fib.Table) {
	t.Held--
	n.fibs.Release(t)
}

// addAddressRoutes adds what VPP adds for an address on an enabled interface: the
// address itself, the connected prefix with its first and last address, or the
// peer of a /31.
func (n *VNet) addAddressRoutes(i *swInterface, address netip.Prefix) {
	addr, f := address.Addr(), familyOf(address.Addr())
	t := n.fibs.Table(f, i.table[f])
	host := netip.PrefixFrom(addr, addr.BitLen())
	n.fibs.Set(t, host, fib.SourceInterface, []fib.Path{fib.Local(i.index, addr)})
	if address.IsSingleIP() {
		return
	}
	if i.prefixes == nil {
		i.prefixes = make(map[netip.Prefix]int)
	}
	connected := address.Masked()
	i.prefixes[connected]++
	if i.prefixes[connected] > 1 {
		return
	}
	shown := connected
	if f == ip4 {
		shown = address
	}
	n.fibs.Set(t, shown, fib.SourceInterface, []fib.Path{fib.Glean(i.index, f)})
	for _, special := range specialAddresses(address) {
		path := fib.Drop(f)
		if address.Bits() == 31 {
			path = fib.ToNeighbor(i.index, special)
		}
		n.fibs.Set(t, netip.PrefixFrom(special, 32), fib.SourceInterface, []fib.Path{path})
	}
}

// removeAddressRoutes undoes addAddressRoutes; the connected prefix goes with the
// last address in it.
func (n *VNet) removeAddressRoutes(i *swInterface, address netip.Prefix) {
	addr, f := address.Addr(), familyOf(address.Addr())
	t := n.fibs.Table(f, i.table[f])
	n.fibs.Remove(t, netip.PrefixFrom(addr, addr.BitLen()), fib.SourceInterface)
	connected := address.Masked()
	if i.prefixes[connected] == 0 {
		return
	}
	i.prefixes[connected]--
	if i.prefixes[connected] > 0 {
		return
	}
	for _, special := range specialAddresses(address) {
		n.fibs.Remove(t, netip.PrefixFrom(special, 32), fib.SourceInterface)
	}
	n.fibs.Remove(t, connected, fib.SourceInterface)
}

// specialAddresses returns the first and the last address of an IPv4 subnet, or the
// peer in a /31, without the address itself.
func specialAddresses(address netip.Prefix) []netip.Addr {
	if !address.Addr().Is4() || address.IsSingleIP() {
		return nil
	}
	first := address.Masked().Addr()
	last := first.As4()
	for bit := address.Bits(); bit < 32; bit++ {
		last[bit/8] |= 0x80 >> (bit % 8)
	}
	var special []netip.Addr
	for _, a := range []netip.Addr{first, netip.AddrFrom4(last)} {
		if a != address.Addr() {
			special = append(special, a)
		}
	}
	return special
}
