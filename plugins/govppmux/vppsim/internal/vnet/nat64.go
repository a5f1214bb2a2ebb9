package vnet

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/nat64"
	"go.fd.io/govpp/binapi/nat_types"
)

// alreadyThere is the answer of NAT64 and NAT66 to being enabled twice.
const alreadyThere = retval(1)

// nat64s is NAT64. It keeps the VRF tables of prefixes and static bindings for ever.
type nat64s struct {
	*VNet
	on       bool
	timeouts nat_types.NatTimeouts
	ifs      pool[natInterface]
	pool     []natAddress
	prefixes []nat64.Nat64AddDelPrefix
	bindings pool[nat64.Nat64AddDelStaticBib]
	receives map[natReceived]uint32 // the interface that was added last; see natReceives
}

func newNat64s(n *VNet) feature { return &nat64s{VNet: n} }

func (n *nat64s) register(server *wire.Server) {
	handle[nat64.Nat64PluginEnableDisableReply](server, func(req *nat64.Nat64PluginEnableDisable) retval {
		if n.on == req.Enable {
			return alreadyThere
		}
		n.reset()
		n.on = req.Enable
		return ok
	})
	handle[nat64.Nat64SetTimeoutsReply](server, func(req *nat64.Nat64SetTimeouts) retval {
		n.timeouts = nat_types.NatTimeouts{
			UDP: req.UDP, TCPEstablished: req.TCPEstablished, TCPTransitory: req.TCPTransitory, ICMP: req.ICMP,
		}
		return ok
	})
	wire.Handle(server, func(_ *wire.Call, _ *nat64.Nat64GetTimeouts) *nat64.Nat64GetTimeoutsReply {
		t := n.timeouts
		return &nat64.Nat64GetTimeoutsReply{UDP: t.UDP, TCPEstablished: t.TCPEstablished, TCPTransitory: t.TCPTransitory, ICMP: t.ICMP}
	})
	handle[nat64.Nat64AddDelInterfaceReply](server, n.changeInterface)
	handle[nat64.Nat64AddDelPoolAddrRangeReply](server, n.changePool)
	handle[nat64.Nat64AddDelPrefixReply](server, n.changePrefix)
	handle[nat64.Nat64AddDelStaticBibReply](server, n.changeBinding)
	n.registerDumps(server)
}

func (n *nat64s) registerDumps(server *wire.Server) {
	wire.HandleDump(server, func(c *wire.Call, _ *nat64.Nat64InterfaceDump) {
		for _, i := range n.ifs.all() {
			d := &nat64.Nat64InterfaceDetails{SwIfIndex: ifIndex(i.index)}
			if i.inside {
				d.Flags |= nat_types.NAT_IS_INSIDE
			}
			if i.outside {
				d.Flags |= nat_types.NAT_IS_OUTSIDE
			}
			c.Send(d)
		}
	})
	wire.HandleDump(server, func(c *wire.Call, _ *nat64.Nat64PoolAddrDump) {
		for _, a := range n.pool {
			d := &nat64.Nat64PoolAddrDetails{Address: a.addr, VrfID: none}
			if a.table != nil {
				d.VrfID = a.table.ID
			}
			c.Send(d)
		}
	})
	wire.HandleDump(server, func(c *wire.Call, _ *nat64.Nat64PrefixDump) {
		for _, p := range n.prefixes {
			c.Send(&nat64.Nat64PrefixDetails{Prefix: p.Prefix, VrfID: p.VrfID})
		}
	})
	wire.HandleDump(server, func(c *wire.Call, req *nat64.Nat64BibDump) {
		for _, b := range n.bindings.all() {
			if req.Proto == 255 || req.Proto == b.Proto {
				c.Send(&nat64.Nat64BibDetails{
					IAddr: b.IAddr, OAddr: b.OAddr, IPort: b.IPort, OPort: b.OPort, VrfID: b.VrfID, Proto: b.Proto, Flags: nat_types.NAT_IS_STATIC,
				})
			}
		}
	})
}

func (n *nat64s) reset() {
	for _, a := range n.pool {
		if a.table != nil && n.on {
			n.releaseTable(a.table)
		}
	}
	receives := n.receives // VPP leaves them where they are
	if receives == nil {
		receives = map[natReceived]uint32{}
	}
	*n = nat64s{VNet: n.VNet, receives: receives, timeouts: nat_types.NatTimeouts{UDP: 300, TCPEstablished: 7440, TCPTransitory: 240, ICMP: 60}}
}

func (n *nat64s) changeInterface(req *nat64.Nat64AddDelInterface) retval {
	if n.byIndex(req.SwIfIndex) == nil {
		return api.INVALID_SW_IF_INDEX
	}
	at, i := n.ifs.find(func(i *natInterface) bool { return ifIndex(i.index) == req.SwIfIndex })
	inside := req.Flags&nat_types.NAT_IS_INSIDE != 0
	if !inside && (req.IsAdd || i != nil) {
		for _, a := range n.pool {
			n.receive(a.addr, uint32(req.SwIfIndex), req.IsAdd)
		}
	}
	switch {
	case !req.IsAdd && i == nil:
		return api.NO_SUCH_ENTRY
	case !req.IsAdd && i.inside && i.outside:
		i.inside, i.outside = !inside, inside
		return ok
	case !req.IsAdd:
		n.ifs.remove(at)
		return ok
	case i == nil:
		i = &natInterface{index: uint32(req.SwIfIndex)}
		n.ifs.add(i)
	}
	i.inside, i.outside = i.inside || inside, i.outside || !inside
	return ok
}

// changePool stops at the first address that is refused.
func (n *nat64s) changePool(req *nat64.Nat64AddDelPoolAddrRange) retval {
	first, last := binary.BigEndian.Uint32(req.StartAddr[:]), binary.BigEndian.Uint32(req.EndAddr[:])
	for number := uint64(first); number <= uint64(last); number++ {
		var addr ip_types.IP4Address
		binary.BigEndian.PutUint32(addr[:], uint32(number))
		if rv := n.changeAddress(addr, req.VrfID, req.IsAdd); rv != ok {
			return rv
		}
	}
	return ok
}

func (n *nat64s) changeAddress(addr ip_types.IP4Address, vrf uint32, add bool) retval {
	at := slices.IndexFunc(n.pool, func(a natAddress) bool { return a.addr == addr })
	switch {
	case add && at >= 0:
		return api.VALUE_EXIST
	case add:
		var table *fib.Table
		if vrf != none {
			table = n.holdTable(ip6, vrf)
		}
		n.pool = append(n.pool, natAddress{addr, table})
	case at < 0:
		return api.NO_SUCH_ENTRY
	default:
		if n.pool[at].table != nil {
			n.releaseTable(n.pool[at].table)
		}
		n.pool = slices.Delete(n.pool, at, at+1)
	}
	for _, i := range n.ifs.all() { // the first interface alone
		if !i.inside {
			n.receive(addr, i.index, add)
			break
		}
	}
	return ok
}

// receive adds an address to the table of an interface, or removes it from the table in which the
// interface is then.
func (n *nat64s) receive(addr ip_types.IP4Address, index uint32, add bool) {
	entry := natReceived{addr: addr}
	if i := n.VNet.ifs.at(index); i != nil {
		entry.table = i.table[ip4]
	}
	if add {
		n.receives[entry] = index
	} else {
		delete(n.receives, entry)
	}
}

func (n *nat64s) changePrefix(req *nat64.Nat64AddDelPrefix) retval {
	if !slices.Contains([]uint8{32, 40, 48, 56, 64, 96}, req.Prefix.Len) {
		return api.INVALID_VALUE
	}
	at := slices.IndexFunc(n.prefixes, func(p nat64.Nat64AddDelPrefix) bool { return p.VrfID == req.VrfID })
	switch {
	case !req.IsAdd && at < 0:
		return api.NO_SUCH_ENTRY
	case !req.IsAdd:
		n.prefixes = slices.Delete(n.prefixes, at, at+1)
	case at < 0:
		n.holdTable(ip6, req.VrfID)
		n.prefixes = append(n.prefixes, *req)
	default:
		n.prefixes[at] = *req
	}
	return ok
}

func (n *nat64s) changeBinding(req *nat64.Nat64AddDelStaticBib) retval {
	n.holdTable(ip6, req.VrfID)
	at, has := n.bindings.find(func(b *nat64.Nat64AddDelStaticBib) bool {
		return b.IAddr == req.IAddr && b.IPort == req.IPort && b.VrfID == req.VrfID && b.Proto == req.Proto
	})
	pooled := slices.ContainsFunc(n.pool, func(a natAddress) bool { return a.addr == req.OAddr })
	_, taken := n.bindings.find(func(b *nat64.Nat64AddDelStaticBib) bool {
		return pooled && b.OAddr == req.OAddr && b.OPort == req.OPort && b.Proto == req.Proto
	})
	switch {
	case !req.IsAdd && has == nil:
		return api.NO_SUCH_ENTRY
	case !req.IsAdd:
		n.bindings.remove(at)
	case has != nil:
		return api.VALUE_EXIST
	case taken != nil:
		return api.INVALID_VALUE
	default:
		kept := *req
		n.bindings.add(&kept)
	}
	return ok
}

func (n *nat64s) dump(b *strings.Builder) {
	if !n.on && len(n.receives) == 0 {
		return
	}
	lines := []string{fmt.Sprintf("nat64 timeouts %+v\n", n.timeouts)}
	for _, i := range n.ifs.all() {
		lines = append(lines, fmt.Sprintf("nat64 on %s inside %t outside %t\n", n.orStaleIf(i.index), i.inside, i.outside))
	}
	for _, a := range n.pool {
		table := "any"
		if a.table != nil {
			table = fmt.Sprint(a.table.ID)
		}
		lines = append(lines, fmt.Sprintf("nat64 address %s in %s\n", a.addr, table))
	}
	for r, index := range n.receives {
		lines = append(lines, fmt.Sprintf("nat64 receives %s in table %d on %s\n", r.addr, r.table, n.orStaleIf(index)))
	}
	for _, p := range n.prefixes {
		lines = append(lines, fmt.Sprintf("nat64 prefix %s in %d\n", p.Prefix, p.VrfID))
	}
	for _, e := range n.bindings.all() {
		lines = append(lines, fmt.Sprintf("nat64 static %d %s %d to %s %d in %d\n", e.Proto, e.IAddr, e.IPort, e.OAddr, e.OPort, e.VrfID))
	}
	dumpSorted(b, lines)
}
