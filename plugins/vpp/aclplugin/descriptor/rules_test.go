package descriptor

import (
	"slices"
	"testing"

	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
)

// Rules without networks and ICMP are two in VPP, one for each version of IP.
func TestPositionsOfRules(t *testing.T) {
	t.Parallel()
	any := &acl.ACL_Rule{IpRule: &acl.ACL_Rule_IpRule{}}
	one := &acl.ACL_Rule{IpRule: &acl.ACL_Rule_IpRule{Ip: &acl.ACL_Rule_IpRule_Ip{SourceNetwork: "10.0.0.0/8"}}}
	icmp := &acl.ACL_Rule{IpRule: &acl.ACL_Rule_IpRule{Icmp: &acl.ACL_Rule_IpRule_Icmp{}}}
	mac := &acl.ACL_Rule{MacipRule: &acl.ACL_Rule_MacIpRule{}}
	for _, rules := range [][]*acl.ACL_Rule{{one}, {any}, {one, any, any, icmp, any, one}, {any, one, one}, {icmp, icmp, any}} {
		v := &acl.ACL{Name: "x", Rules: rules}
		var want, got []int
		for n, r := range rules {
			list, err := listOf(&acl.ACL{Name: "x", Rules: []*acl.ACL_Rule{r}})
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, slices.Repeat([]int{n}, len(list.IP))...)
		}
		m := &Meta{Doubled: doubled(v)}
		for position := range want {
			got = append(got, m.rule(position))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: rules %v, expected %v", rules, got, want)
		}
	}
	if m := doubled(&acl.ACL{Rules: []*acl.ACL_Rule{mac}}); m != nil {
		t.Errorf("MAC/IP rules that are doubled: %v", m)
	}
}
