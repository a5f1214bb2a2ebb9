package vpp

import (
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
)

func TestHitsOfRules(t *testing.T) {
	t.Parallel()
	got := hitsOf([]client.Metric{
		{Name: "vpp_acl_rule_bytes", Samples: []client.Sample{{Labels: `{acl="a\"b",agent="x",rule="3"}`, Value: "1.5e+09"}}},
		{Name: "vpp_acl_rule_packets", Samples: []client.Sample{
			{Labels: `{acl="a\"b",agent="x",rule="3"}`, Value: "2e+06"}, {Labels: `{acl="web",agent="x",rule="0"}`, Value: "7"},
		}},
		{Name: "vpp_stats_up", Samples: []client.Sample{{Value: "1"}}},
	})
	want := []ruleHits{{ACL: `a"b`, Rule: 3, Packets: 2_000_000, Bytes: 1_500_000_000}, {ACL: "web", Packets: 7}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, expected %+v", got, want)
	}
}
