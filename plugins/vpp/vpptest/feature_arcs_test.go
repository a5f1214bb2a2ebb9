package vpptest_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	mss "github.com/tenuto-dev/tenuto/proto/ligato/vpp/mss"
	reassembly "github.com/tenuto-dev/tenuto/proto/ligato/vpp/reassembly"
	urpf "github.com/tenuto-dev/tenuto/proto/ligato/vpp/urpf"
)

// nodeCount returns how often VPP has a node in the path of packets through an interface.
func nodeCount(t *testing.T, b *vpptest.Harness, iface, node string) int {
	t.Helper()
	if b.Sim != nil {
		n := strings.Count(b.Sim.Dump(), ": "+node+"\n")
		if strings.Contains(b.Sim.Dump(), ": "+node+" 2 times") {
			n += 2
		}
		return n
	}
	for _, d := range b.AllInterfaces() {
		if d.Tag == iface {
			return strings.Count(b.CLI("show interface features "+d.InterfaceName), "  "+node+"\n")
		}
	}
	t.Fatalf("no interface has the tag %q", iface)
	return 0
}

// VPP keeps settings of an interface that is deleted, and takes the same ones for no change of the
// next interface with the index. They are in effect all the same, once, after the agent restarts
// too.
func TestPacketPathOfInterfaceDeletedByHand(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		all := of(loop("lo", "10.1.1.1/24"), &urpf.Interface{Interface: "lo"}, &mss.Clamp{Interface: "lo", Ipv4Mss: 1300, Ipv4Direction: mss.Clamp_RX},
			&reassembly.Interface{Interface: "lo", Ipv4: true})
		expectNodes := func(when string) {
			t.Helper()
			for _, node := range []string{"ip4-rx-urpf-strict", "tcp-mss-clamping-ip4-in", "ip4-full-reassembly-feature"} {
				if n := nodeCount(t, b, "lo", node); n != 1 {
					t.Errorf("%s: %d times %s", when, n, node)
				}
			}
		}
		b.Must(all)
		expectNodes("created")
		deleteLoopback(t, b, "lo")
		b.Await(ifKey("lo"), pb.ValueState_MISSING)
		b.Resync()
		for key := range all {
			b.Await(key, configured)
		}
		expectNodes("deleted by hand")
		b.Stop()
		b = vpptest.Start(t, target)
		b.FullResync(all)
		expectNodes("restarted")
		b.Must(deleted(all))
	})
}
