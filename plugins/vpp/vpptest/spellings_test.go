//lint:file-ignore SA1019 deprecated fields have addresses, too

package vpptest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels/spelled"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// withoutSpellings are the fields for addresses that cannot be written in other ways.
var withoutSpellings = map[protoreflect.FullName]string{
	"ligato.vpp.srv6.Steering.policy_bsid":                                  "is the name of another item, and is written as it is there",
	"ligato.vpp.interfaces.IPSecLink.local_ip":                              "has no effect",
	"ligato.vpp.interfaces.IPSecLink.remote_ip":                             "has no effect",
	"ligato.vpp.ipsec.SecurityPolicyDatabase.PolicyEntry.local_addr_start":  "is refused, as all policy_entries",
	"ligato.vpp.ipsec.SecurityPolicyDatabase.PolicyEntry.local_addr_stop":   "is refused, as all policy_entries",
	"ligato.vpp.ipsec.SecurityPolicyDatabase.PolicyEntry.remote_addr_start": "is refused, as all policy_entries",
	"ligato.vpp.ipsec.SecurityPolicyDatabase.PolicyEntry.remote_addr_stop":  "is refused, as all policy_entries",
}

// moreAddresses are values with the addresses that no value of the catalogue has, by the name of the item. They
// need twicePool.
func moreAddresses() map[string]proto.Message {
	mapping := dnat("twice", "192.0.2.1", 80, "10.0.0.1")
	mapping.StMappings[0].TwiceNat, mapping.StMappings[0].TwiceNatPoolIp = nat.DNat44_StaticMapping_ENABLED, "198.51.100.5"
	return map[string]proto.Message{
		"vpp.nat.nat44-global": &nat.Nat44Global{AddressPool: []*nat.Nat44Global_Address{{Address: "192.0.2.99"}}},
		"vpp.nat.dnat44":       mapping,
	}
}

var twicePool = &nat.Nat44AddressPool{Name: "twice", FirstIp: "198.51.100.5", TwiceNat: true, VrfId: ^uint32(0)}

// Each address of each item may be written in other ways: the item is configured, neither another
// spelling nor a resync changes anything, and drift finds nothing. Two spellings of the name of one item
// are one item of VPP. What is no address is refused, with the field.
func TestAddressSpellings(t *testing.T) {
	t.Parallel()
	missing := map[protoreflect.FullName]bool{}
	for _, i := range items(t) {
		if i.Part != "" {
			continue
		}
		for _, f := range spelled.Fields(i.Make().ProtoReflect().Descriptor()) {
			if _, seen := missing[f]; !seen {
				missing[f] = true
			}
		}
		bases := []proto.Message{i.Make()}
		for _, c := range slices.Concat(i.Updates, i.Recreates) {
			bases = append(bases, i.Changed(c))
		}
		if m := moreAddresses()[i.Name]; m != nil {
			bases = append(bases, m)
		}
		var all []spelling
		for _, base := range bases {
			for _, s := range spelled.Of(base) {
				if missing[s.Name] = false; withoutSpellings[s.Name] == "" {
					all = append(all, spelling{base, s})
				}
			}
		}
		if len(all) > 0 {
			t.Run(i.Name, func(t *testing.T) {
				t.Parallel()
				spell(t, i, all)
			})
		}
	}
	for f, lacks := range missing {
		if lacks && withoutSpellings[f] == "" && *oneItem == "" {
			t.Errorf("no exemplar, update or re-creation of the catalogue has an address in %s", f)
		}
	}
}

// spelling is a value with an address in another spelling.
type spelling struct {
	base proto.Message
	spelled.Spelling
}

func spell(t *testing.T, i catalogue.Item, all []spelling) {
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()), vpptest.Quiet())
	announceHosts(t, b)
	b.Must(i.Needed())
	b.Must(of(twicePool))
	for _, s := range all {
		what, base, other := fmt.Sprintf("%s %q", s.Field, s.Text), of(s.base), of(s.Value)
		b.Must(base)
		renamed := key(s.Value) != key(s.base)
		if renamed && s.Form == spelled.Same {
			inTwoSpellings(t, b, what, s)
		}
		b.Must(deleted(base))
		err := b.Commit(other)
		switch {
		case err != nil && s.Form == spelled.Same, err == nil && s.Form == spelled.Wrong:
			t.Errorf("%s: error %v", what, err)
		case err != nil && !strings.Contains(err.Error(), s.Field) && !strings.Contains(err.Error(), s.Text):
			t.Errorf("%s: the error names no field: %v", what, err)
		case err == nil:
			allConfigured(t, b, other)
			if ops := b.Resync(); len(ops) > 0 {
				t.Errorf("%s: resync had to %q", what, ops)
			}
			if d, err := b.Scheduler.DetectDrift(t.Context()); err != nil || len(d.Drifts) > 0 {
				t.Errorf("%s: drift is %+v, %v", what, d, err)
			}
			if renamed || s.Form != spelled.Same {
				break
			}
			if ops := b.Change(base); len(ops) > 0 {
				t.Errorf("%s: changed to the usual spelling, which takes %q", what, ops)
			}
		}
		b.Must(deleted(other))
		b.Must(deleted(base))
	}
	b.InSync()
}

// inTwoSpellings configures an item in two spellings of its name. The second one is refused as long as the
// first one exists. One transaction replaces one by the other.
func inTwoSpellings(t *testing.T, b *vpptest.Harness, what string, s spelling) {
	t.Helper()
	base, other := of(s.base), of(s.Value)
	if err := b.Commit(other); err == nil || !strings.Contains(err.Error(), "the same item as "+key(s.base)) {
		t.Errorf("%s besides %s: error %v", what, key(s.base), err)
	}
	allConfigured(t, b, base)
	b.Must(deleted(base))
	allConfigured(t, b, other)
	replace := deleted(other)
	replace[key(s.base)] = s.base
	b.Must(replace)
	allConfigured(t, b, base)
	b.InSync()
}
