package ifplugin_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// TestPublishedStates: the states of interfaces are published under the prefix of the agent, with
// counters; states of interfaces that no longer exist are removed.
func TestPublishedStates(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		const prefix = "/vnf-agent/" + linuxtest.Label + "/linux/status/v2/interface/"
		to := kvtest.NewMemory(prefix+"old", "/vnf-agent/other/linux/status/v2/interface/old")
		a := linuxtest.StartPublishing(t, w, to, 100*time.Millisecond)
		x, y := veth("x", "y", "", "10.1.0.1/24"), veth("y", "x", "left", "10.1.0.2/24")
		must(t, a.Apply(x, y))
		state := func(values map[string]proto.Message, name string) *interfaces.InterfaceState {
			s, _ := values[prefix+name].(*interfaces.InterfaceState)
			return s
		}
		isUp := func(s *interfaces.InterfaceState) bool {
			return s.GetOperStatus() == interfaces.InterfaceState_UP && s.GetStatistics() != nil
		}
		to.Await(func(values map[string]proto.Message) bool {
			return isUp(state(values, "x")) && isUp(state(values, "y"))
		})
		if w.Sim == nil {
			exchange(t, w, "own", "left", "10.1.0.2")
			to.Await(func(values map[string]proto.Message) bool {
				c := state(values, "x").GetStatistics()
				return c.GetInPackets() > 0 && c.GetOutBytes() > c.GetOutPackets()
			})
		}
		down := proto.CloneOf(y)
		down.Enabled = false
		must(t, a.Apply(down))
		to.Await(func(values map[string]proto.Message) bool {
			return state(values, "y").GetAdminStatus() == interfaces.InterfaceState_DOWN &&
				state(values, "x").GetOperStatus() == interfaces.InterfaceState_DOWN
		})
		must(t, a.Delete(x, y))
		to.Await(func(values map[string]proto.Message) bool { return len(values) == 1 }) // the one of the other agent
	})
}

// TestPublishedStatesWithoutCounters: with the interval 0 of counters, states have none, though the
// reports of changes have them.
func TestPublishedStatesWithoutCounters(t *testing.T) {
	t.Parallel()
	w := nltest.Sim()
	const key = "/vnf-agent/" + linuxtest.Label + "/linux/status/v2/interface/x"
	to := kvtest.NewMemory()
	a := linuxtest.StartPublishing(t, w, to, 0)
	must(t, a.Apply(veth("x", "y", ""), veth("y", "x", "")))
	to.Await(func(values map[string]proto.Message) bool {
		s, _ := values[key].(*interfaces.InterfaceState)
		if s.GetStatistics() != nil {
			t.Errorf("published with counters: %v", s)
		}
		return s.GetOperStatus() == interfaces.InterfaceState_UP && s.GetSpeed() == 10_000_000_000
	})
}
