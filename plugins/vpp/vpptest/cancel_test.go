package vpptest_test

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// cancelTimeout is the time limit of callbacks in tests with canceled callbacks. It may
// be too short for a busy machine: then more callbacks are canceled.
const cancelTimeout = 100 * time.Millisecond

// impatiently starts an agent whose callbacks are canceled soon, while the session stays.
func impatiently(t *testing.T, target vpptest.Target) *vpptest.Harness {
	return vpptest.Start(t, target, vpptest.CallbackTimeout(cancelTimeout), vpptest.Quiet())
}

// descriptorFrame is a function of a descriptor in a stack.
var descriptorFrame = regexp.MustCompile(`(?m)^.*/plugins/vpp/\w+/descriptor\..*$`)

// followerFrame is in the stacks of functions that follow a session. They are no callbacks:
// they read as long as the session lasts.
const followerFrame = "ifplugin.(*followers)"

// descriptorStacks returns the stacks of the goroutines that run a function of a
// descriptor for the scheduler.
func descriptorStacks() (found []string) {
	all := make([]byte, 64<<10)
	for n := runtime.Stack(all, true); ; n = runtime.Stack(all, true) {
		if n < len(all) {
			all = all[:n]
			break
		}
		all = make([]byte, 2*len(all))
	}
	for stack := range strings.SplitSeq(string(all), "\n\n") {
		if descriptorFrame.MatchString(stack) && !strings.Contains(stack, followerFrame) {
			found = append(found, stack)
		}
	}
	return found
}

// canceledCase is a message at which VPP stalls.
type canceledCase struct {
	message string
	late    bool
	values  values
	bench   *vpptest.Harness
}

func canceledCases() (cases []*canceledCase) {
	routes := values{}
	for n := range 20 {
		for hop := range 3 {
			for key, m := range of(&l3.Route{
				DstNetwork: fmt.Sprintf("172.16.%d.0/24", n), NextHopAddr: fmt.Sprintf("10.0.0.%d", 9+hop), OutgoingInterface: "lo0",
			}) {
				routes[key] = m
			}
		}
	}
	all := of(loop("lo0", "10.0.0.1/24"), vxlan("vx0", "192.0.2.1", "192.0.2.10", 100), memif("memif0", 1, "/run/m0.sock"),
		subif("sub0", "lo0", 100), bridge("bd0", "vx0", "memif0"),
		&l2.FIBEntry{PhysAddress: "02:00:00:00:00:01", BridgeDomain: "bd0", OutgoingInterface: "vx0", StaticConfig: true},
		&l3.ARPEntry{Interface: "lo0", IpAddress: "10.0.0.77", PhysAddress: "02:00:00:00:00:77", Static: true})
	for key, m := range routes {
		all[key] = m
	}
	for _, message := range []string{
		"create_loopback", "create_vlan_subif", "sw_interface_tag_add_del", "sw_interface_add_del_address", "bridge_domain_add_del_v2",
		"sw_interface_set_l2_bridge", "l2fib_add_del", "ip_route_add_del", "ip_neighbor_add_del", "sw_interface_dump",
	} {
		for _, late := range []bool{false, true} {
			cases = append(cases, &canceledCase{message: message, late: late, values: all})
		}
	}
	return cases
}

// TestCanceledCallbacks: VPP stops answering, and its session continues. The callbacks
// return when their contexts are canceled, so that no goroutine of a descriptor remains.
// What they did is found out when VPP answers again. The test is not parallel, because it
// looks at the goroutines of the process.
func TestCanceledCallbacks(t *testing.T) {
	cases := canceledCases()
	each := func(f func(c *canceledCase)) {
		var all sync.WaitGroup
		for _, c := range cases {
			all.Go(func() { f(c) })
		}
		all.Wait()
	}
	for _, c := range cases {
		c.bench = impatiently(t, vpptest.Simulator(t, simOptions()))
		err := c.bench.Sim.HangAt(c.message, 1, c.late)
		if base, _, ok := strings.Cut(c.message, "_v2"); ok && err != nil { // an older release
			c.message = base
			err = c.bench.Sim.HangAt(c.message, 1, c.late)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	each(func(c *canceledCase) {
		_ = c.bench.Commit(c.values, api.WithRetry(api.RetryOpts{Period: 10 * time.Millisecond})) // seen in the simulator
	})
	for _, c := range cases {
		<-c.bench.Sim.Hanging() // on a busy machine a retry sends it
	}
	awaitNoDescriptors(t)
	each(func(c *canceledCase) {
		c.bench.Sim.Resume()
		for key := range c.values {
			c.bench.AwaitWhole(key)
		}
	})
	oracle := vpptest.Start(t, vpptest.Simulator(t, simOptions()), vpptest.Quiet())
	oracle.Must(cases[0].values)
	want := vpptest.Canonical(oracle.Sim.Dump())
	for _, c := range cases {
		c.bench.Scheduler.TransactionBarrier()
		if diff := vpptest.Difference(vpptest.Canonical(c.bench.Sim.Dump()), want); diff != "" {
			t.Errorf("stalled at %s (late: %t): the simulator differs from the configuration:\n%s", c.message, c.late, diff)
		}
		if s := c.bench.Mux.Session(); s.Epoch != 1 {
			t.Errorf("stalled at %s: session %d, want the first one", c.message, s.Epoch)
		}
	}
}

// awaitNoDescriptors waits until no goroutine runs a function of a descriptor. Outcomes
// are read again and again while VPP does not answer.
func awaitNoDescriptors(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var left []string
	for end := time.Now().Add(stallPatience); time.Now().Before(end); <-tick.C {
		if left = descriptorStacks(); len(left) == 0 {
			return
		}
	}
	t.Errorf("%d goroutines of descriptors remain, one is\n%s", len(left), left[0])
}

// TestReadAfterCanceledCallback: a canceled request takes effect late, while VPP answers
// over the connection for dumps. The value is not created again, because the read that
// decides waits for the request.
func TestReadAfterCanceledCallback(t *testing.T) {
	t.Parallel()
	b := impatiently(t, vpptest.Simulator(t, simOptions()))
	retry := api.WithRetry(api.RetryOpts{Period: 10 * time.Millisecond})
	entry := of(&l2.FIBEntry{PhysAddress: "02:00:00:00:00:01", BridgeDomain: "bd0", OutgoingInterface: "vx0", StaticConfig: true})
	before := of(vxlan("vx0", "192.0.2.1", "192.0.2.10", 100), bridge("bd0", "vx0"))
	_ = b.Commit(before, retry)
	allAwaited(b, before)
	if err := b.Sim.Delay("l2fib_add_del", 5*cancelTimeout); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(entry, retry); err == nil {
		t.Error("the delayed request is not canceled")
	}
	allAwaited(b, entry)
	if n := b.Sim.Count("l2fib_add_del"); n != 1 {
		t.Errorf("%d requests to add the entry, want 1", n)
	}
	b.InSync()
}

func allAwaited(b *vpptest.Harness, all map[string]proto.Message) {
	for key := range all {
		b.Await(key, kvscheduler.ValueState_CONFIGURED)
	}
}
