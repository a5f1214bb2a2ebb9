package vnet

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/cmdline"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/sr"
	"go.fd.io/govpp/binapi/sr_types"
)

// srPolicy is a policy of segment routing, with the indexes of its segment lists.
type srPolicy struct {
	bsid         ip_types.IP6Address
	spray, encap bool
	table        uint32
	lists        []uint32
}

// srPolicies are the policies, their segment lists, and the source address of encapsulating
// packets. The routes that VPP makes to policies are not simulated.
type srPolicies struct {
	*VNet
	pool[srPolicy]
	lists  pool[sr.Srv6SidList]
	source ip_types.IP6Address
}

func newSrPolicies(n *VNet) feature {
	n.srPolicies = &srPolicies{VNet: n}
	return n.srPolicies
}

func (ps *srPolicies) register(server *wire.Server) {
	handle[sr.SrPolicyAddReply](server, ps.addPolicy)
	handle[sr.SrPolicyModReply](server, ps.mod)
	handle[sr.SrPolicyDelReply](server, func(req *sr.SrPolicyDel) retval {
		index, p := ps.lookup(req.BsidAddr)
		if p == nil {
			return -1
		}
		for _, list := range p.lists {
			ps.lists.remove(list)
		}
		ps.remove(index)
		return ok
	})
	handle[sr.SrSetEncapSourceReply](server, func(req *sr.SrSetEncapSource) retval {
		ps.source = req.EncapsSource
		return ok
	})
	wire.HandleDump(server, func(c *wire.Call, _ *sr.SrPoliciesWithSlIndexDump) {
		for _, p := range ps.all() {
			d := &sr.SrPoliciesWithSlIndexDetails{Bsid: p.bsid, IsSpray: p.spray, IsEncap: p.encap, FibTable: p.table}
			for _, index := range p.lists {
				l := ps.lists.at(index)
				d.SidLists = append(d.SidLists, sr.Srv6SidListWithSlIndex{
					NumSids: l.NumSids, Weight: l.Weight, SlIndex: index, Sids: l.Sids,
				})
			}
			d.NumSidLists = uint8(len(d.SidLists))
			c.Send(d)
		}
	})
}

func (ps *srPolicies) reset() {
	ps.pool, ps.lists, ps.source = pool[srPolicy]{}, pool[sr.Srv6SidList]{}, ip_types.IP6Address{}
}

// none reports that there is no policy.
func (ps *srPolicies) none() bool {
	for range ps.all() {
		return false
	}
	return true
}

func (ps *srPolicies) lookup(bsid ip_types.IP6Address) (uint32, *srPolicy) {
	return ps.find(func(p *srPolicy) bool { return p.bsid == bsid })
}

// list makes a segment list, of weight 1 if all bits are set.
func (ps *srPolicies) list(l sr.Srv6SidList) uint32 {
	if l.Weight == none {
		l.Weight = 1
	}
	for i := int(l.NumSids); i < len(l.Sids); i++ {
		l.Sids[i] = ip_types.IP6Address{}
	}
	return ps.lists.add(&l)
}

func (ps *srPolicies) addPolicy(req *sr.SrPolicyAdd) retval {
	table := req.FibTable
	if table == none {
		table = 0
	}
	if _, has := ps.lookup(req.BsidAddr); has != nil {
		return -12
	}
	if ps.fibs.Table(ip6, table) == nil {
		return -13
	}
	ps.add(&srPolicy{req.BsidAddr, req.IsSpray, req.IsEncap, table, []uint32{ps.list(req.Sids)}})
	return ok
}

// mod answers with numbers of its own (sr_policy_mod in src/vnet/srv6/sr_policy_rewrite.c).
func (ps *srPolicies) mod(req *sr.SrPolicyMod) retval {
	_, p := ps.lookup(req.BsidAddr)
	if p == nil {
		return -1
	}
	at := slices.Index(p.lists, req.SlIndex)
	switch req.Operation {
	case sr_types.SR_POLICY_OP_API_ADD:
		p.lists = append(p.lists, ps.list(req.Sids))
	case sr_types.SR_POLICY_OP_API_DEL:
		switch {
		case len(p.lists) == 1:
			return -21
		case at < 0:
			return -22
		}
		ps.lists.remove(req.SlIndex)
		// The last takes its place.
		p.lists[at] = p.lists[len(p.lists)-1]
		p.lists = p.lists[:len(p.lists)-1]
	case sr_types.SR_POLICY_OP_API_MOD:
		if at < 0 {
			return -32
		}
		ps.lists.at(req.SlIndex).Weight = req.Sids.Weight
	default:
		return -1
	}
	return ok
}

func (ps *srPolicies) commands() []cmdline.Command {
	return []cmdline.Command{{Path: "show sr encaps source addr", Run: func(in *cmdline.Input) error {
		in.Line("SR encaps source addr = %s", netip.AddrFrom16(ps.source))
		return nil
	}}}
}

func (ps *srPolicies) dump(b *strings.Builder) {
	var lines []string
	for _, p := range ps.all() {
		var lists []string
		for _, index := range p.lists {
			lists = append(lists, fmt.Sprint(*ps.lists.at(index)))
		}
		slices.Sort(lists)
		lines = append(lines, fmt.Sprintf("sr policy %s spray %t encap %t in %d lists %v\n", netip.AddrFrom16(p.bsid), p.spray, p.encap, p.table, lists))
	}
	if ps.source != (ip_types.IP6Address{}) {
		lines = append(lines, fmt.Sprintf("sr source %s\n", netip.AddrFrom16(ps.source)))
	}
	dumpSorted(b, lines)
}
