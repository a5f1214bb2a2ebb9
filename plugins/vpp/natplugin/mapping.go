package natplugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"
	ed "go.fd.io/govpp/binapi/nat44_ed"
	ei "go.fd.io/govpp/binapi/nat44_ei"
	"go.fd.io/govpp/binapi/nat_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// mapping is a static, load-balanced or identity mapping.
type mapping struct {
	mappingID
	local     ip_types.IP4Address
	localPort uint16
	vrf       uint32 // of a static mapping
	locals    string // of a load-balanced mapping, as encodeLocals writes them
	twice     twiceNAT
	// bothWays: the mapping also translates the source of packets from the inside, which no value
	// asks for.
	bothWays bool
	// VPP does not list these.
	poolIP   ip_types.IP4Address
	affinity uint32
}

// mappingID is what distinguishes mappings.
type mappingID struct {
	tag   string
	form  form
	iface interface_types.InterfaceIndex // with the outside address; noIface if it is external
	// external is the outside address, or the address of an identity mapping.
	external ip_types.IP4Address
	port     uint16 // 0 with protocol 0: all
	protocol uint8
	vrf      uint32 // of an identity mapping
	// via is part of the ID of a mapping of an interface: VPP has one mapping for each.
	via inner
}

// inner is the inside endpoint of a mapping with an interface.
type inner struct {
	addr ip_types.IP4Address
	port uint16
	vrf  uint32
}

type form int

const (
	static form = iota
	identity
	balanced
)

type twiceNAT int

const (
	noTwiceNAT twiceNAT = iota
	twiceNATAlways
	twiceNATSelf
)

// noIface stands for no interface.
const noIface = interface_types.InterfaceIndex(item.NoInterface)

// tagLength is the number of bytes that VPP keeps of a tag.
const tagLength = 63

// listedMapping returns a mapping as VPP lists it.
func listedMapping(m mapping) mapping {
	m.poolIP, m.affinity = ip_types.IP4Address{}, 0
	if m.iface != noIface && m.twice == twiceNATSelf {
		m.twice = noTwiceNAT // for the mapping of an interface VPP reports only the other
	}
	return m
}

// local is an inside endpoint of a load-balanced mapping.
type local = ed.Nat44LbAddrPort

// encodeLocals makes endpoints comparable, whatever their order.
func encodeLocals(all []local) string {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b local) int {
		return cmp.Or(slices.Compare(a.Addr[:], b.Addr[:]), cmp.Compare(a.Port, b.Port), cmp.Compare(a.VrfID, b.VrfID),
			cmp.Compare(a.Probability, b.Probability))
	})
	var b strings.Builder
	for _, l := range all {
		b.Write(l.Addr[:])
		b.Write([]byte{
			byte(l.Port >> 8), byte(l.Port), l.Probability,
			byte(l.VrfID >> 24), byte(l.VrfID >> 16), byte(l.VrfID >> 8), byte(l.VrfID),
		})
	}
	return b.String()
}

const encodedLocal = 11

func decodeLocals(text string) (all []local) {
	for ; len(text) >= encodedLocal; text = text[encodedLocal:] {
		all = append(all, local{
			Addr: ip_types.IP4Address{text[0], text[1], text[2], text[3]}, Port: uint16(text[4])<<8 | uint16(text[5]), Probability: text[6],
			VrfID: uint32(text[7])<<24 | uint32(text[8])<<16 | uint32(text[9])<<8 | uint32(text[10]),
		})
	}
	return all
}

type mappingCalls = func(*session.VPP) item.PartCalls[mapping]

var mappingOperations = map[kind]*session.Operation[mappingCalls]{
	endpointDependent: session.Declare("NAT44 DNAT", plugin,
		session.Variant[mappingCalls](mappingsED(noIface), append(messagesED(), (*ed.Nat44UserSessionV3Dump)(nil))...),
		// VPP 22.10, which lacks that message, means no interface by 0.
		session.Variant[mappingCalls](mappingsED(0), messagesED()...)),
	endpointIndependent: session.Step("NAT44 DNAT", session.Variant[mappingCalls](mappingsEI,
		(*ei.Nat44EiAddDelStaticMapping)(nil), (*ei.Nat44EiAddDelStaticMappingReply)(nil),
		(*ei.Nat44EiAddDelIdentityMapping)(nil), (*ei.Nat44EiAddDelIdentityMappingReply)(nil),
		(*ei.Nat44EiStaticMappingDump)(nil), (*ei.Nat44EiStaticMappingDetails)(nil),
		(*ei.Nat44EiIdentityMappingDump)(nil), (*ei.Nat44EiIdentityMappingDetails)(nil))),
}

func messagesED() []api.Message {
	return []api.Message{
		(*ed.Nat44AddDelStaticMappingV2)(nil), (*ed.Nat44AddDelStaticMappingV2Reply)(nil),
		(*ed.Nat44AddDelIdentityMapping)(nil), (*ed.Nat44AddDelIdentityMappingReply)(nil),
		(*ed.Nat44AddDelLbStaticMapping)(nil), (*ed.Nat44AddDelLbStaticMappingReply)(nil),
		(*ed.Nat44StaticMappingDump)(nil), (*ed.Nat44StaticMappingDetails)(nil),
		(*ed.Nat44IdentityMappingDump)(nil), (*ed.Nat44IdentityMappingDetails)(nil),
		(*ed.Nat44LbStaticMappingDump)(nil), (*ed.Nat44LbStaticMappingDetails)(nil),
	}
}

// outside names a mapping by what VPP has once.
func (m mapping) outside(n *item.Names) string {
	text := map[form]string{static: "mapping", identity: "identity mapping", balanced: "load-balanced mapping"}[m.form]
	if m.iface == noIface {
		text += " of " + m.external.String()
	} else {
		text += " of interface " + cmp.Or(n.Interface(m.iface), fmt.Sprint(uint32(m.iface)))
	}
	if m.port != 0 {
		text += fmt.Sprintf(" port %d protocol %d", m.port, m.protocol)
	}
	if m.mappingID.vrf != 0 {
		text += fmt.Sprintf(" in VRF table %d", m.mappingID.vrf)
	}
	if m.via != (inner{}) {
		text += fmt.Sprintf(" to %s port %d", m.via.addr, m.via.port)
	}
	return text
}

func (m mapping) allPorts() bool { return m.port == 0 && m.localPort == 0 }

func (m mapping) flags() (f nat_types.NatConfigFlags) {
	switch m.twice {
	case twiceNATAlways:
		f = nat_types.NAT_IS_TWICE_NAT
	case twiceNATSelf:
		f = nat_types.NAT_IS_SELF_TWICE_NAT
	}
	if m.form != identity && !m.bothWays {
		f |= nat_types.NAT_IS_OUT2IN_ONLY
	}
	if m.form != balanced && m.allPorts() {
		f |= nat_types.NAT_IS_ADDR_ONLY
	}
	return f
}

func bothWays(f nat_types.NatConfigFlags) bool { return f&nat_types.NAT_IS_OUT2IN_ONLY == 0 }

func twiceOf(f nat_types.NatConfigFlags) twiceNAT {
	switch {
	case f&nat_types.NAT_IS_TWICE_NAT != 0:
		return twiceNATAlways
	case f&nat_types.NAT_IS_SELF_TWICE_NAT != 0:
		return twiceNATSelf
	}
	return noTwiceNAT
}

// mappingsED are the mappings of endpoint-dependent NAT. none is the interface of a static
// mapping without one.
func mappingsED(none interface_types.InterfaceIndex) mappingCalls {
	return func(vpp *session.VPP) item.PartCalls[mapping] {
		return item.PartCalls[mapping]{
			Change: func(m mapping, add bool) (request, reply api.Message) { return changeED(m, add, none) },
			List: func(ctx context.Context) ([]mapping, error) {
				all, err := listED(ctx, vpp)
				if err != nil {
					return nil, err
				}
				return withoutChildren(ctx, vpp, all)
			},
		}
	}
}

func changeED(m mapping, add bool, none interface_types.InterfaceIndex) (request, reply api.Message) {
	switch m.form {
	case identity:
		return &ed.Nat44AddDelIdentityMapping{
			IsAdd: add, Flags: m.flags(), IPAddress: m.external, Protocol: m.protocol, Port: m.port, SwIfIndex: m.iface,
			VrfID: m.mappingID.vrf, Tag: m.tag,
		}, &ed.Nat44AddDelIdentityMappingReply{}
	case balanced:
		return &ed.Nat44AddDelLbStaticMapping{
			IsAdd: add, Flags: m.flags(), ExternalAddr: m.external, ExternalPort: m.port, Protocol: m.protocol, Affinity: m.affinity,
			Tag: m.tag, Locals: decodeLocals(m.locals),
		}, &ed.Nat44AddDelLbStaticMappingReply{}
	}
	iface := m.iface
	if iface == noIface {
		iface = none
	}
	return &ed.Nat44AddDelStaticMappingV2{
		IsAdd: add, MatchPool: m.poolIP != ip_types.IP4Address{}, Flags: m.flags(), PoolIPAddress: m.poolIP, LocalIPAddress: m.local,
		ExternalIPAddress: m.external, Protocol: m.protocol, LocalPort: m.localPort, ExternalPort: m.port, ExternalSwIfIndex: iface,
		VrfID: m.vrf, Tag: m.tag,
	}, &ed.Nat44AddDelStaticMappingV2Reply{}
}

func listED(ctx context.Context, vpp *session.VPP) (all []mapping, err error) {
	err = session.Each(ctx, vpp, &ed.Nat44StaticMappingDump{}, func(d *ed.Nat44StaticMappingDetails) {
		all = append(all, staticMapping(mapping{
			mappingID: mappingID{tag: d.Tag, iface: d.ExternalSwIfIndex, external: d.ExternalIPAddress, port: d.ExternalPort, protocol: d.Protocol},
			local:     d.LocalIPAddress, localPort: d.LocalPort, vrf: d.VrfID, twice: twiceOf(d.Flags), bothWays: bothWays(d.Flags),
		}))
	})
	if err != nil {
		return nil, err
	}
	err = session.Each(ctx, vpp, &ed.Nat44IdentityMappingDump{}, func(d *ed.Nat44IdentityMappingDetails) {
		all = append(all, identityMapping(mappingID{
			tag: d.Tag, iface: d.SwIfIndex, external: d.IPAddress, port: d.Port, protocol: d.Protocol, vrf: d.VrfID,
		}))
	})
	if err != nil {
		return nil, err
	}
	err = session.Each(ctx, vpp, &ed.Nat44LbStaticMappingDump{}, func(d *ed.Nat44LbStaticMappingDetails) {
		all = append(all, mapping{
			mappingID: mappingID{
				tag: d.Tag, form: balanced, iface: noIface, external: d.ExternalAddr, port: d.ExternalPort, protocol: d.Protocol,
			},
			locals: encodeLocals(d.Locals), twice: twiceOf(d.Flags), bothWays: bothWays(d.Flags),
		})
	})
	return all, err
}

// staticMapping completes a static mapping.
func staticMapping(m mapping) mapping {
	if m.allPorts() {
		m.protocol = 0
	}
	if m.iface != noIface {
		m.external = ip_types.IP4Address{}
		m.via = inner{m.local, m.localPort, m.vrf}
		m.bothWays = false // not listed
	}
	return m
}

// identityMapping completes an identity mapping.
func identityMapping(id mappingID) mapping {
	id.form = identity
	if id.port == 0 {
		id.protocol = 0
	}
	if id.iface != noIface {
		id.external = ip_types.IP4Address{}
	}
	return mapping{mappingID: id}
}

// mappingsEI are the mappings of endpoint-independent NAT.
func mappingsEI(vpp *session.VPP) item.PartCalls[mapping] {
	return item.PartCalls[mapping]{
		Change: func(m mapping, add bool) (request, reply api.Message) {
			var flags ei.Nat44EiConfigFlags
			if m.allPorts() {
				flags = ei.NAT44_EI_ADDR_ONLY_MAPPING
			}
			if m.form == identity {
				return &ei.Nat44EiAddDelIdentityMapping{
					IsAdd: add, Flags: flags, IPAddress: m.external, Protocol: m.protocol, Port: m.port, SwIfIndex: m.iface,
					VrfID: m.mappingID.vrf, Tag: m.tag,
				}, &ei.Nat44EiAddDelIdentityMappingReply{}
			}
			return &ei.Nat44EiAddDelStaticMapping{
				IsAdd: add, Flags: flags, LocalIPAddress: m.local, ExternalIPAddress: m.external, Protocol: m.protocol,
				LocalPort: m.localPort, ExternalPort: m.port, ExternalSwIfIndex: m.iface, VrfID: m.vrf, Tag: m.tag,
			}, &ei.Nat44EiAddDelStaticMappingReply{}
		},
		List: func(ctx context.Context) ([]mapping, error) {
			all, err := listEI(ctx, vpp)
			if err != nil {
				return nil, err
			}
			return withoutChildren(ctx, vpp, all)
		},
	}
}

func listEI(ctx context.Context, vpp *session.VPP) (all []mapping, err error) {
	err = session.Each(ctx, vpp, &ei.Nat44EiStaticMappingDump{}, func(d *ei.Nat44EiStaticMappingDetails) {
		all = append(all, staticMapping(mapping{
			mappingID: mappingID{tag: d.Tag, iface: d.ExternalSwIfIndex, external: d.ExternalIPAddress, port: d.ExternalPort, protocol: d.Protocol},
			local:     d.LocalIPAddress, localPort: d.LocalPort, vrf: d.VrfID,
		}))
	})
	if err != nil {
		return nil, err
	}
	err = session.Each(ctx, vpp, &ei.Nat44EiIdentityMappingDump{}, func(d *ei.Nat44EiIdentityMappingDetails) {
		all = append(all, identityMapping(mappingID{
			tag: d.Tag, iface: d.SwIfIndex, external: d.IPAddress, port: d.Port, protocol: d.Protocol, vrf: d.VrfID,
		}))
	})
	return all, err
}

// withoutChildren leaves out the mappings that VPP has made of those with an interface, for an
// address of the interface.
func withoutChildren(ctx context.Context, vpp *session.VPP, all []mapping) ([]mapping, error) {
	children := map[mapping]bool{}
	addrs := map[interface_types.InterfaceIndex][]ip_types.IP4Address{}
	for _, m := range all {
		if m.iface == noIface {
			continue
		}
		if _, asked := addrs[m.iface]; !asked {
			found, err := session.Dump[*ip.IPAddressDetails](ctx, vpp, &ip.IPAddressDump{SwIfIndex: m.iface})
			if err != nil && !session.Gone(err) {
				return nil, err
			}
			addrs[m.iface] = nil
			for _, d := range found {
				addrs[m.iface] = append(addrs[m.iface], d.Prefix.Address.Un.GetIP4())
			}
		}
		for _, addr := range addrs[m.iface] {
			child := m
			child.iface, child.external, child.via, child.twice, child.bothWays = noIface, addr, inner{}, noTwiceNAT, false
			children[child] = true
		}
	}
	return slices.DeleteFunc(all, func(m mapping) bool {
		m.twice, m.bothWays = noTwiceNAT, false
		return children[m]
	}), nil
}
