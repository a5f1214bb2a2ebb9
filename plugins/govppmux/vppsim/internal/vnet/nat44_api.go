package vnet

import (
	"fmt"
	"strconv"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/cmdline"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	ed "go.fd.io/govpp/binapi/nat44_ed"
	ei "go.fd.io/govpp/binapi/nat44_ei"
	"go.fd.io/govpp/binapi/nat_types"
)

// The messages of the two kinds of NAT44.
type (
	nat44EDs struct{ nat44 }
	nat44EIs struct{ nat44 }
)

const (
	natAddrOnly = nat_types.NAT_IS_ADDR_ONLY
	natTwice    = nat_types.NAT_IS_TWICE_NAT
	natSelf     = nat_types.NAT_IS_SELF_TWICE_NAT
	natOut2In   = nat_types.NAT_IS_OUT2IN_ONLY
)

func newNat44EDs(n *VNet) feature { return &nat44EDs{nat44{VNet: n}} }

func (n *nat44EDs) register(server *wire.Server) {
	handle[ed.Nat44EdPluginEnableDisableReply](server, n.enableDisable)
	handle[ed.Nat44ForwardingEnableDisableReply](server, func(req *ed.Nat44ForwardingEnableDisable) retval {
		n.forwarding = req.Enable
		return ok
	})
	handle[ed.NatSetTimeoutsReply](server, func(req *ed.NatSetTimeouts) retval {
		n.timeouts = nat_types.NatTimeouts{UDP: req.UDP, TCPEstablished: req.TCPEstablished, TCPTransitory: req.TCPTransitory, ICMP: req.ICMP}
		return ok
	})
	wire.Handle(server, func(_ *wire.Call, _ *ed.Nat44ShowRunningConfig) *ed.Nat44ShowRunningConfigReply {
		return &ed.Nat44ShowRunningConfigReply{
			InsideVrf: n.config.insideVRF, OutsideVrf: n.config.outsideVRF, Sessions: n.config.sessions, TranslationBuckets: n.buckets,
			ForwardingEnabled: n.forwarding, IpfixLoggingEnabled: true, Timeouts: n.timeouts, Flags: ed.NAT44_IS_ENDPOINT_DEPENDENT,
		}
	})
	n.registerInterfaces(server)
	n.registerMappings(server)
	handle[ed.Nat44EdAddDelVrfTableReply](server, func(req *ed.Nat44EdAddDelVrfTable) retval { return n.changeTable(req.TableVrfID, req.IsAdd) })
	handle[ed.Nat44EdAddDelVrfRouteReply](server, func(req *ed.Nat44EdAddDelVrfRoute) retval {
		return n.changeRoute(req.TableVrfID, req.VrfID, req.IsAdd)
	})
}

func (n *nat44EDs) enableDisable(req *ed.Nat44EdPluginEnableDisable) retval {
	switch {
	case !req.Enable:
		return n.disable()
	case req.Flags&(ed.NAT44_IS_STATIC_MAPPING_ONLY|ed.NAT44_IS_CONNECTION_TRACKING) != 0:
		return api.UNSUPPORTED
	}
	return n.enable(natConfig{insideVRF: req.InsideVrf, outsideVRF: req.OutsideVrf, sessions: req.Sessions})
}

func (n *nat44EDs) registerInterfaces(server *wire.Server) {
	handle[ed.Nat44AddDelAddressRangeReply](server, func(req *ed.Nat44AddDelAddressRange) retval {
		return n.changeRange(req.FirstIPAddress, req.LastIPAddress, req.VrfID, req.IsAdd, req.Flags&natTwice != 0)
	})
	wire.HandleDump(server, func(c *wire.Call, _ *ed.Nat44AddressDump) {
		for _, a := range n.addresses {
			c.Send(&ed.Nat44AddressDetails{IPAddress: a.addr, VrfID: a.vrf()})
		}
		for _, a := range n.twice {
			c.Send(&ed.Nat44AddressDetails{IPAddress: a.addr, VrfID: a.vrf(), Flags: natTwice})
		}
	})
	handle[ed.Nat44AddDelInterfaceAddrReply](server, func(req *ed.Nat44AddDelInterfaceAddr) retval {
		return n.follow(natFollowed{req.SwIfIndex, req.Flags&natTwice != 0}, req.IsAdd)
	})
	wire.HandleDump(server, func(c *wire.Call, _ *ed.Nat44InterfaceAddrDump) {
		for _, f := range n.followed {
			d := &ed.Nat44InterfaceAddrDetails{SwIfIndex: f.index}
			if f.twice {
				d.Flags = natTwice
			}
			c.Send(d)
		}
	})
	handle[ed.Nat44InterfaceAddDelFeatureReply](server, func(req *ed.Nat44InterfaceAddDelFeature) retval {
		return n.changeSide(req.SwIfIndex, req.Flags&nat_types.NAT_IS_INSIDE != 0, req.IsAdd)
	})
	wire.HandleDump(server, func(c *wire.Call, _ *ed.Nat44InterfaceDump) {
		for _, i := range n.ifs.all() {
			d := &ed.Nat44InterfaceDetails{SwIfIndex: ifIndex(i.index)}
			if i.inside {
				d.Flags |= nat_types.NAT_IS_INSIDE
			}
			if i.outside {
				d.Flags |= nat_types.NAT_IS_OUTSIDE
			}
			c.Send(d)
		}
	})
	handle[ed.Nat44EdAddDelOutputInterfaceReply](server, func(req *ed.Nat44EdAddDelOutputInterface) retval {
		return n.changeOutput(req.SwIfIndex, req.IsAdd)
	})
	wire.Handle(server, func(c *wire.Call, _ *ed.Nat44EdOutputInterfaceGet) *ed.Nat44EdOutputInterfaceGetReply {
		for _, i := range n.outputs.all() {
			c.Send(&ed.Nat44EdOutputInterfaceDetails{SwIfIndex: ifIndex(i.index)})
		}
		return &ed.Nat44EdOutputInterfaceGetReply{Cursor: n.outputs.end()}
	})
}

// end is the cursor behind the last record; VPP reports none of an empty pool.
func (p *pool[T]) end() uint32 {
	for range p.all() {
		return none
	}
	return 0
}

func edFlags(f nat_types.NatConfigFlags) natFlags {
	return natFlags{addrOnly: f&natAddrOnly != 0, twice: f&natTwice != 0, self: f&natSelf != 0, out2in: f&natOut2In != 0}
}

func (f natFlags) ed() (out nat_types.NatConfigFlags) {
	for flag, set := range map[nat_types.NatConfigFlags]bool{natAddrOnly: f.addrOnly, natTwice: f.twice, natSelf: f.self, natOut2In: f.out2in} {
		if set {
			out |= flag
		}
	}
	return out
}

func (n *nat44EDs) registerMappings(server *wire.Server) {
	handle[ed.Nat44AddDelStaticMappingV2Reply](server, func(req *ed.Nat44AddDelStaticMappingV2) retval {
		m := natMapping{
			natFlags: edFlags(req.Flags), local: req.LocalIPAddress, external: req.ExternalIPAddress, localPort: req.LocalPort,
			port: req.ExternalPort, proto: req.Protocol, vrf: req.VrfID, iface: uint32(req.ExternalSwIfIndex), tag: natTag(req.Tag),
		}
		if n.before("23.02") {
			m.iface = ifaceOf2210(m.iface)
		}
		return n.changeMapping(m, req.IsAdd)
	})
	wire.HandleDump(server, func(c *wire.Call, _ *ed.Nat44StaticMappingDump) {
		n.eachMapping(false, func(m *natMapping, f natFlags) {
			c.Send(&ed.Nat44StaticMappingDetails{
				Flags: f.ed(), LocalIPAddress: m.local, ExternalIPAddress: m.external, Protocol: m.proto, LocalPort: m.localPort,
				ExternalPort: m.port, ExternalSwIfIndex: ifIndex(m.shownIface()), VrfID: m.vrf, Tag: m.tag,
			})
		})
	})
	handle[ed.Nat44AddDelIdentityMappingReply](server, func(req *ed.Nat44AddDelIdentityMapping) retval {
		m := natMapping{
			natFlags: edFlags(req.Flags & natAddrOnly), external: req.IPAddress, port: req.Port, localPort: req.Port, proto: req.Protocol,
			vrf: req.VrfID, iface: uint32(req.SwIfIndex), tag: natTag(req.Tag),
		}
		m.identity = true
		return n.changeMapping(m, req.IsAdd)
	})
	wire.HandleDump(server, func(c *wire.Call, _ *ed.Nat44IdentityMappingDump) {
		n.eachIdentity(func(m *natMapping, vrf uint32) {
			c.Send(&ed.Nat44IdentityMappingDetails{
				Flags: natFlags{addrOnly: m.addrOnly}.ed(), IPAddress: m.external, Protocol: m.proto, Port: m.localPort,
				SwIfIndex: ifIndex(m.iface), VrfID: vrf, Tag: m.tag,
			})
		})
	})
	n.registerBalanced(server)
}

// noSuchIface is the interface that VPP 22.10 stores for a static mapping with the interface ~0.
// The mapping waits for an address of that interface. In 22.10 the value 0 means no interface.
const noSuchIface = none - 1

func ifaceOf2210(index uint32) uint32 {
	switch index {
	case 0:
		return none
	case none:
		return noSuchIface
	}
	return index
}

func (m *natMapping) shownIface() uint32 {
	if m.iface == noSuchIface {
		return none
	}
	return m.iface
}

func (n *nat44EDs) registerBalanced(server *wire.Server) {
	handle[ed.Nat44AddDelLbStaticMappingReply](server, func(req *ed.Nat44AddDelLbStaticMapping) retval {
		m := natMapping{
			natFlags: edFlags(req.Flags), external: req.ExternalAddr, port: req.ExternalPort, proto: req.Protocol, iface: none, tag: natTag(req.Tag),
		}
		m.addrOnly, m.self = false, m.self && !m.twice
		for _, l := range req.Locals {
			m.locals.add(&natLocal{addr: l.Addr, port: l.Port, probability: l.Probability, vrf: l.VrfID})
		}
		return n.changeBalanced(m, req.IsAdd)
	})
	handle[ed.Nat44LbStaticMappingAddDelLocalReply](server, func(req *ed.Nat44LbStaticMappingAddDelLocal) retval {
		l := natLocal{addr: req.Local.Addr, port: req.Local.Port, probability: req.Local.Probability, vrf: req.Local.VrfID}
		if !n.on {
			return n.refuses()
		}
		return n.changeLocal(natEnd{req.ExternalAddr, req.ExternalPort, req.Protocol, 0}, l, req.IsAdd)
	})
	wire.HandleDump(server, func(c *wire.Call, _ *ed.Nat44LbStaticMappingDump) {
		for _, m := range n.mappings.all() {
			if !m.lb {
				continue
			}
			d := &ed.Nat44LbStaticMappingDetails{
				ExternalAddr: m.external, ExternalPort: m.port, Protocol: m.proto, Flags: m.ed(), Tag: m.tag, // without the affinity
			}
			for _, l := range m.locals.all() {
				d.Locals = append(d.Locals, ed.Nat44LbAddrPort{Addr: l.addr, Port: l.port, Probability: l.probability, VrfID: l.vrf})
			}
			c.Send(d)
		}
	})
}

// natTag is what VPP keeps of a tag.
func natTag(tag string) string { return tag[:min(len(tag), 63)] }

// eachMapping walks the static mappings, and after them the mappings of interfaces, for which
// VPP reports only some of the flags.
func (n *nat44) eachMapping(identity bool, each func(*natMapping, natFlags)) {
	for _, m := range n.mappings.all() {
		if m.identity == identity && !m.lb {
			each(m, m.natFlags)
		}
	}
	for _, m := range n.resolves {
		if m.identity == identity {
			each(m, natFlags{addrOnly: m.addrOnly, twice: m.twice})
		}
	}
}

func (n *nat44) eachIdentity(each func(*natMapping, uint32)) {
	n.eachMapping(true, func(m *natMapping, _ natFlags) {
		if m.iface != none {
			each(m, m.vrf)
			return
		}
		for _, l := range m.locals.all() {
			each(m, l.vrf)
		}
	})
}

func (n *nat44EDs) commands() []cmdline.Command {
	return []cmdline.Command{
		{Path: "show nat44 vrf tables", Run: n.showTables},
		{Path: "nat44 vrf table", Run: func(in *cmdline.Input) error {
			add, ids, err := natArgs(in, 1)
			if err != nil {
				return err
			}
			return natResult(add, n.changeTable(ids[0], add))
		}},
		{Path: "nat44 vrf route", Run: func(in *cmdline.Input) error {
			add, ids, err := natArgs(in, 2)
			if err != nil {
				return err
			}
			return natResult(add, n.changeRoute(ids[0], ids[1], add))
		}},
	}
}

func (n *nat44EDs) showTables(in *cmdline.Input) error {
	number := 0
	for _, t := range n.tables.all() {
		in.Line("table %d:", t.table.ID)
		for _, r := range t.routes.all() {
			in.Line("[%d] vrf-id %d", number, r.ID)
			number++
		}
	}
	return nil
}

// natArgs reads "add" or "del" and numbers, the first of two behind "table".
func natArgs(in *cmdline.Input, count int) (add bool, ids []uint32, err error) {
	rest := in.Args
	add = in.Next() == "add"
	if count == 2 {
		in.Next()
	}
	for range count {
		id, err := strconv.ParseUint(in.Next(), 10, 32)
		if err != nil {
			return false, nil, cmdline.UnknownInput(rest)
		}
		ids = append(ids, uint32(id))
	}
	return add, ids, nil
}

func natResult(add bool, rv retval) error {
	if rv == ok {
		return nil
	}
	what := "del"
	if add {
		what = "add"
	}
	return fmt.Errorf("%s vrf table returned %d", what, rv)
}

func newNat44EIs(n *VNet) feature { return &nat44EIs{nat44{VNet: n, ei: true}} }

func (n *nat44EIs) register(server *wire.Server) {
	handle[ei.Nat44EiPluginEnableDisableReply](server, func(req *ei.Nat44EiPluginEnableDisable) retval {
		if !req.Enable {
			return n.disable()
		}
		return n.enable(natConfig{req.InsideVrf, req.OutsideVrf, req.Users, req.Sessions, req.UserSessions, uint8(req.Flags)})
	})
	handle[ei.Nat44EiForwardingEnableDisableReply](server, func(req *ei.Nat44EiForwardingEnableDisable) retval {
		n.forwarding = req.Enable
		return ok
	})
	handle[ei.Nat44EiSetTimeoutsReply](server, func(req *ei.Nat44EiSetTimeouts) retval {
		n.timeouts = nat_types.NatTimeouts{UDP: req.UDP, TCPEstablished: req.TCPEstablished, TCPTransitory: req.TCPTransitory, ICMP: req.ICMP}
		return ok
	})
	wire.Handle(server, func(_ *wire.Call, _ *ei.Nat44EiShowRunningConfig) *ei.Nat44EiShowRunningConfigReply {
		return &ei.Nat44EiShowRunningConfigReply{
			InsideVrf: n.config.insideVRF, OutsideVrf: n.config.outsideVRF, Users: n.config.users, Sessions: n.config.sessions,
			UserSessions: n.config.userSessions, UserBuckets: n.userBucket, TranslationBuckets: n.buckets,
			ForwardingEnabled: n.forwarding, IpfixLoggingEnabled: true, Timeouts: n.timeouts,
			Flags: ei.Nat44EiConfigFlags(n.config.flags),
		}
	})
	n.registerInterfaces(server)
	n.registerMappings(server)
}

func (n *nat44EIs) registerInterfaces(server *wire.Server) {
	handle[ei.Nat44EiAddDelAddressRangeReply](server, func(req *ei.Nat44EiAddDelAddressRange) retval {
		return n.changeRange(req.FirstIPAddress, req.LastIPAddress, req.VrfID, req.IsAdd, false)
	})
	wire.HandleDump(server, func(c *wire.Call, _ *ei.Nat44EiAddressDump) {
		for _, a := range n.addresses {
			c.Send(&ei.Nat44EiAddressDetails{IPAddress: a.addr, VrfID: a.vrf()})
		}
	})
	handle[ei.Nat44EiAddDelInterfaceAddrReply](server, func(req *ei.Nat44EiAddDelInterfaceAddr) retval {
		return n.follow(natFollowed{req.SwIfIndex, false}, req.IsAdd)
	})
	wire.HandleDump(server, func(c *wire.Call, _ *ei.Nat44EiInterfaceAddrDump) {
		for _, f := range n.followed {
			c.Send(&ei.Nat44EiInterfaceAddrDetails{SwIfIndex: f.index})
		}
	})
	handle[ei.Nat44EiInterfaceAddDelFeatureReply](server, func(req *ei.Nat44EiInterfaceAddDelFeature) retval {
		return n.changeSide(req.SwIfIndex, req.Flags&ei.NAT44_EI_IF_INSIDE != 0, req.IsAdd)
	})
	wire.HandleDump(server, func(c *wire.Call, _ *ei.Nat44EiInterfaceDump) {
		for _, i := range n.ifs.all() {
			d := &ei.Nat44EiInterfaceDetails{SwIfIndex: ifIndex(i.index)}
			if i.inside {
				d.Flags |= ei.NAT44_EI_IF_INSIDE
			}
			if i.outside {
				d.Flags |= ei.NAT44_EI_IF_OUTSIDE
			}
			c.Send(d)
		}
	})
	handle[ei.Nat44EiAddDelOutputInterfaceReply](server, func(req *ei.Nat44EiAddDelOutputInterface) retval {
		return n.changeOutput(req.SwIfIndex, req.IsAdd)
	})
	wire.Handle(server, func(c *wire.Call, _ *ei.Nat44EiOutputInterfaceGet) *ei.Nat44EiOutputInterfaceGetReply {
		for _, i := range n.outputs.all() {
			c.Send(&ei.Nat44EiOutputInterfaceDetails{SwIfIndex: ifIndex(i.index)})
		}
		return &ei.Nat44EiOutputInterfaceGetReply{Cursor: n.outputs.end()}
	})
}

func (n *nat44EIs) registerMappings(server *wire.Server) {
	handle[ei.Nat44EiAddDelStaticMappingReply](server, func(req *ei.Nat44EiAddDelStaticMapping) retval {
		return n.changeMapping(natMapping{
			natFlags: eiFlags(req.Flags), local: req.LocalIPAddress, external: req.ExternalIPAddress, localPort: req.LocalPort,
			port: req.ExternalPort, proto: req.Protocol, vrf: req.VrfID, iface: uint32(req.ExternalSwIfIndex), tag: natTag(req.Tag),
		}, req.IsAdd)
	})
	wire.HandleDump(server, func(c *wire.Call, _ *ei.Nat44EiStaticMappingDump) {
		n.eachMapping(false, func(m *natMapping, f natFlags) {
			c.Send(&ei.Nat44EiStaticMappingDetails{
				Flags: f.ei(), LocalIPAddress: m.local, ExternalIPAddress: m.external, Protocol: m.proto, LocalPort: m.localPort,
				ExternalPort: m.port, ExternalSwIfIndex: ifIndex(m.iface), VrfID: m.vrf, Tag: m.tag,
			})
		})
	})
	handle[ei.Nat44EiAddDelIdentityMappingReply](server, func(req *ei.Nat44EiAddDelIdentityMapping) retval {
		m := natMapping{
			natFlags: eiFlags(req.Flags), external: req.IPAddress, port: req.Port, localPort: req.Port, proto: req.Protocol,
			vrf: req.VrfID, iface: uint32(req.SwIfIndex), tag: natTag(req.Tag),
		}
		m.identity = true
		return n.changeMapping(m, req.IsAdd)
	})
	wire.HandleDump(server, func(c *wire.Call, _ *ei.Nat44EiIdentityMappingDump) {
		n.eachIdentity(func(m *natMapping, vrf uint32) {
			proto := m.proto
			if m.addrOnly {
				proto = noProtocol
			}
			c.Send(&ei.Nat44EiIdentityMappingDetails{
				Flags: natFlags{addrOnly: m.addrOnly}.ei(), IPAddress: m.external, Protocol: proto, Port: m.localPort,
				SwIfIndex: ifIndex(m.iface), VrfID: vrf, Tag: m.tag,
			})
		})
	})
}

// noProtocol is what EI reports as the protocol of an identity mapping without.
const noProtocol = 255

func eiFlags(f ei.Nat44EiConfigFlags) natFlags {
	return natFlags{addrOnly: f&ei.NAT44_EI_ADDR_ONLY_MAPPING != 0}
}

func (f natFlags) ei() ei.Nat44EiConfigFlags {
	if f.addrOnly {
		return ei.NAT44_EI_ADDR_ONLY_MAPPING
	}
	return 0
}
