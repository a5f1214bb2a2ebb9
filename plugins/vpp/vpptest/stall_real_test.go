package vpptest_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	ifapi "go.fd.io/govpp/binapi/interface"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

var stallRealRounds = flag.Int("stall-real-rounds", 20, "rounds of the random test with a real VPP that is stopped and continued")

// realStalls is a trial with a real VPP, which is stopped (SIGSTOP) while the agent
// configures it and continues later. Another VPP, which is never stopped, gets the
// configuration afterwards.
type realStalls struct {
	stalls
	stopped int
	epoch   uint64 // of the session that ended last
}

// TestStallsOfRealVPP compares what two real VPPs have in the end.
func TestStallsOfRealVPP(t *testing.T) {
	seed := *stallSeed
	if seed == 0 {
		seed = uint64(rand.Uint32())
	}
	t.Logf("-stall-seed=%d", seed)
	s := &realStalls{stalls: stalls{
		t: t, rnd: rand.New(rand.NewPCG(seed, 2)), wanted: values{}, built: values{}, state: t.TempDir(),
		sim: vpptest.Real(t), oracle: vpptest.Real(t),
	}}
	s.right = vpptest.Start(t, s.oracle, vpptest.Quiet())
	s.start()
	for round := range *stallRealRounds {
		s.story = append(s.story[:0], fmt.Sprintf("round %d", round))
		s.round()
		s.settle()
	}
	t.Logf("%d of %d rounds stopped VPP while it had requests to answer", s.stopped, *stallRealRounds)
}

// possible leaves out what a VPP without TAPs, devices of the host and special cards cannot
// have. Memifs do not listen: the two VPPs would meet.
func possible(vs values) values {
	for _, m := range vs {
		if i, ok := m.(*interfaces.Interface); ok && i.GetMemif() != nil {
			i.GetMemif().Master = false
		}
	}
	maps.DeleteFunc(vs, func(_ string, m proto.Message) bool {
		i, ok := m.(*interfaces.Interface)
		return ok && slices.Contains([]interfaces.Interface_Type{
			interfaces.Interface_TAP, interfaces.Interface_AF_PACKET, interfaces.Interface_RDMA, interfaces.Interface_VMXNET3_INTERFACE,
		}, i.GetType())
	})
	return vs
}

// round stops VPP at some moment of a change.
func (s *realStalls) round() {
	first := possible(s.change())
	after, done := time.Duration(s.rnd.IntN(6000))*time.Microsecond, make(chan struct{})
	go func() {
		defer close(done)
		<-time.After(after)
		s.sim.Real.Stop()
		<-time.After(20 * time.Millisecond) // VPP is stopped when it gets the next request
		session := s.b.Mux.Session()
		s.epoch = session.Epoch
		session.Conn.Stall(binapi.ErrReplyTimeout)
		if session.Conn.Unanswered() {
			s.stopped++
		}
	}()
	s.commit(first)
	<-done
	s.say("stopped after %v", after)
	what, next := s.follow(first)
	s.say("%s", what)
	if early := s.rnd.IntN(2) == 0; early {
		s.commit(possible(next))
		next = nil
	}
	if s.rnd.IntN(3) == 0 {
		s.say("restart")
		s.b.Stop()
		s.sim.Real.Continue()
		s.start()
		s.epoch = 0
		s.resync()
	} else {
		s.sim.Real.Continue()
	}
	s.commit(possible(next))
}

// settle compares the two VPPs.
func (s *realStalls) settle() {
	s.t.Helper()
	s.build()
	var diff string
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(stallPatience); time.Now().Before(end); <-tick.C {
		s.b.Connected(s.epoch)
		if diff = vpptest.Difference(facts(s.b), facts(s.right)); diff == "" {
			return
		}
	}
	s.t.Fatalf("after\n%s\nVPP differs from the configuration:\n%s\n%s", strings.Join(s.story, "\n"), diff, s.b.CLI("show interface"))
}

// facts is what a VPP has: its interfaces as it lists them, and what the descriptors read.
func facts(b *vpptest.Harness) (all []string) {
	for _, d := range b.AllInterfaces() {
		reply := &ifapi.SwInterfaceGetTableReply{}
		if err := b.Mux.Conn().Call(context.Background(), &ifapi.SwInterfaceGetTable{SwIfIndex: d.SwIfIndex}, reply); err != nil {
			return []string{err.Error()}
		}
		all = append(all, fmt.Sprintf("interface %q %s flags %d mtu %v table %d", d.Tag, d.InterfaceDevType, d.Flags, d.Mtu, reply.VrfID))
	}
	for _, name := range []string{"vpp-interface", "vpp-bridge-domain", "vpp-l2-fib", "vpp-xconnect", "vpp-vrf-table", "vpp-route", "vpp-arp", "vpp-proxy-arp"} {
		for key, m := range b.Dump(name) {
			if i, ok := m.(*interfaces.Interface); ok {
				i.PhysAddress = "" // made up by VPP for some
			}
			all = append(all, key+" "+text(m))
		}
	}
	for line := range strings.SplitSeq(b.CLI("show memif"), "\n") {
		if strings.Contains(line, ".sock") && !strings.Contains(line, "/memif.sock") {
			all = append(all, "memif socket "+strings.Join(strings.Fields(line)[1:], " "))
		}
	}
	return all
}
