package vnet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/ipsec"
	"go.fd.io/govpp/binapi/ipsec_types"
)

// policyKinds is how many lists of policies a database has: outbound and, by action, inbound,
// each for IPv4 and IPv6.
const policyKinds = 8

// ipsecPolicies are the policies of the databases.
type ipsecPolicies struct {
	*VNet
	pool[struct{}] // the indexes of counters
}

func newIpsecPolicies(n *VNet) feature { return &ipsecPolicies{VNet: n} }

func (ps *ipsecPolicies) register(server *wire.Server) {
	wire.Handle(server, func(_ *wire.Call, req *ipsec.IpsecSpdEntryAddDelV2) *ipsec.IpsecSpdEntryAddDelV2Reply {
		index, rv := ps.addDelPolicy(req.IsAdd, req.Entry)
		return &ipsec.IpsecSpdEntryAddDelV2Reply{Retval: int32(rv), StatIndex: index}
	})
	wire.HandleDump(server, func(c *wire.Call, req *ipsec.IpsecSpdDump) {
		_, spd := ps.ipsecSPDs.lookup(req.SpdID)
		if spd == nil {
			return
		}
		for _, p := range slices.Concat(spd.policies[:]...) {
			if req.SaID == none || req.SaID == p.entry.SaID {
				e := p.entry
				for _, a := range []*ip_types.Address{
					&e.LocalAddressStart, &e.LocalAddressStop, &e.RemoteAddressStart, &e.RemoteAddressStop,
				} {
					*a = shortAddress(*a)
				}
				c.Send(&ipsec.IpsecSpdDetails{Entry: ipsec_types.IpsecSpdEntry(e)})
			}
		}
	})
}

func (ps *ipsecPolicies) reset() { ps.pool = pool[struct{}]{} }

// shortAddress is an address as ip_address_encode writes it without being told the family.
func shortAddress(a ip_types.Address) ip_types.Address {
	if a.Af != ip_types.ADDRESS_IP6 {
		return a
	}
	bytes := a.Un.GetIP6()
	if [12]byte(bytes[:12]) != [12]byte{} {
		return a
	}
	return ip_types.Address{Un: ip_types.AddressUnionIP4(ip_types.IP4Address(bytes[12:]))}
}

func (ps *ipsecPolicies) addDelPolicy(add bool, e ipsec_types.IpsecSpdEntryV2) (uint32, retval) {
	if e.Policy > ipsec_types.IPSEC_API_SPD_ACTION_PROTECT || e.Policy == ipsec_types.IPSEC_API_SPD_ACTION_RESOLVE {
		return none, api.UNIMPLEMENTED
	}
	_, spd := ps.ipsecSPDs.lookup(e.SpdID)
	if spd == nil {
		return none, api.SYSCALL_ERROR_1
	}
	list := &spd.policies[policyKind(&e)]
	protects := e.Policy == ipsec_types.IPSEC_API_SPD_ACTION_PROTECT
	if add {
		if protects && ps.ipsecSAs.hold(e.SaID) == nil {
			return none, api.SYSCALL_ERROR_1
		}
		p := &ipsecPolicy{entry: e, index: ps.add(&struct{}{})}
		at := slices.IndexFunc(*list, func(other *ipsecPolicy) bool { return other.entry.Priority <= e.Priority })
		if at < 0 {
			at = len(*list)
		}
		*list = slices.Insert(*list, at, p)
		return p.index, ok
	}
	at := slices.IndexFunc(*list, func(other *ipsecPolicy) bool { return other.entry == e })
	if at >= 0 {
		if protects {
			ps.ipsecSAs.release(e.SaID)
		}
		ps.remove((*list)[at].index)
		*list = slices.Delete(*list, at, at+1)
	}
	return none, ok
}

// policyKind is the list of a policy, in the order in which they are dumped.
func policyKind(e *ipsec_types.IpsecSpdEntryV2) int {
	kind := 0
	if !e.IsOutbound {
		switch e.Policy {
		case ipsec_types.IPSEC_API_SPD_ACTION_PROTECT:
			kind = 2
		case ipsec_types.IPSEC_API_SPD_ACTION_BYPASS:
			kind = 4
		default:
			kind = 6
		}
	}
	return kind + int(e.RemoteAddressStart.Af)
}

func (ps *ipsecPolicies) dump(b *strings.Builder) {
	var lines []string
	for _, spd := range ps.ipsecSPDs.all() {
		for _, p := range slices.Concat(spd.policies[:]...) {
			e := p.entry
			lines = append(lines, fmt.Sprintf("ipsec policy in %d out %t priority %d %s sa %d protocol %d local %s-%s %d-%d remote %s-%s %d-%d\n",
				e.SpdID, e.IsOutbound, e.Priority, e.Policy, e.SaID, e.Protocol,
				addrOf(e.LocalAddressStart), addrOf(e.LocalAddressStop), e.LocalPortStart, e.LocalPortStop,
				addrOf(e.RemoteAddressStart), addrOf(e.RemoteAddressStop), e.RemotePortStart, e.RemotePortStop))
		}
	}
	dumpSorted(b, lines)
}
