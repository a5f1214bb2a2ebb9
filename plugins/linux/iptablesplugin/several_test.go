package iptablesplugin_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
)

func chain(name string, rules ...string) *iptables.RuleChain {
	return &iptables.RuleChain{Name: name, Namespace: left, ChainName: name, Rules: rules}
}

// Custom chains of one transaction are one change of the table; a rule that is refused fails its
// own chain alone, and chains that are in use stay.
func TestSeveralChains(t *testing.T) {
	run(t, func(t *testing.T, w *nltest.World) {
		h := w.Make(t, "left")
		a := linuxtest.Start(t, w)
		var values []proto.Message
		for i := range 20 { // each jumps to the last one
			values = append(values, chain(fmt.Sprintf("C%02d", i), "-s 10.0.0.1 -j ACCEPT", "-p tcp -j C20"))
		}
		values = append(values, chain("C20", "-p udp -m udp --dport 53 -j DROP"))
		must(t, a.Apply(values...))
		has(t, h, filter, "-A C00 -p tcp -j C20", "-A C19 -p tcp -j C20", "-A C20 -p udp")
		if w.Sim != nil && w.Sim.Calls("RestoreTable") != 1 {
			t.Errorf("%d changes of the table, expected one", w.Sim.Calls("RestoreTable"))
		}
		unchanged(t, a, values...)
		a.Stop()
		a = linuxtest.Start(t, w)
		unchanged(t, a, values...)

		good, bad := chain("GOOD", "-s 10.0.0.2/32 -j ACCEPT"), chain("BAD", "-j NONE-SUCH")
		if err := a.Apply(good, bad); err == nil {
			t.Error("a rule that jumps to no chain was accepted")
		}
		a.Expect(kvscheduler.ValueState_CONFIGURED, good)
		if state := a.State(linuxtest.Key(t, bad)).GetState(); state != kvscheduler.ValueState_FAILED && state != kvscheduler.ValueState_RETRYING {
			t.Errorf("the chain with the bad rule is %s", state)
		}
		has(t, h, filter, "-A GOOD -s 10.0.0.2/32 -j ACCEPT")

		restore(t, h, "-A INPUT -j C00") // as another program
		if err := a.Delete(append(values, good, bad)...); err == nil {
			t.Error("a chain that is in use was deleted")
		}
		has(t, h, filter, ":C00 ", "-A INPUT -j C00")
		a.Expect(kvscheduler.ValueState_NONEXISTENT, good)
		restore(t, h, "-D INPUT -j C00")
		must(t, a.Resync())
		if text := saved(t, h, filter); strings.Contains(text, "-A ") {
			t.Errorf("rules remain:\n%s", text)
		}
	})
}
