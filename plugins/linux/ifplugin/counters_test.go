package ifplugin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
)

// TestCounters: interfaces in all namespaces have the counters of their links,
// as JSON in the form of the predecessor and as metrics.
func TestCounters(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		x, y := veth("x", "y", "", "10.1.0.1/24"), veth("y", "x", "left", "10.1.0.2/24")
		must(t, a.Apply(x, y))
		if w.Sim == nil {
			exchange(t, w, "own", "left", "10.1.0.2")
		}
		all, err := a.Interfaces.Counters(t.Context())
		must(t, err)
		if len(all) != 2 || all[0].Name != "x" || all[1].Name != "y" {
			t.Fatalf("counters: %+v", all)
		}
		for _, c := range all {
			if w.Sim == nil && (c.RXPackets == 0 || c.TXPackets == 0 || c.RXBytes < c.RXPackets || c.TXBytes < c.TXPackets) {
				t.Errorf("counters: %+v", c)
			}
		}
		text, err := json.Marshal(all[0])
		must(t, err)
		if !strings.HasPrefix(string(text), `{"interface_name":"x","interface_type":1,"linux_if_index":`) || !strings.Contains(string(text), `,"rx_packets":`) {
			t.Errorf("counters are written as %s", text)
		}
		families, err := a.Metrics.Gather()
		must(t, err)
		found := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if l.GetName() == "interface" {
						found[f.GetName()+" "+l.GetValue()] = m.GetCounter().GetValue()
					}
				}
			}
		}
		if len(found) != 16 {
			t.Errorf("metrics: %v", found)
		}
		if now := found["linux_interface_tx_bytes_total x"]; now < float64(all[0].TXBytes) {
			t.Errorf("x sent %v bytes, expected %d or more", now, all[0].TXBytes)
		}
		if w.Sim == nil {
			return // deleting a namespace of the kernel is followed by creating it again
		}
		w.Remove(t, "left")
		if all, err = a.Interfaces.Counters(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("after the namespace was deleted: %+v, %v", all, err)
		}
	})
}
