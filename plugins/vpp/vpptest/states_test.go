package vpptest_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	"github.com/tenuto-dev/tenuto/infra/kv/publish"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// seen collects notifications, the newest by name.
type seen struct {
	mu    sync.Mutex
	cond  *sync.Cond
	state map[string]*interfaces.InterfaceState
}

func watchStates(t *testing.T, b *vpptest.Harness) *seen {
	s := &seen{state: map[string]*interfaces.InterfaceState{}}
	s.cond = sync.NewCond(&s.mu)
	t.Cleanup(b.If.States().Watch(func(n *interfaces.InterfaceNotification) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.state[n.GetState().GetName()] = n.GetState()
		s.cond.Broadcast()
	}))
	return s
}

// await waits until the newest notification of an interface fits.
func (s *seen) await(name string, fits func(*interfaces.InterfaceState) bool) *interfaces.InterfaceState {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.state[name] == nil || !fits(s.state[name]) {
		s.cond.Wait()
	}
	return s.state[name]
}

// States follow what happens to interfaces, and what the agent does to them.
func TestInterfaceStates(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		s := watchStates(t, b)
		lo := loop("lo")
		lo.PhysAddress, lo.Mtu = "02:00:00:00:00:01", 1400
		b.Must(of(lo))
		up := func(i *interfaces.InterfaceState) bool { return i.OperStatus == interfaces.InterfaceState_UP }
		got := s.await("lo", func(i *interfaces.InterfaceState) bool { return up(i) && i.Mtu == 1400 })
		want := &interfaces.InterfaceState{
			Name: "lo", InternalName: "loop0", Type: interfaces.Interface_SOFTWARE_LOOPBACK, IfIndex: indexIn(t, b, "lo"),
			AdminStatus: interfaces.InterfaceState_UP, OperStatus: interfaces.InterfaceState_UP,
			PhysAddress: "02:00:00:00:00:01", Mtu: 1400, LastChange: got.LastChange, Speed: got.Speed, Duplex: got.Duplex,
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || got.LastChange == 0 {
			t.Errorf("state, last changed at %d (-want +got):\n%s", got.LastChange, diff)
		}
		// VPP sends no event of another MAC address.
		changed := proto.CloneOf(lo)
		changed.PhysAddress = "02:00:00:00:00:02"
		b.Must(of(changed))
		s.await("lo", func(i *interfaces.InterfaceState) bool { return i.PhysAddress == "02:00:00:00:00:02" })
		changed = proto.CloneOf(changed)
		changed.Enabled = false
		b.Must(of(changed))
		s.await("lo", func(i *interfaces.InterfaceState) bool {
			return i.AdminStatus == interfaces.InterfaceState_DOWN && i.OperStatus == interfaces.InterfaceState_DOWN
		})

		epoch := b.Mux.Session().Epoch
		target.Restart(t)
		b.Connected(epoch)
		b.Must(of(lo))
		s.await("lo", up)
		b.Must(deleted(of(lo)))
		s.await("lo", func(i *interfaces.InterfaceState) bool { return i.OperStatus == interfaces.InterfaceState_DELETED })
		for _, i := range b.If.States().List() {
			if i.Name == "lo" {
				t.Errorf("still listed: %v", i)
			}
		}
	})
}

// While VPP is away nothing is known.
func TestInterfaceStatesWithoutVPP(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	b := vpptest.Start(t, target)
	s := watchStates(t, b)
	b.Must(of(loop("lo")))
	s.await("lo", func(i *interfaces.InterfaceState) bool { return i.OperStatus == interfaces.InterfaceState_UP })
	if err := target.Sim.Die(); err != nil {
		t.Fatal(err)
	}
	s.await("lo", func(i *interfaces.InterfaceState) bool {
		return i.OperStatus == interfaces.InterfaceState_UNKNOWN_STATUS
	})
	if err := target.Sim.Restart(); err != nil {
		t.Fatal(err)
	}
	s.await("lo", func(i *interfaces.InterfaceState) bool { return i.OperStatus == interfaces.InterfaceState_UP })
}

type prefix string

func (p prefix) GetAgentPrefix() string { return string(p) }

// States are published under the prefix of the agent; what is left of an agent
// before it goes.
func TestPublishedStates(t *testing.T) {
	t.Parallel()
	const old, other = "/vnf-agent/me/vpp/status/v2/interface/old", "/vnf-agent/you/vpp/status/v2/interface/old"
	to := kvtest.NewMemory(old, other)
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()), vpptest.UseIf(func(p *ifplugin.Plugin) {
		conf := ifplugin.DefaultConfig()
		conf.StatusPublishers = []string{"memory"}
		ifplugin.UseConf(conf)(p)
		p.Stores, p.Label = []publish.Store{to}, prefix("/vnf-agent/me/")
	}))
	key := func(name string) string { return "/vnf-agent/me/vpp/status/v2/interface/" + name }
	isUp := func(name string) func(map[string]proto.Message) bool {
		return func(values map[string]proto.Message) bool {
			state, _ := values[key(name)].(*interfaces.InterfaceState)
			return state.GetName() == name && state.GetOperStatus() == interfaces.InterfaceState_UP
		}
	}
	b.Must(of(loop("lo")))
	to.Await(isUp("lo"))
	to.Await(func(values map[string]proto.Message) bool {
		_, oldThere := values[old]
		_, otherThere := values[other]
		return !oldThere && otherThere
	})

	// A store that is out of order gets the latest when it is back.
	to.Break(true)
	to.AwaitWrite(func() { b.Must(of(loop("second"))) })
	to.Break(false)
	b.Must(deleted(of(loop("lo"))))
	to.Await(func(values map[string]proto.Message) bool { return values[key("lo")] == nil && isUp("second")(values) })
}

// counters count how often they are read, and may fail.
type counters struct {
	mu   sync.Mutex
	n    uint64
	fail bool
}

func (c *counters) InterfaceStatistics(time.Duration) (map[string]*interfaces.InterfaceState_Statistics, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail {
		return nil, errors.New("out of order")
	}
	c.n++
	return map[string]*interfaces.InterfaceState_Statistics{"lo": {InPackets: c.n}, "unknown": {InPackets: c.n}}, nil
}

// Counters of existing interfaces are published with the states.
func TestPublishedCounters(t *testing.T) {
	t.Parallel()
	to, from := kvtest.NewMemory(), &counters{}
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()), vpptest.UseIf(func(p *ifplugin.Plugin) {
		conf := ifplugin.DefaultConfig()
		conf.StatusPublishers, conf.StatisticsInterval = []string{"memory"}, 100*time.Millisecond
		ifplugin.UseConf(conf)(p)
		p.Stores, p.Counters = []publish.Store{to}, from
	}))
	b.Must(of(loop("lo")))
	key := "vpp/status/v2/interface/lo"
	counted := func(atLeast uint64) func(map[string]proto.Message) bool {
		return func(values map[string]proto.Message) bool {
			state, _ := values[key].(*interfaces.InterfaceState)
			return state.GetStatistics().GetInPackets() >= atLeast && state.GetOperStatus() == interfaces.InterfaceState_UP
		}
	}
	to.Await(counted(1))
	to.Await(counted(3))
	from.mu.Lock()
	from.fail = true
	from.mu.Unlock()
	to.Await(func(values map[string]proto.Message) bool { // nothing is reported that is no longer known
		state, ok := values[key].(*interfaces.InterfaceState)
		return ok && state.Statistics == nil
	})
	b.Must(deleted(of(loop("lo"))))
	to.Await(func(values map[string]proto.Message) bool { return values[key] == nil })
}
