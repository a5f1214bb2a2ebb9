package app_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// linuxItems has an item of each kind of Linux.
const linuxItems = `linuxConfig:
  interfaces:
  - {name: x, type: VETH, enabled: true, ipAddresses: [10.1.0.1/24], veth: {peerIfName: y}}
  - {name: y, type: VETH, enabled: true, hostIfName: h-y, veth: {peerIfName: x}}
  routes: [{dstNetwork: 10.2.0.0/16, outgoingInterface: x, scope: GLOBAL, gwAddr: 10.1.0.2}]
  arpEntries: [{interface: x, ipAddress: 10.1.0.7, hwAddress: "02:00:00:00:00:07"}]
  nexthops: [{name: n, id: 5, outgoingInterface: x, gwAddr: 10.1.0.2}]
  rules: [{name: r, priority: 100, table: 77}]
  iptablesRulechains: [{name: c, chainName: C, rules: [-p tcp -j ACCEPT]}]
  nftablesTables: [{name: t, tableName: t, content: "chain c {\n accept\n}"}]
  puntProxies: [{name: p, rxPort: {l4Protocol: TCP, l3Protocol: ALL, port: 9000}, txSocket: {path: /run/none.sock}}]
`

// "agentctl dump" can show each kind of Linux item, as it is, as it is known and as it is desired.
func TestDumpsOfLinux(t *testing.T) {
	t.Parallel()
	h := newSimulatedHouse(t, linuxItems, "--simulate")
	h.start(t)
	h.await(t, "config/linux/l3/v2/route/10.2.0.0/16/x", pb.ValueState_CONFIGURED)
	h.await(t, "config/linux/l3/v2/nexthop/n", pb.ValueState_CONFIGURED)
	h.await(t, "config/linux/punt/v2/proxy/p", pb.ValueState_CONFIGURED)
	set, err := allmodels.Set()
	if err != nil {
		t.Fatal(err)
	}
	kinds := 0
	for _, m := range set.All() {
		name := m.Spec().ModelName()
		if !strings.HasPrefix(name, "linux.") {
			continue
		}
		kinds++
		for _, view := range []string{"SB", "cached", "NB"} {
			var values []struct{ Key string }
			query := url.Values{"key-prefix": {m.KeyPrefix()}, "view": {view}}
			if status := fetch(t, h.HTTP.URL()+"/scheduler/dump?"+query.Encode(), &values); status != http.StatusOK || len(values) == 0 {
				t.Errorf("%s, view %s: status %d, %d values, expected some", name, view, status, len(values))
			}
		}
	}
	if kinds < 8 {
		t.Errorf("%d kinds of Linux, expected 8 or more", kinds)
	}
}
