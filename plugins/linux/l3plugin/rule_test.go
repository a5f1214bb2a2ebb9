package l3plugin_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

func rules() []proto.Message {
	return []proto.Message{
		&l3.Rule{Name: "own/1", Priority: 100, SrcNetwork: "10.1.0.0/16", Table: 77},
		&l3.Rule{Name: "own6", Priority: 100, DstNetwork: "fd00:1::/64", Table: 77, Invert: true},
		&l3.Rule{Name: "left", Priority: 101, Fwmark: 5, Table: 70000,
			Namespace: &namespace.NetNamespace{Type: namespace.NetNamespace_NSID, Reference: "left"}},
	}
}

// ofAgent returns the rules of the agent.
func ofAgent(t *testing.T, h netlinkapi.Handle) (rules []netlinkapi.Rule) {
	t.Helper()
	all, err := h.Rules(t.Context())
	must(t, err)
	for _, r := range all {
		if r.Protocol == netlinkapi.ProtocolAgent {
			rules = append(rules, r)
		}
	}
	return rules
}

// TestRules: rules are added in their namespaces, found again by the next agent, replaced and
// deleted; rules of other programs stay, and the agent deletes its rules that no item
// configures.
func TestRules(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		foreign := netlinkapi.Rule{Priority: 100, Src: netip.MustParsePrefix("10.1.0.0/16"), Table: 77, Protocol: netlinkapi.ProtocolStatic}
		must(t, own.AddRule(t.Context(), foreign))
		a := linuxtest.Start(t, w)
		must(t, a.Apply(rules()...))
		a.Expect(configured, rules()...)
		left := w.Open(t, "left")
		if got := ofAgent(t, own); len(got) != 2 {
			t.Errorf("rules are %+v", got)
		}
		if got := ofAgent(t, left); len(got) != 1 || got[0].Mask != 0xffffffff || got[0].Table != 70000 {
			t.Errorf("rules are %+v", got)
		}
		unchanged(t, a, rules()...)
		a.Stop()
		a = linuxtest.Start(t, w)
		unchanged(t, a, rules()...)

		changed := rules()[0].(*l3.Rule)
		changed.Table = 78
		must(t, a.Apply(changed))
		if ops := a.Executed(); !slices.Equal(ops, []string{"UPDATE " + linuxtest.Key(t, changed)}) {
			t.Errorf("operations are %v, expected one update", ops)
		}
		all := append(rules()[1:], changed)
		unchanged(t, a, all...)
		twin := proto.CloneOf(changed)
		twin.Name = "twin"
		if text := linuxtest.ErrorText(a.Apply(twin)); !strings.Contains(text, "another item has the same rule") {
			t.Errorf("error is %q", text)
		}
		must(t, a.Delete(twin))
		for _, r := range ofAgent(t, own) { // by another process
			must(t, own.DeleteRule(t.Context(), r))
		}
		must(t, a.Resync(all...))
		if got := ofAgent(t, own); len(got) != 2 {
			t.Errorf("rules are %+v", got)
		}
		must(t, a.Delete(all...))
		if ofOwn, ofLeft := ofAgent(t, own), ofAgent(t, left); len(ofOwn)+len(ofLeft) != 0 {
			t.Errorf("rules remain: %+v, %+v", ofOwn, ofLeft)
		}
		after, err := own.Rules(t.Context())
		must(t, err)
		if !slices.Contains(after, foreign) {
			t.Errorf("the rule of another program is not among %+v", after)
		}
	})
}

func TestValidateRule(t *testing.T) {
	t.Parallel()
	d := descriptor.NewRule(descriptor.Deps{Log: logging.Nop()})
	for json, want := range map[string]string{
		`{"name":"a","priority":5,"table":7}`: "",
		`{"name":"a","priority":5,"table":7,"srcNetwork":"fd00::/64","dstNetwork":"fd01::/64","fwmark":5}`: "",
		`{"priority":5,"table":7}`:                                                               "name: empty",
		`{"name":"a","table":7}`:                                                                 "priority: 0",
		`{"name":"a","priority":32766,"table":7}`:                                                "priority: 32766",
		`{"name":"a","priority":5}`:                                                              "table: 0, expected the number of a routing table",
		`{"name":"a","priority":5,"table":7,"namespace":{"reference":"x"}}`:                      "namespace: ",
		`{"name":"a","priority":5,"table":7,"srcNetwork":"10.0.0.1/8"}`:                          "src_network: \"10.0.0.1/8\" has host bits",
		`{"name":"a","priority":5,"table":7,"dstNetwork":"x"}`:                                   "dst_network: \"x\": expected",
		`{"name":"a","priority":5,"table":7,"dstNetwork":"0.0.0.0/0"}`:                           "dst_network: \"0.0.0.0/0\"; expected nothing",
		`{"name":"a","priority":5,"table":7,"srcNetwork":"10.0.0.0/8","dstNetwork":"fd00::/64"}`: "dst_network: fd00::/64 is not",
		`{"name":"a","priority":5,"table":7,"srcNetwork":"10.0.0.0/8","ipv6":true}`:              "ipv6: not allowed",
		`{"name":"a","priority":5,"table":7,"fwmark":5,"fwmask":1}`:                              "fwmark: 0x5",
	} {
		v := &l3.Rule{}
		if err := protojson.Unmarshal([]byte(json), v); err != nil {
			t.Fatal(err)
		}
		err := d.Validate("", v)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error is %v, expected %q", json, err, want)
		}
	}
}

// Rules that another program deletes are added again at once, also in a namespace that has no
// interface of the configuration, and when events were missed.
func TestLostRulesAreAddedAgain(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		must(t, a.Apply(rules()...))
		own, left := w.Open(t, ""), w.Open(t, "left")
		all := map[netlinkapi.Handle][]netlinkapi.Rule{own: ofAgent(t, own), left: ofAgent(t, left)}
		lose := func() {
			for h, rules := range all {
				for _, r := range rules {
					if err := h.DeleteRule(t.Context(), r); err != nil && !netlinkapi.IsGone(err) {
						t.Fatal(err)
					}
				}
			}
		}
		complete := func() bool { return len(ofAgent(t, own)) == 2 && len(ofAgent(t, left)) == 1 }
		foreign := netlinkapi.Rule{Priority: 100, Src: netip.MustParsePrefix("10.9.0.0/16"), Table: 77, Protocol: netlinkapi.ProtocolStatic}
		must(t, left.AddRule(t.Context(), foreign))
		lose() // they may not be followed yet
		a.Quiet("the rules exist again", complete)
		if w.Sim != nil {
			w.Sim.Overflow("")
			lose()
			a.Quiet("the rules exist again after missed events", complete)
		}
		must(t, left.DeleteRule(t.Context(), foreign))
		unchanged(t, a, rules()...)
	})
}
