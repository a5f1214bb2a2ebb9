package vpptest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/sr"
	"go.fd.io/govpp/binapi/sr_types"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
)

// The segment lists of a policy are replaced while it has at least one: new ones come before old
// ones go.
func TestSRv6PolicyKeepsAList(t *testing.T) {
	target := journal(t)
	b := vpptest.Start(t, target)
	one, two := catalogue.SRv6Segments(1, "2001:db8:1::1"), catalogue.SRv6Segments(1, "2001:db8:2::1")
	b.Must(of(catalogue.SRv6Policy("2001:db8::1", one)))
	b.Must(of(catalogue.SRv6Policy("2001:db8::1", two)))
	var did []sr_types.SrPolicyOp
	for _, r := range target.Sim.Journal() {
		if m, ok := r.Message.(*sr.SrPolicyMod); ok {
			did = append(did, m.Operation)
		}
	}
	if want := []sr_types.SrPolicyOp{sr_types.SR_POLICY_OP_API_ADD, sr_types.SR_POLICY_OP_API_DEL}; !slices.Equal(did, want) {
		t.Errorf("requests %v, expected %v", did, want)
	}
	b.InSync()
}

// The source address and the lists of policies change at the same time: each list is there once.
func TestSRv6SourceAndListsChange(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	for round := range 20 {
		all := of(&srv6.SRv6Global{EncapSourceAddress: fmt.Sprintf("2001:db8::%x", 0x100+round)})
		for n := range 8 {
			p := catalogue.SRv6Policy(fmt.Sprintf("2001:db8:a::%x", n),
				catalogue.SRv6Segments(1, "2001:db8:1::1"), catalogue.SRv6Segments(2, fmt.Sprintf("2001:db8:2::%x", 1+round)))
			all[key(p)] = p
		}
		b.Must(all)
		b.InSync()
	}
}

// VPP makes tables of its own for policies, which have no number. They are no items.
func TestSRv6TablesAreNoItems(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(of(catalogue.SRv6Policy("2001:db8::1", catalogue.SRv6Segments(1, "2001:db8:1::1"))))
		tables, err := binapi.Dump[*ip.IPTableDetails](t.Context(), b.Mux.Conn(), &ip.IPTableDump{})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(slices.DeleteFunc(tables, func(d *ip.IPTableDetails) bool { return d.Table.TableID == 0 })); n != 2 {
			t.Errorf("VPP has %d tables besides table 0, expected 2", n)
		}
		b.InSync()
		for key := range b.Dump("vpp-vrf-table") {
			if !strings.Contains(key, "/id/0/") {
				t.Errorf("there is %s", key)
			}
		}
	})
}

// A new source address also applies to existing policies.
func TestSRv6SourceChanges(t *testing.T) {
	b := vpptest.Start(t, vpptest.Real(t)) // the simulator has no packets
	policy := catalogue.SRv6Policy("2001:db8::1", catalogue.SRv6Segments(1, "2001:db8:1::1"), catalogue.SRv6Segments(2, "2001:db8:2::1"))
	b.Must(of(policy))
	for _, addr := range []string{"2001:db8::100", "2001:db8::101"} {
		b.Must(of(&srv6.SRv6Global{EncapSourceAddress: addr}))
		text := b.CLI("show sr policies")
		if !strings.Contains(text, "EncapSrcIP: ") {
			t.Skip("VPP before 23.06 does not show the source of a policy")
		}
		if !strings.Contains(text, "EncapSrcIP: "+addr+"\n") {
			t.Errorf("expected the source %s:\n%s", addr, text)
		}
		b.InSync()
	}
}

// Packets change their policy in place, and a policy is deleted after the items that steer
// packets to it. Frames and IPv4 packets need a policy that encapsulates.
func TestSRv6Steering(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		segments := catalogue.SRv6Segments(1, "2001:db8:9::1")
		first, second := catalogue.SRv6Policy("2001:db8::1", segments), catalogue.SRv6Policy("2001:db8::2", segments)
		insert := catalogue.SRv6Policy("2001:db8::3", segments)
		insert.SrhEncapsulation = false
		frames := func(bsid string) *srv6.Steering {
			s := catalogue.SRv6Steering("frames", bsid, "")
			s.Traffic = &srv6.Steering_L2Traffic_{L2Traffic: &srv6.Steering_L2Traffic{InterfaceName: "lo"}}
			return s
		}
		packets := func(bsid string) *srv6.Steering { return catalogue.SRv6Steering("packets", bsid, "::/0") }
		b.Must(of(loop("lo"), first, second, insert, frames("2001:db8::1"), packets("2001:db8::1")))
		for _, bsid := range []string{"2001:db8::2", "2001:db8::1"} {
			ops := b.Change(of(frames(bsid), packets(bsid)))
			if len(ops) != 2 || !strings.HasPrefix(ops[0], "update ") || !strings.HasPrefix(ops[1], "update ") {
				t.Errorf("operations %q", ops)
			}
			readBack(t, b, "vpp-sr-steering", of(frames(bsid), packets(bsid)))
			b.InSync()
		}
		err := b.Commit(of(catalogue.SRv6Steering("four", "2001:db8::3", "10.5.0.0/16")))
		if err == nil || !strings.Contains(err.Error(), "need one with srh_encapsulation") {
			t.Errorf("error %v", err)
		}
		b.Must(deleted(of(first)))
		b.Want(states{key(frames("2001:db8::1")): pending, key(packets("2001:db8::1")): pending})
		b.Must(of(first))
		allConfigured(t, b, of(frames("2001:db8::1"), packets("2001:db8::1")))
	})
}

// A segment or a policy whose address has a route already is refused, with the reason.
func TestSRv6AddressTaken(t *testing.T) {
	b := vpptest.Start(t, vpptest.Real(t)) // the simulator has no routes to segments
	b.Must(of(loop("lo", "2001:db8:1::1/128")))
	for want, m := range map[string]values{
		"sid: VPP has a route to this address in the table": of(&srv6.LocalSID{
			Sid: "2001:db8:1::1", EndFunction: &srv6.LocalSID_BaseEndFunction{BaseEndFunction: &srv6.LocalSID_End{}},
		}),
		"bsid: VPP has a policy with this segment, or a route to it": of(catalogue.SRv6Policy("2001:db8:1::1", catalogue.SRv6Segments(1, "2001:db8:9::1"))),
	} {
		if err := b.Commit(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
}
