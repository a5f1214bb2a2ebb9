package srplugin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/sr"
	"go.fd.io/govpp/binapi/sr_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
)

// srPolicy is a policy. The order of the lists has no meaning; they are sorted.
type srPolicy struct {
	bsid         ip_types.IP6Address
	table        uint32
	encap, spray bool
	lists        []sr.Srv6SidList
}

// maxSegments is how many segments a list of the API has.
const maxSegments = 16

var policyOperation = item.Declare("SRv6 policy", "", item.Variant[srPolicy]{
	Change: func(p srPolicy, add bool) (request, reply api.Message) {
		if !add {
			return &sr.SrPolicyDel{BsidAddr: p.bsid}, &sr.SrPolicyDelReply{}
		}
		req := &sr.SrPolicyAdd{BsidAddr: p.bsid, FibTable: p.table, IsEncap: p.encap, IsSpray: p.spray}
		if len(p.lists) > 0 {
			req.Sids = p.lists[0]
		}
		return req, &sr.SrPolicyAddReply{}
	},
	Dumps: []item.Dump[srPolicy]{item.List(&sr.SrPoliciesWithSlIndexDump{},
		func(d *sr.SrPoliciesWithSlIndexDetails) (srPolicy, bool) {
			p := srPolicy{bsid: d.Bsid, table: d.FibTable, encap: d.IsEncap, spray: d.IsSpray}
			for _, l := range d.SidLists {
				p.lists = append(p.lists, listOf(l))
			}
			slices.SortFunc(p.lists, compareLists)
			return p, true
		})},
})

// policyMod changes the segment lists of a policy.
var policyMod = session.Step("SRv6 policy: segment lists", session.Variant(struct{}{}, (*sr.SrPolicyMod)(nil), (*sr.SrPolicyModReply)(nil)))

type policies struct{ vpp *session.VPP }

// changes is held while the segment lists of policies that exist are read and changed: a change
// of the source address makes all of them again.
var changes = session.NewState(func() *sync.Mutex { return &sync.Mutex{} })

// NewPolicy describes policies. VPP makes a policy with one segment list; the others are added.
// A change adds new lists before it removes old ones, so that the policy always has one.
func NewPolicy(vpp *session.VPP) *kvs.KVDescriptor {
	d := &policies{vpp}
	return item.NewEntry(vpp, nil, item.Entry[*srv6.Policy, srPolicy, ip_types.IP6Address]{
		Name: PolicyName, Model: PolicyModel, Operation: policyOperation,
		Resolve: resolvePolicy,
		ID:      func(p srPolicy) ip_types.IP6Address { return p.bsid },
		Value:   func(_ *item.Names, p srPolicy) *srv6.Policy { return policyValue(p) },
		Changeable: func(old, p srPolicy) bool {
			return old.table == p.table && old.encap == p.encap && old.spray == p.spray
		},
		Complete: d.complete,
		Update:   d.update,
		Gone:     []api.VPPApiError{answer(-1)},
		Explain: map[api.VPPApiError]string{
			answer(-12): "bsid: VPP has a policy with this segment, or a route to it, already",
			answer(-13): "installation_vrf_id: VPP does not have the table",
		},
	})
}

func resolvePolicy(r *item.Resolver, v *srv6.Policy) srPolicy {
	p := srPolicy{
		bsid: segment(r, "bsid", v.GetBsid()), encap: v.GetSrhEncapsulation(), spray: v.GetSprayBehaviour(),
		table: table(r, "sr-policy-vrf-table-exists", v.GetInstallationVrfId(), l3.VrfTable_IPV6),
	}
	for i, l := range v.GetSegmentLists() {
		field := fmt.Sprintf("segment_lists[%d]", i)
		if n := len(l.GetSegments()); n == 0 || n > maxSegments {
			r.Fail(field+".segments", "%d segments, expected 1 to %d", n, maxSegments)
			continue
		}
		list := sr.Srv6SidList{NumSids: uint8(len(l.GetSegments())), Weight: max(1, l.GetWeight())}
		for n, text := range l.GetSegments() {
			list.Sids[n] = segment(r, fmt.Sprintf("%s.segments[%d]", field, n), text)
		}
		if slices.Contains(p.lists, list) {
			r.Fail(field, "the same segments with the same weight are listed twice")
		}
		p.lists = append(p.lists, list)
	}
	slices.SortFunc(p.lists, compareLists)
	return p
}

func compareLists(a, b sr.Srv6SidList) int {
	order := cmp.Or(cmp.Compare(a.NumSids, b.NumSids), cmp.Compare(a.Weight, b.Weight))
	for i := range a.Sids {
		order = cmp.Or(order, bytes.Compare(a.Sids[i][:], b.Sids[i][:]))
	}
	return order
}

func listOf(l sr.Srv6SidListWithSlIndex) sr.Srv6SidList {
	return sr.Srv6SidList{NumSids: l.NumSids, Weight: l.Weight, Sids: l.Sids}
}

func policyValue(p srPolicy) *srv6.Policy {
	v := &srv6.Policy{Bsid: segmentText(p.bsid), InstallationVrfId: p.table, SrhEncapsulation: p.encap, SprayBehaviour: p.spray}
	for _, l := range p.lists {
		list := &srv6.Policy_SegmentList{Weight: l.Weight}
		for _, s := range l.Sids[:min(int(l.NumSids), maxSegments)] {
			list.Segments = append(list.Segments, segmentText(s))
		}
		v.SegmentLists = append(v.SegmentLists, list)
	}
	return v
}

// complete adds the lists of a new policy after the first. A policy that cannot have all is
// removed.
func (d *policies) complete(ctx context.Context, p srPolicy) error {
	for _, l := range p.lists[1:] {
		if err := d.modify(ctx, &sr.SrPolicyMod{BsidAddr: p.bsid, Operation: sr_types.SR_POLICY_OP_API_ADD, Sids: l}); err != nil {
			return errors.Join(err, d.vpp.Call(ctx, &sr.SrPolicyDel{BsidAddr: p.bsid}, &sr.SrPolicyDelReply{}))
		}
	}
	return nil
}

func (d *policies) modify(ctx context.Context, req *sr.SrPolicyMod) error {
	if err := policyMod.Check(d.vpp); err != nil {
		return err
	}
	req.Weight = req.Sids.Weight
	return d.vpp.Call(ctx, req, &sr.SrPolicyModReply{})
}

func (d *policies) update(ctx context.Context, _, all []srPolicy) []error {
	errs := make([]error, len(all))
	one, err := changes.On(d.vpp)
	if err != nil {
		return slices.Repeat([]error{err}, len(all))
	}
	one.Lock()
	defer one.Unlock()
	found, err := session.Dump[*sr.SrPoliciesWithSlIndexDetails](ctx, d.vpp, &sr.SrPoliciesWithSlIndexDump{})
	for i, p := range all {
		if errs[i] = err; err != nil {
			continue
		}
		at := slices.IndexFunc(found, func(f *sr.SrPoliciesWithSlIndexDetails) bool { return f.Bsid == p.bsid })
		if at < 0 {
			errs[i] = fmt.Errorf("bsid: VPP does not have policy %s", segmentText(p.bsid))
			continue
		}
		errs[i] = d.replace(ctx, p, found[at].SidLists)
	}
	return errs
}

// replace replaces the segment lists of a policy.
func (d *policies) replace(ctx context.Context, p srPolicy, has []sr.Srv6SidListWithSlIndex) error {
	for _, l := range p.lists {
		if !slices.ContainsFunc(has, func(h sr.Srv6SidListWithSlIndex) bool { return listOf(h) == l }) {
			if err := d.modify(ctx, &sr.SrPolicyMod{BsidAddr: p.bsid, Operation: sr_types.SR_POLICY_OP_API_ADD, Sids: l}); err != nil {
				return err
			}
		}
	}
	kept := map[sr.Srv6SidList]bool{}
	for _, h := range has {
		if l := listOf(h); slices.Contains(p.lists, l) && !kept[l] {
			kept[l] = true
			continue
		}
		if err := d.remove(ctx, p.bsid, h.SlIndex); err != nil {
			return err
		}
	}
	return nil
}

func (d *policies) remove(ctx context.Context, bsid ip_types.IP6Address, list uint32) error {
	return d.modify(ctx, &sr.SrPolicyMod{BsidAddr: bsid, Operation: sr_types.SR_POLICY_OP_API_DEL, SlIndex: list})
}

// renew makes the segment lists of all policies that encapsulate again, each before the old one
// is removed. Policies may be deleted at the same time.
func (d *policies) renew(ctx context.Context) error {
	one, err := changes.On(d.vpp)
	if err != nil {
		return err
	}
	one.Lock()
	defer one.Unlock()
	found, err := d.dump(ctx)
	if err != nil {
		return err
	}
	for _, p := range found {
		if !p.IsEncap {
			continue
		}
		if err := d.renewLists(ctx, p); err != nil {
			left, dumpErr := d.dump(ctx)
			if dumpErr != nil || slices.ContainsFunc(left, func(f *sr.SrPoliciesWithSlIndexDetails) bool { return f.Bsid == p.Bsid }) {
				return errors.Join(fmt.Errorf("segment lists of policy %s: %w", segmentText(p.Bsid), err), dumpErr)
			}
		}
	}
	return nil
}

func (d *policies) renewLists(ctx context.Context, p *sr.SrPoliciesWithSlIndexDetails) error {
	for _, l := range p.SidLists {
		req := &sr.SrPolicyMod{BsidAddr: p.Bsid, Operation: sr_types.SR_POLICY_OP_API_ADD, Sids: listOf(l)}
		if err := d.modify(ctx, req); err != nil {
			return err
		}
		if err := d.remove(ctx, p.Bsid, l.SlIndex); err != nil {
			return err
		}
	}
	return nil
}

func (d *policies) dump(ctx context.Context) ([]*sr.SrPoliciesWithSlIndexDetails, error) {
	return session.DumpOf[*sr.SrPoliciesWithSlIndexDetails](ctx, d.vpp, policyOperation, &sr.SrPoliciesWithSlIndexDump{})
}
