package fields_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/fields"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
	vppif "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

// shown writes changes as a plan does.
func shown(changes []fields.Change) string {
	var lines []string
	for _, c := range changes {
		switch {
		case !c.Has:
			lines = append(lines, fmt.Sprintf("- %s: %s", c.Path, c.Old))
		case !c.Had:
			lines = append(lines, fmt.Sprintf("+ %s: %s", c.Path, c.New))
		default:
			lines = append(lines, fmt.Sprintf("~ %s: %s -> %s", c.Path, c.Old, c.New))
		}
	}
	return strings.Join(lines, "\n")
}

// Zero values that matter are shown: enums of list elements, and changes to and from zero.
func TestDiff(t *testing.T) {
	t.Parallel()
	rules := func(actions ...acl.ACL_Rule_Action) *acl.ACL {
		a := &acl.ACL{Name: "a"}
		for _, action := range actions {
			a.Rules = append(a.Rules, &acl.ACL_Rule{Action: action})
		}
		return a
	}
	for _, c := range []struct {
		before, after proto.Message
		want          string
	}{
		{nil, rules(acl.ACL_Rule_DENY), "+ name: \"a\"\n+ rules[0].action: DENY"},
		{rules(acl.ACL_Rule_DENY), rules(acl.ACL_Rule_REFLECT), "~ rules[0].action: DENY -> REFLECT"},
		{rules(acl.ACL_Rule_PERMIT), rules(acl.ACL_Rule_DENY), "~ rules[0].action: PERMIT -> DENY"},
		{rules(acl.ACL_Rule_PERMIT, acl.ACL_Rule_DENY), rules(acl.ACL_Rule_PERMIT), "- rules[1].action: DENY"},
		{&l2.BridgeDomain{Name: "b", Learn: true}, &l2.BridgeDomain{Name: "b"}, "~ learn: true -> false"},
		{&l2.BridgeDomain{Name: "b"}, &l2.BridgeDomain{Name: "b", MacAge: 5}, "~ mac_age: 0 -> 5"},
		{&vppif.Interface{Name: "i", PhysAddress: "02:00:00:00:00:01"}, &vppif.Interface{Name: "i"}, `~ phys_address: "02:00:00:00:00:01" -> ""`},
		{&vppif.Interface{Name: "i", IpAddresses: []string{"10.0.0.1/8"}}, &vppif.Interface{Name: "i"}, `- ip_addresses[0]: "10.0.0.1/8"`},
		{&vppif.Interface{Link: &vppif.Interface_Memif{Memif: &vppif.MemifLink{Id: 1}}}, &vppif.Interface{}, "- memif.id: 1"},
		{&vppif.Interface{Link: &vppif.Interface_Memif{Memif: &vppif.MemifLink{Id: 1}}}, &vppif.Interface{Link: &vppif.Interface_Memif{Memif: &vppif.MemifLink{Master: true}}},
			"~ memif.id: 1 -> 0\n~ memif.master: false -> true"},
		{&vppif.Interface{Name: "<a&b>"}, &vppif.Interface{Name: "<a>"}, `~ name: "<a&b>" -> "<a>"`},
		{rules(acl.ACL_Rule_DENY), rules(acl.ACL_Rule_DENY), ""},
	} {
		if got := shown(fields.Diff(fields.Of(c.before), fields.Of(c.after))); got != c.want {
			t.Errorf("%v -> %v:\n%s\nexpected\n%s", c.before, c.after, got, c.want)
		}
	}
}

// A list of scalars that has elements before and afterwards is one change.
func TestCompact(t *testing.T) {
	t.Parallel()
	iface := func(addresses ...string) *vppif.Interface { return &vppif.Interface{Name: "i", IpAddresses: addresses} }
	for _, c := range []struct {
		before, after proto.Message
		want          string
	}{
		{iface("10.20.0.1/24"), iface("10.20.0.9/24"), "[{ip_addresses   true true [10.20.0.1/24] [10.20.0.9/24]}]"},
		{iface("a", "b", "c"), iface("b", "c"), "[{ip_addresses   true true [a] []}]"},
		{iface("a", "a"), iface("a", "a", "x, y", ""), `[{ip_addresses   true true [] ["x, y" ""]}]`},
		{iface("a", "b"), iface("b", "a"), "[{ip_addresses a, b b, a true true [] []}]"},
		{iface(), iface("a"), `[{ip_addresses[0]  "a" false true [] []}]`},
		{iface("a"), nil, `[{ip_addresses[0] "a"  true false [] []} {name "i"  true false [] []}]`},
		{iface("a"), iface("a"), "[]"},
		{&acl.ACL{Rules: []*acl.ACL_Rule{{IpRule: &acl.ACL_Rule_IpRule{}}}}, &acl.ACL{Rules: []*acl.ACL_Rule{{Action: acl.ACL_Rule_PERMIT, IpRule: &acl.ACL_Rule_IpRule{}}}},
			"[{rules[0].action DENY PERMIT true true [] []}]"},
	} {
		if got := fmt.Sprint(fields.Compact(c.before, c.after)); got != c.want {
			t.Errorf("%v -> %v:\n%s\nexpected\n%s", c.before, c.after, got, c.want)
		}
	}
}

// An element that is inserted or removed is no change of those behind it.
func TestLists(t *testing.T) {
	t.Parallel()
	rules := func(names ...string) *acl.ACL {
		a := &acl.ACL{Name: "a"}
		for _, name := range names {
			network, port, _ := strings.Cut(name, ":")
			r := &acl.ACL_Rule{IpRule: &acl.ACL_Rule_IpRule{Ip: &acl.ACL_Rule_IpRule_Ip{SourceNetwork: network}}}
			if port != "" {
				r.Action = acl.ACL_Rule_PERMIT
			}
			a.Rules = append(a.Rules, r)
		}
		return a
	}
	ports := func(names ...string) *l2.BridgeDomain {
		b := &l2.BridgeDomain{Name: "b"}
		for _, name := range names {
			b.Interfaces = append(b.Interfaces, &l2.BridgeDomain_Interface{Name: name})
		}
		return b
	}
	const network = ".ip_rule.ip.source_network: "
	for _, c := range []struct {
		before, after proto.Message
		want          string
	}{
		{rules("b", "c"), rules("a", "b", "c"), "+ rules[0].action: DENY\n+ rules[0]" + network + `"a"`},
		{rules("a", "b", "c"), rules("a", "c"), "- rules[1].action: DENY\n- rules[1]" + network + `"b"`},
		{rules("a", "b", "c"), rules("c", "a", "b"), "+ rules[0].action: DENY\n+ rules[0]" + network + "\"c\"\n- rules[2].action: DENY\n- rules[2]" + network + `"c"`},
		{rules("a", "b", "c"), rules("x", "a", "b:1", "c"), "+ rules[0].action: DENY\n+ rules[0]" + network + "\"x\"\n~ rules[2].action: DENY -> PERMIT"},
		{rules("a", "a", "a"), rules("a", "a"), "- rules[2].action: DENY\n- rules[2]" + network + `"a"`},
		{ports("x", "y"), ports("y"), `- interfaces[0].name: "x"`},
		{ports("x", "y"), ports("x", "z", "w"), "~ interfaces[1].name: \"y\" -> \"z\"\n+ interfaces[2].name: \"w\""},
		{ports(), ports(strings.Split("0123456789a", "")...), "+ interfaces[9].name: \"9\"\n+ interfaces[10].name: \"a\""},
	} {
		if got := shown(fields.Compact(c.before, c.after)); !strings.HasSuffix(got, c.want) || c.before.(interface{ GetName() string }).GetName() == "a" && got != c.want {
			t.Errorf("%v -> %v:\n%s\nexpected\n%s", c.before, c.after, got, c.want)
		}
	}
}

// Numbers of elements never hide a difference: whatever changes in a list is a change of the message.
func TestEveryDifferenceIsListed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := func(label string) *acl.ACL {
			a := &acl.ACL{Name: "a"}
			for _, n := range rapid.SliceOfN(rapid.IntRange(0, 4), 0, 8).Draw(t, label) {
				a.Rules = append(a.Rules, &acl.ACL_Rule{Action: acl.ACL_Rule_Action(n % 2), IpRule: &acl.ACL_Rule_IpRule{Ip: &acl.ACL_Rule_IpRule_Ip{SourceNetwork: fmt.Sprint(n)}}})
			}
			return a
		}
		before, after := list("before"), list("after")
		changes := fields.Compact(before, after)
		if (len(changes) == 0) != proto.Equal(before, after) {
			t.Fatalf("%v -> %v: %v", before, after, changes)
		}
		added := len(after.GetRules()) - len(before.GetRules())
		for _, c := range changes {
			if strings.HasSuffix(c.Path, ".action") && !c.Had {
				added--
			} else if strings.HasSuffix(c.Path, ".action") && !c.Has {
				added++
			}
		}
		if added != 0 {
			t.Fatalf("%v -> %v: %d more rules than the changes say: %v", before, after, added, changes)
		}
	})
}
