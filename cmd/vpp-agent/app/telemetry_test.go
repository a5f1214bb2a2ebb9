package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// metrics returns the series that begin so.
func (h *house) metrics(t *testing.T, prefix string) string {
	t.Helper()
	code, body := h.get(t, "/metrics")
	if code != http.StatusOK {
		t.Fatalf("/metrics: status %d: %s", code, body)
	}
	var found []string
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, prefix) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}

// The simulator has no stats segment, which makes no agent unready.
func TestMetricsOfTheSimulator(t *testing.T) {
	t.Parallel()
	h := newHouse(t, network, "--simulate", "--microservice-label", "one")
	h.start(t)
	h.await(t, loopKey, pb.ValueState_CONFIGURED)
	if got := h.metrics(t, "vpp_stats_up"); got != "vpp_stats_up{agent=\"one\"} 0\n" {
		t.Errorf("got %q", got)
	}
	h.awaitReadiness(t, http.StatusOK, "")
	if got := h.GoVPP.StatsSocket(); got != "" {
		t.Errorf("stats segment of the simulator: %s", got)
	}
}

// The whole way: an interface of the configuration is counted under its name.
func TestMetricsOfARealVPP(t *testing.T) {
	t.Parallel()
	vpp := realvpptest.Start(t)
	h := newHouse(t, network, "--microservice-label", "one")
	h.vpp(t, fmt.Sprintf("binapi-socket-path: %s\nstats-socket-path: %s\n", vpp.Socket, vpp.StatsSocket))
	h.start(t)
	h.await(t, routeKey, pb.ValueState_CONFIGURED)
	want := `vpp_interfaces_rx_packets{agent="one",index="1",internal_name="loop0",name="loop1"} 0`
	if got := h.metrics(t, "vpp_interfaces_rx_packets"); !strings.Contains(got, want) {
		t.Errorf("no %s in\n%s", want, got)
	}
}
