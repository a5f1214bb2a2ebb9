package catalogue

import (
	"net/netip"
	"slices"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/sr"
	"google.golang.org/protobuf/proto"

	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
)

// SRv6Segments is a list of segments.
func SRv6Segments(weight uint32, segments ...string) *srv6.Policy_SegmentList {
	return &srv6.Policy_SegmentList{Weight: weight, Segments: segments}
}

// SRv6Policy is a policy that encapsulates.
func SRv6Policy(bsid string, lists ...*srv6.Policy_SegmentList) *srv6.Policy {
	return &srv6.Policy{Bsid: bsid, SrhEncapsulation: true, SegmentLists: lists}
}

func srPolicy() Item {
	policy := To[*srv6.Policy]
	one, two := SRv6Segments(1, "2001:db8:1::1", "2001:db8:1::2"), SRv6Segments(5, "2001:db8:2::1", "2001:db8:2::2")
	lists := func(all ...*srv6.Policy_SegmentList) Change {
		return policy(func(p *srv6.Policy) { p.SegmentLists = all })
	}
	many := slices.Repeat([]string{"2001:db8::1"}, 17)
	return Item{
		Name: "vpp.srv6.policy",
		Make: func() proto.Message {
			p := SRv6Policy("2001:db8:200::1", one, two)
			p.InstallationVrfId = 7
			return p
		},
		Needs:      func() []proto.Message { return []proto.Message{&l3.VrfTable{Id: 7, Protocol: l3.VrfTable_IPV6}} },
		Capability: "SRv6 policy",
		Spellings:  []Change{lists(two, SRv6Segments(0, "2001:DB8:1::1", "2001:db8:1:0::2"))},
		Updates: []Change{
			lists(two), lists(SRv6Segments(1, "2001:db8:3::1")), lists(one, SRv6Segments(6, "2001:db8:2::1", "2001:db8:2::2"), SRv6Segments(1, "2001:db8:4::1")),
		},
		Recreates: []Change{
			policy(func(p *srv6.Policy) { p.SrhEncapsulation, p.SprayBehaviour = false, true }),
			policy(func(p *srv6.Policy) { p.InstallationVrfId = 0 }),
		},
		Refusals: map[string]Change{
			`bsid: "10.0.0.1", expected an IPv6 address`:                         policy(func(p *srv6.Policy) { p.Bsid = "10.0.0.1" }),
			"segment_lists: empty":                                               lists(),
			"segment_lists[0].segments: empty, expected 1 to 16":                 lists(SRv6Segments(1)),
			"segment_lists[0].segments: 17 segments, expected 1 to 16":           lists(SRv6Segments(1, many...)),
			`segment_lists[1].segments[0]: "10.0.0.1", expected an IPv6 address`: lists(one, SRv6Segments(1, "10.0.0.1")),
			"segment_lists[1]: the same segments":                                lists(one, one),
		},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &sr.SrPolicyDel{BsidAddr: netip.MustParseAddr(m.(*srv6.Policy).Bsid).As16()}, &sr.SrPolicyDelReply{}
		},
		Leaves:  map[string]string{"sr_policy_del": "the same error as for a policy that VPP does not have"},
		Without: map[string]string{"Conflicts": "the segment is the key"},
	}
}

func srGlobal() Item {
	global := To[*srv6.SRv6Global]
	return Item{
		Name:       "vpp.srv6.srv6-global",
		Make:       func() proto.Message { return &srv6.SRv6Global{EncapSourceAddress: "2001:db8::300"} },
		Capability: "SRv6 source address",
		Spellings:  []Change{global(func(g *srv6.SRv6Global) { g.EncapSourceAddress = "2001:DB8:0::300" })},
		Updates:    []Change{global(func(g *srv6.SRv6Global) { g.EncapSourceAddress = "2001:db8::301" })},
		Refusals: map[string]Change{
			`encap_source_address: "10.0.0.1", expected an IPv6 address`: global(func(g *srv6.SRv6Global) { g.EncapSourceAddress = "10.0.0.1" }),
		},
		ByHand: func(func(string) uint32, proto.Message) (api.Message, api.Message) {
			return &sr.SrSetEncapSource{}, &sr.SrSetEncapSourceReply{}
		},
		Without: map[string]string{
			"Needs": "the address need not exist", "Recreates": "there is one in a VPP, which changes", "Conflicts": "there is one in a VPP",
		},
	}
}
