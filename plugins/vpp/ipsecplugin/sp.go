package ipsecplugin

import (
	"math"
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	ipsecapi "go.fd.io/govpp/binapi/ipsec"
	"go.fd.io/govpp/binapi/ipsec_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipsecplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	ipsec "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipsec"
)

// policy is a policy of a database. It matches every protocol with anyProtocol.
type policy = ipsec_types.IpsecSpdEntryV2

const anyProtocol = math.MaxUint8

// policyID distinguishes policies, as their keys do. VPP would have any number of them.
type policyID struct {
	spd, sa                                        uint32
	outbound                                       bool
	localStart, localStop, remoteStart, remoteStop ip_types.Address
}

var policyOperation = item.Declare("IPsec policy", "", item.Variant[policy]{
	Change: func(p policy, add bool) (request, reply api.Message) {
		return &ipsecapi.IpsecSpdEntryAddDelV2{IsAdd: add, Entry: p}, &ipsecapi.IpsecSpdEntryAddDelV2Reply{}
	},
	Dumps: []item.Dump[policy]{item.ListEach(&ipsecapi.IpsecSpdsDump{},
		func(spd *ipsecapi.IpsecSpdsDetails) api.Message {
			return &ipsecapi.IpsecSpdDump{SpdID: spd.SpdID, SaID: math.MaxUint32}
		},
		func(d *ipsecapi.IpsecSpdDetails) (policy, bool) { return policyOf(policy(d.Entry)), true })},
})

// NewSP describes security policies. VPP cannot change a policy. It holds the association of a
// policy that protects; the others need none.
func NewSP(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewEntry(vpp, nil, item.Entry[*ipsec.SecurityPolicy, policy, policyID]{
		Name: SPName, Model: model.SPModel, Operation: policyOperation,
		Resolve: resolvePolicy,
		ID: func(p policy) policyID {
			return policyID{
				p.SpdID, p.SaID, p.IsOutbound, p.LocalAddressStart, p.LocalAddressStop, p.RemoteAddressStart, p.RemoteAddressStop,
			}
		},
		Value: func(_ *item.Names, p policy) *ipsec.SecurityPolicy { return policyValue(p) },
		Gone:  []api.VPPApiError{api.SYSCALL_ERROR_1},
		Explain: map[api.VPPApiError]string{
			api.SYSCALL_ERROR_1: "spd_index, sa_index: VPP does not have the database or the association",
		},
	})
}

func resolvePolicy(r *item.Resolver, v *ipsec.SecurityPolicy) policy {
	p := policy{
		SpdID: v.GetSpdIndex(), SaID: v.GetSaIndex(), Priority: v.GetPriority(), IsOutbound: v.GetIsOutbound(),
		Policy:   ipsec_types.IpsecSpdAction(v.GetAction()),
		Protocol: uint8(v.GetProtocol()),
	}
	if p.Protocol == 0 {
		p.Protocol = anyProtocol
	}
	p.RemoteAddressStart, p.RemoteAddressStop = addresses(r, "remote", v.GetRemoteAddrStart(), v.GetRemoteAddrStop())
	p.LocalAddressStart, p.LocalAddressStop = addresses(r, "local", v.GetLocalAddrStart(), v.GetLocalAddrStop())
	if p.RemoteAddressStart.Af != p.LocalAddressStart.Af {
		r.Fail("local_addr_start", "%s, expected an address of the same version of IP as remote_addr_start", v.GetLocalAddrStart())
	}
	p.RemotePortStart, p.RemotePortStop = ports(r, "remote", v.GetRemotePortStart(), v.GetRemotePortStop())
	p.LocalPortStart, p.LocalPortStop = ports(r, "local", v.GetLocalPortStart(), v.GetLocalPortStop())
	r.DependsOn("spd-exists", model.SPDModel.KeyFor(number(p.SpdID)))
	switch v.GetAction() {
	case ipsec.SecurityPolicy_PROTECT:
		r.DependsOn("sa-exists", saKey(p.SaID))
	case ipsec.SecurityPolicy_BYPASS, ipsec.SecurityPolicy_DISCARD:
	default:
		r.Fail("action", "%s, expected BYPASS, DISCARD or PROTECT", v.GetAction())
	}
	return p
}

// addresses returns the range of addresses of a side.
func addresses(r *item.Resolver, side, first, last string) (start, stop ip_types.Address) {
	start, stop = r.Addr(side+"_addr_start", first), r.Addr(side+"_addr_stop", last)
	switch from, to := ipconv.FromAddress(start), ipconv.FromAddress(stop); {
	case from.Is4() != to.Is4():
		r.Fail(side+"_addr_stop", "%s, expected an address of the same version of IP as %s_addr_start", last, side)
	case to.Less(from):
		r.Fail(side+"_addr_stop", "%s is before %s_addr_start %s", last, side, first)
	}
	return start, stop
}

// ports returns the range of ports of a side, which is all ports if both are 0.
func ports(r *item.Resolver, side string, first, last uint32) (start, stop uint16) {
	if first == 0 && last == 0 {
		return 0, math.MaxUint16
	}
	if last < first {
		r.Fail(side+"_port_stop", "%d is less than %s_port_start %d", last, side, first)
	}
	return uint16(first), uint16(last)
}

// policyOf returns what VPP lists, in the form of resolvePolicy. VPP lists an IPv6 address that
// starts with 12 zero bytes, such as "::", as one of IPv4.
func policyOf(p policy) policy {
	all := []*ip_types.Address{&p.RemoteAddressStart, &p.RemoteAddressStop, &p.LocalAddressStart, &p.LocalAddressStop}
	for _, a := range all {
		if a.Af == ip_types.ADDRESS_IP6 {
			for _, short := range all {
				*short = ipconv.Address(netip.AddrFrom16(longAddress(*short)))
			}
			return p
		}
	}
	return p
}

// longAddress returns the 16 bytes of an IPv6 address that VPP may list as one of IPv4.
func longAddress(a ip_types.Address) (out [16]byte) {
	if a.Af == ip_types.ADDRESS_IP6 {
		return a.Un.GetIP6()
	}
	short := a.Un.GetIP4()
	copy(out[12:], short[:])
	return out
}

func policyValue(p policy) *ipsec.SecurityPolicy {
	v := &ipsec.SecurityPolicy{
		SpdIndex: p.SpdID, SaIndex: p.SaID, Priority: p.Priority, IsOutbound: p.IsOutbound,
		RemoteAddrStart: item.Addr(p.RemoteAddressStart), RemoteAddrStop: item.Addr(p.RemoteAddressStop),
		LocalAddrStart: item.Addr(p.LocalAddressStart), LocalAddrStop: item.Addr(p.LocalAddressStop),
		RemotePortStart: uint32(p.RemotePortStart), RemotePortStop: uint32(p.RemotePortStop),
		LocalPortStart: uint32(p.LocalPortStart), LocalPortStop: uint32(p.LocalPortStop),
		Action: ipsec.SecurityPolicy_Action(p.Policy),
	}
	if p.Protocol != anyProtocol {
		v.Protocol = uint32(p.Protocol)
	}
	return v
}
