package vnet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding/cnatmsg"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/cnat"
	"go.fd.io/govpp/binapi/ip_types"
)

// cnats is CNAT: translations of virtual addresses, and source NAT. It keeps deleted interfaces
// in its lists. Endpoints are addresses: those that are interfaces are not simulated.
type cnats struct {
	*VNet
	translations pool[cnat.CnatTranslation]
	snat         cnat.CnatSetSnatAddresses
	policy       cnat.CnatSnatPolicies
	excluded     map[ip_types.Prefix]int // how often VPP counts the length of the prefix for it
	lists        map[cnatListed]bool
}

// cnatListed is an interface in a list of the policy.
type cnatListed struct {
	list  cnat.CnatSnatPolicyTable
	index uint32
}

func newCnats(n *VNet) feature { return &cnats{VNet: n} }

func (n *cnats) register(server *wire.Server) {
	update := func(t *cnat.CnatTranslation) *cnat.CnatTranslationUpdateReply {
		return &cnat.CnatTranslationUpdateReply{ID: n.update(t)}
	}
	wire.Handle(server, func(_ *wire.Call, req *cnat.CnatTranslationUpdate) *cnat.CnatTranslationUpdateReply {
		return update(&req.Translation)
	})
	wire.Handle(server, func(_ *wire.Call, req *cnatmsg.TranslationUpdate) *cnat.CnatTranslationUpdateReply {
		return update(&req.Translation)
	})
	handle[cnat.CnatTranslationDelReply](server, func(req *cnat.CnatTranslationDel) retval {
		if n.translations.at(req.ID) == nil {
			return api.NO_SUCH_ENTRY
		}
		n.translations.remove(req.ID)
		return ok
	})
	wire.HandleDump(server, func(c *wire.Call, _ *cnat.CnatTranslationDump) {
		for index, t := range n.translations.all() {
			details := n.details(index, t)
			if n.before("24.02") {
				old := &cnatmsg.TranslationDetails{}
				old.Translation = details
				c.Send(old)
				continue
			}
			c.Send(&cnat.CnatTranslationDetails{Translation: details})
		}
	})
	n.registerSNAT(server)
}

func (n *cnats) registerSNAT(server *wire.Server) {
	handle[cnat.CnatSetSnatAddressesReply](server, n.setAddresses)
	wire.Handle(server, func(_ *wire.Call, _ *cnat.CnatGetSnatAddresses) *cnat.CnatGetSnatAddressesReply {
		if !n.before("26.06") && !n.translates() {
			return &cnat.CnatGetSnatAddressesReply{Retval: int32(api.FEATURE_DISABLED)}
		}
		reply := &cnat.CnatGetSnatAddressesReply{SnatIP4: n.snat.SnatIP4, SnatIP6: n.snat.SnatIP6, SwIfIndex: n.snat.SwIfIndex}
		if reply.SnatIP6.ToIP().IsUnspecified() && !n.before("26.06") {
			reply.SwIfIndex = 0 // the IPv6 index, which was not set (cnat_set_snat in cnat_snat_policy.c)
		}
		return reply
	})
	handle[cnat.CnatSetSnatPolicyReply](server, func(req *cnat.CnatSetSnatPolicy) retval {
		if req.Policy > cnat.CNAT_POLICY_K8S {
			return retval(1)
		}
		n.policy = req.Policy
		return ok
	})
	handle[cnat.CnatSetSnatPolicyReply](server, func(req *cnatmsg.SetSnatPolicy) retval {
		const last = cnat.CNAT_POLICY_K8S + 1
		switch {
		case !n.translates(): // VPP crashes
			return api.FEATURE_DISABLED
		case req.Policy > last:
			return api.INVALID_VALUE
		}
		n.policy = req.Policy
		return ok
	})
	handle[cnat.CnatSnatPolicyAddDelExcludePfxReply](server, n.exclude)
	handle[cnat.CnatSnatPolicyAddDelIfReply](server, func(req *cnat.CnatSnatPolicyAddDelIf) retval {
		return n.setListed(req, cnat.CNAT_POLICY_HOST)
	})
	handle[cnat.CnatSnatPolicyAddDelIfReply](server, func(req *cnatmsg.SnatPolicyAddDelIf) retval {
		return n.setListed(&req.CnatSnatPolicyAddDelIf, cnat.CNAT_POLICY_POD)
	})
}

func (n *cnats) reset() {
	*n = cnats{VNet: n.VNet, excluded: map[ip_types.Prefix]int{}, lists: map[cnatListed]bool{}}
}

// translates says whether source NAT has an address.
func (n *cnats) translates() bool {
	return n.snat.SnatIP4 != ip_types.IP4Address{} || n.snat.SnatIP6 != ip_types.IP6Address{}
}

// update replaces the flags and the backends of a translation that exists, and nothing else.
func (n *cnats) update(t *cnat.CnatTranslation) uint32 {
	index, has := n.translations.find(func(has *cnat.CnatTranslation) bool {
		return has.Vip == t.Vip && has.IPProto == t.IPProto
	})
	if has == nil {
		kept := *t
		kept.Paths = slices.Clone(t.Paths)
		return n.translations.add(&kept)
	}
	before := has.Paths
	has.Flags, has.Paths = t.Flags, slices.Clone(t.Paths)
	for i := range has.Paths {
		for _, old := range before {
			// Backends that stay keep their flags, since 26.06.
			if p := &has.Paths[i]; old.DstEp == p.DstEp && old.SrcEp == p.SrcEp && !n.before("26.06") {
				p.Flags = old.Flags
			}
		}
	}
	return index
}

// details is what VPP reports about a translation.
func (n *cnats) details(index uint32, t *cnat.CnatTranslation) cnat.CnatTranslation {
	active := uint8(1)
	if !n.before("26.06") {
		active = 4
	}
	d := cnat.CnatTranslation{
		Vip: t.Vip, ID: index, IPProto: t.IPProto, LbType: t.LbType, NPaths: uint32(len(t.Paths)), Paths: slices.Clone(t.Paths),
	}
	for i := range d.Paths {
		d.Paths[i].Flags |= active
	}
	return d
}

// setAddresses without any goes back to the beginning, since 26.06.
func (n *cnats) setAddresses(req *cnat.CnatSetSnatAddresses) retval {
	before := n.translates()
	n.snat = *req
	if n.before("26.06") || n.translates() {
		return ok
	}
	n.policy = cnat.CNAT_POLICY_NONE
	clear(n.excluded)
	clear(n.lists)
	if !before {
		return api.FEATURE_DISABLED
	}
	return ok
}

func (n *cnats) exclude(req *cnat.CnatSnatPolicyAddDelExcludePfx) retval {
	switch {
	case !n.before("26.06") && !n.translates(): // VPP crashes
		return api.FEATURE_DISABLED
	case req.IsAdd != 0:
		n.excluded[req.Prefix]++
	case n.excluded[req.Prefix] == 0 && n.before("26.06"):
		return retval(1)
	default:
		delete(n.excluded, req.Prefix)
	}
	return ok
}

func (n *cnats) setListed(req *cnat.CnatSnatPolicyAddDelIf, last cnat.CnatSnatPolicyTable) retval {
	switch {
	case n.byIndex(req.SwIfIndex) == nil:
		return api.INVALID_SW_IF_INDEX
	case req.Table > last:
		return api.INVALID_VALUE
	case !n.before("26.06") && !n.translates():
		return api.FEATURE_DISABLED
	}
	at := cnatListed{req.Table, uint32(req.SwIfIndex)}
	if delete(n.lists, at); req.IsAdd != 0 {
		n.lists[at] = true
	}
	return ok
}

func (n *cnats) dump(b *strings.Builder) {
	var lines []string
	for _, t := range n.translations.all() {
		lines = append(lines, fmt.Sprintf("cnat %s %s %d real %d flags %d %s hash %s to %v\n",
			t.IPProto, t.Vip.Addr, t.Vip.Port, t.IsRealIP, t.Flags, t.LbType, t.FlowHashConfig, t.Paths))
	}
	if n.translates() {
		lines = append(lines, fmt.Sprintf("cnat source %s %s policy %s\n", n.snat.SnatIP4, n.snat.SnatIP6, n.policy))
	}
	for p, times := range n.excluded {
		lines = append(lines, fmt.Sprintf("cnat excluded %s %d times\n", p, times))
	}
	for l := range n.lists {
		lines = append(lines, fmt.Sprintf("cnat %s on %s\n", l.list, n.orStaleIf(l.index)))
	}
	dumpSorted(b, lines)
}
