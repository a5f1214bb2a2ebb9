package vpptest_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	policer "github.com/tenuto-dev/tenuto/proto/ligato/vpp/policer"
)

// However often policers are applied, exchanged and applied again after a restart, an interface has
// one in each direction, and none at the end.
func TestPolicers(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		inputs := 1 // nodes of one use; VPP has had two since 26.06
		if v, err := binding.ParseVersion(b.Mux.Session().Version.Version); err != nil || v.Compare(binding.Version{Year: 26, Month: 6}) >= 0 {
			inputs = 2
		}
		expectNodes := func(when string, input, output int) {
			t.Helper()
			if in, out := nodeCount(t, b, "lo", "policer-input"), nodeCount(t, b, "lo", "policer-output"); in != inputs*input || out != 2*output {
				t.Errorf("%s: %d nodes for input, %d for output", when, in, out)
			}
		}
		all := of(loop("lo", "10.1.1.1/24"), catalogue.Policer("gold"), catalogue.Policer("silver"))
		uses := of(&policer.Interface{Interface: "lo", Policer: "gold"},
			&policer.Interface{Interface: "lo", Policer: "gold", Direction: policer.Interface_OUTPUT})
		for key, v := range uses {
			all[key] = v
		}
		b.Must(all)
		expectNodes("created", 1, 1)
		exchanged := of(&policer.Interface{Interface: "lo", Policer: "silver"},
			&policer.Interface{Interface: "lo", Policer: "silver", Direction: policer.Interface_OUTPUT})
		b.Must(exchanged)
		expectNodes("exchanged", 1, 1)
		b.Must(deleted(of(catalogue.Policer("silver"))))
		expectNodes("without the policer", 0, 0)
		b.Must(uses)
		b.Stop()
		b = vpptest.Start(t, target)
		b.FullResync(all)
		expectNodes("restarted", 1, 1)
		b.Must(deleted(uses))
		expectNodes("removed", 0, 0)
		b.Must(deleted(all))
	})
}

// Packets above the rate of a policer are dropped, of those that an interface receives and of those
// that it sends. A higher rate lets them through.
func TestTrafficPolicer(t *testing.T) {
	b := vpptest.Start(t, vpptest.Real(t), vpptest.Quiet())
	red, blue := plug(t, b, "r", "192.0.2.1/24"), plug(t, b, "b", "198.51.100.1/24")
	red.via("192.0.2.254")
	blue.via("198.51.100.254")
	b.Must(of(red.af("red", "192.0.2.254/24"), blue.af("blue", "198.51.100.254/24")))
	red.reaches("198.51.100.1")

	// The least burst of VPP is about 100 packets; the rate lets about 50 through in a second.
	const packets = 1000
	passes := func(when string, least, most int) {
		t.Helper()
		sent, answered := red.flood("198.51.100.1", packets)()
		t.Logf("%s: %d of %d packets were answered", when, answered, sent)
		if sent != packets || answered < least || answered > most {
			t.Errorf("%s: %d of %d packets were answered, expected %d to %d", when, answered, sent, least, most)
		}
	}
	slow, fast := catalogue.Policer("rate"), catalogue.Policer("rate")
	slow.Cir, fast.Cir, fast.CommittedBurst = 40, 100_000, 1_000_000
	for direction, iface := range map[policer.Interface_Direction]string{policer.Interface_INPUT: "red", policer.Interface_OUTPUT: "blue"} {
		use := &policer.Interface{Interface: iface, Direction: direction, Policer: "rate"}
		b.Must(of(slow, use))
		passes(direction.String()+" at 40 kbps", packets/20, packets*9/10)
		b.Must(of(fast))
		passes(direction.String()+" at 100 Mbps", packets*95/100, packets)
		b.Must(of(slow))
		b.Must(deleted(of(use)))
		passes(direction.String()+" without a policer", packets*95/100, packets)
	}
	b.InSync()
}
