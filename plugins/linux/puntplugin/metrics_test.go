package puntplugin_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
)

// TestMetrics: what went through a proxy is counted under its name.
func TestMetrics(t *testing.T) {
	t.Parallel()
	w := nltest.Sim()
	own := w.Open(t, "")
	a := linuxtest.Start(t, w)
	serve(t, own, "s", tcp(7100, nil), false)
	must(t, a.Apply(proxyOf("p/1", tcp(7000, nil), tcp(7100, nil))))
	if got := ask(own, tcp(7000, nil), false, "text"); got != "s: text" {
		t.Fatalf("the answer is %q", got)
	}
	values := func() map[string]float64 {
		families, err := a.Metrics.Gather()
		must(t, err)
		all := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				all[f.GetName()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
				if labels := m.GetLabel(); len(labels) != 2 || labels[0].GetValue() != linuxtest.Label || labels[1].GetValue() != "p/1" {
					t.Errorf("labels of %s: %v", f.GetName(), labels)
				}
			}
		}
		return all
	}
	nltest.Poll(t, "the session has ended", func() bool { return values()["linux_punt_proxy_sessions"] == 0 })
	for name, want := range map[string]float64{
		"sessions_total": 1, "failed_sessions_total": 0, "received_bytes_total": 4, "sent_bytes_total": 7, "dropped_datagrams_total": 0,
	} {
		if got, there := values()["linux_punt_proxy_"+name]; !there || got != want {
			t.Errorf("%s is %v, expected %v", name, got, want)
		}
	}
}
