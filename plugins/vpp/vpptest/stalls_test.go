package vpptest_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

var (
	stallRounds = flag.Int("stall-rounds", 30, "rounds of the random test with a VPP that stops answering")
	stallSeed   = flag.Uint64("stall-seed", 0, "seed of the random test with a VPP that stops answering; 0 chooses one")
)

// stallTimeout is the reply timeout in tests with stalls. A machine that is busy makes
// more stalls of it.
const stallTimeout = 100 * time.Millisecond

// stalls is a trial: the simulator stops answering at some request and continues later,
// while the configuration changes and the agent is restarted perhaps. A second agent,
// with a simulator that always answers, gets the same configuration: its simulator
// says what there has to be.
type stalls struct {
	t           *testing.T
	rnd         *rand.Rand
	sim, oracle vpptest.Target
	b, right    *vpptest.Bench
	state       string
	wanted      values
	story       []string
}

func newStalls(t *testing.T, seed uint64) *stalls {
	s := &stalls{
		t: t, rnd: rand.New(rand.NewPCG(seed, 1)), wanted: values{}, state: t.TempDir(),
		sim: vpptest.Simulator(t, simOptions()), oracle: vpptest.Simulator(t, simOptions()),
	}
	s.right = vpptest.Start(t, s.oracle)
	s.start()
	return s
}

func (s *stalls) start() {
	s.b = vpptest.Start(s.t, s.sim, vpptest.ReplyTimeout(stallTimeout), vpptest.StateDir(s.state), vpptest.Labelled("stalls"))
	for n := range stallNames {
		s.b.SetHostInterface(fmt.Sprintf("eth%d", n), true)
		s.right.SetHostInterface(fmt.Sprintf("eth%d", n), true)
	}
}

func (s *stalls) say(format string, args ...any) {
	s.story = append(s.story, fmt.Sprintf(format, args...))
}

// stallNames is how many values of each kind there may be.
const stallNames = 4

// value is one of the variants of the n-th value of a kind.
func (s *stalls) value(kind, n int) proto.Message {
	v := s.rnd.IntN(2)
	name := func(prefix string) string { return fmt.Sprintf("%s%d", prefix, n) }
	lo := fmt.Sprintf("lo%d", n)
	net := fmt.Sprintf("10.%d.%d", n, v)
	switch kind {
	case 0:
		i := loop(lo, net+".1/24")
		if s.rnd.IntN(3) == 0 {
			i.IpAddresses = nil
		}
		i.Vrf, i.Mtu = uint32(s.rnd.IntN(2)), uint32(1500+v)
		return i
	case 1:
		return vxlan(name("vx"), "192.0.2.1", fmt.Sprintf("192.0.2.%d", 10+n), uint32(100*(n+1)+v))
	case 2:
		return memif(name("memif"), uint32(10*n+v), fmt.Sprintf("/run/m%d.sock", v))
	case 3:
		return tap(name("tap"), fmt.Sprintf("10.%d.%d.1/24", 100+n, v))
	case 4:
		return afPacket(name("af"), name("eth"))
	case 5:
		return subInterface(name("sub"), lo, uint32(100+v))
	case 6:
		bd := bridge(name("bd"), name("vx"), name("memif"))
		bd.Learn = v == 0
		return bd
	case 7:
		return &l2.FIBEntry{PhysAddress: fmt.Sprintf("02:00:00:00:00:%02x", n), BridgeDomain: name("bd"), OutgoingInterface: name([]string{"vx", "memif"}[v]), StaticConfig: true}
	case 8:
		return &l3.Route{DstNetwork: fmt.Sprintf("172.16.%d.0/24", n), NextHopAddr: net + ".9", OutgoingInterface: lo}
	case 9:
		return &l3.ARPEntry{Interface: name("tap"), IpAddress: fmt.Sprintf("10.%d.0.77", 100+n), PhysAddress: fmt.Sprintf("02:00:00:00:%02x:%02x", v, n), Static: true}
	case 10:
		return &l3.VrfTable{Id: 1, Label: "one"}
	case 11:
		return gre(name("gre"), "198.51.100.1", fmt.Sprintf("198.51.100.%d", 10*n+v+10), interfaces.GreLink_L3)
	}
	return &l3.Route{DstNetwork: fmt.Sprintf("172.17.%d.0/24", n), Type: l3.Route_DROP, VrfId: uint32(v)}
}

const stallKinds = 13

// change is what the configuration becomes at some keys.
func (s *stalls) change() values {
	out := values{}
	for range 1 + s.rnd.IntN(12) {
		vs := of(s.value(s.rnd.IntN(stallKinds), s.rnd.IntN(stallNames)))
		for key := range vs {
			if s.rnd.IntN(3) == 0 {
				vs[key] = nil
			}
		}
		maps.Copy(out, vs)
	}
	return out
}

func (s *stalls) commit(vs values) {
	for _, key := range slices.Sorted(maps.Keys(vs)) {
		if vs[key] == nil {
			delete(s.wanted, key)
			s.say("  delete %s", key)
		} else {
			s.wanted[key] = vs[key]
			s.say("  put %s %s", key, text(vs[key]))
		}
	}
	_ = s.b.Commit(vs) // what became of it is seen in the simulator
	_ = s.right.Commit(vs)
}

// round changes the configuration while the simulator stops answering.
func (s *stalls) round() {
	at, late := 1+s.rnd.IntN(40), s.rnd.IntN(2) == 0
	s.say("stall at request %d, late %v", at, late)
	if err := s.sim.Sim.HangAt("", at, late); err != nil {
		s.t.Fatal(err)
	}
	restart, pause := s.rnd.IntN(4) == 0, time.Duration(s.rnd.IntN(3))*stallTimeout/2
	resume := s.resumeLater(pause)
	for range 1 + s.rnd.IntN(3) {
		s.commit(s.change())
	}
	if restart {
		s.say("restart")
		s.b.Stop()
		s.start()
		s.b.FullResync(s.wanted)
	}
	resume()
}

// resumeLater lets the simulator continue a while after it hangs: some requests time
// out, and some do not. The function that it returns has it continue at once.
func (s *stalls) resumeLater(pause time.Duration) func() {
	resumed, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(resumed)
		for !s.sim.Sim.Hung() {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
		<-time.After(stallTimeout + pause)
		s.sim.Sim.Resume()
	}()
	return func() {
		close(stop)
		<-resumed
		_ = s.sim.Sim.HangAt("", 0, false)
		s.sim.Sim.Resume()
	}
}

// settle waits until the simulator has what the configuration says.
func (s *stalls) settle() {
	s.t.Helper()
	want := vpptest.Canonical(s.oracle.Sim.Dump())
	var diff string
	tick := time.NewTicker(2 * time.Millisecond) // the simulator does not tell when something changes
	defer tick.Stop()
	for end := time.Now().Add(stallPatience); time.Now().Before(end); <-tick.C {
		if diff = vpptest.Difference(vpptest.Canonical(s.sim.Sim.Dump()), want); diff != "" {
			continue
		}
		s.b.Scheduler.TransactionBarrier()
		if diff = vpptest.Difference(vpptest.Canonical(s.sim.Sim.Dump()), want); diff == "" && s.b.Mux.Session().Up {
			s.story = s.story[:0]
			return
		}
	}
	s.t.Fatalf("after\n%s\nthe simulator differs from the configuration:\n%s", strings.Join(s.story, "\n"), diff)
}

// stallPatience is how long a trial waits for the agent to converge.
const stallPatience = 30 * time.Second

// A VPP stops answering and continues: what was sent before takes effect late. Nothing
// remains that is not desired, and nothing is missing.
func TestStalls(t *testing.T) {
	t.Parallel()
	seed := *stallSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-stall-seed=%d", seed)
	s := newStalls(t, seed)
	for round := range *stallRounds {
		s.say("round %d", round)
		s.round()
		s.settle()
	}
}

// TestStallAtEachMessage stops at each of the first messages of a creation, before and
// after its effect. The values are removed, or changed, while VPP does not answer.
func TestStallAtEachMessage(t *testing.T) {
	t.Parallel()
	const messages = 24
	created := of(loop("lo0", "10.0.0.1/24"), vxlan("vx0", "192.0.2.1", "192.0.2.10", 100), memif("memif0", 1, "/run/m0.sock"),
		subInterface("sub0", "lo0", 100), gre("gre0", "198.51.100.1", "198.51.100.10", interfaces.GreLink_L3),
		bridge("bd0", "vx0", "memif0"), &l3.Route{DstNetwork: "172.16.0.0/24", NextHopAddr: "10.0.0.9", OutgoingInterface: "lo0"})
	changed := of(loop("lo0", "10.0.1.1/24"), vxlan("vx0", "192.0.2.1", "192.0.2.10", 101), memif("memif0", 2, "/run/m0.sock"),
		subInterface("sub0", "lo0", 101), gre("gre0", "198.51.100.1", "198.51.100.11", interfaces.GreLink_L3))
	for name, next := range map[string]values{"removed": deleted(created), "changed": changed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStalls(t, 1)
			for at := range 2 * messages {
				s.say("%s, stall at request %d, late %v", name, at/2+1, at%2 == 1)
				if err := s.sim.Sim.HangAt("", at/2+1, at%2 == 1); err != nil {
					t.Fatal(err)
				}
				resume := s.resumeLater(0)
				s.commit(created)
				s.commit(next)
				resume()
				s.settle()
				s.commit(deleted(created))
				s.settle()
			}
		})
	}
}

func subInterface(name, parent string, vlan uint32) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_SUB_INTERFACE, Enabled: true,
		Link: &interfaces.Interface_Sub{Sub: &interfaces.SubInterface{ParentName: parent, SubId: vlan}},
	}
}
