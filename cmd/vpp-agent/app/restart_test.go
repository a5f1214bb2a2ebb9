package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// An agent that starts again beside 100,000 NAT mappings, or 50,000 security associations, changes
// nothing.
func TestRestartBesideManyItems(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
	for name, n := range map[string]struct{ mappings, associations int }{"mappings": {100_000, 1}, "associations": {1, 50_000}, "both": {100_000, 50_000}} {
		t.Run(name+"-simulator", func(t *testing.T) {
			restartBesideMany(t, vpptest.Simulator(t, vppsim.Options{}).Socket, n.mappings, n.associations)
		})
		t.Run(name+"-real", func(t *testing.T) {
			restartBesideMany(t, realvpptest.Start(t, roomForRoutes).Socket, n.mappings, n.associations)
		})
	}
}

func restartBesideMany(t *testing.T, socket string, mappings, associations int) {
	t.Helper()
	var text strings.Builder
	text.WriteString(network + "  nat44Global: {}\n  dnat44s:\n")
	for i := range mappings {
		fmt.Fprintf(&text, "  - {label: dnat%d, stMappings: [{externalIp: %s, externalPort: 80, localIps: [{localIp: 10.1.0.9, localPort: 8080}]}]}\n",
			i, hostRoute(i).Addr())
	}
	text.WriteString("  ipsecSas:\n")
	for i := range associations {
		fmt.Fprintf(&text, "  - {index: %d, spi: %d, protocol: ESP, cryptoAlg: AES_GCM_128, cryptoKey: 0123456789abcdef0123456789abcdef, tunnelSrcAddr: 10.1.0.1, tunnelDstAddr: %s}\n",
			i, 1000+i, hostRoute(i).Addr())
	}
	life := func() (operations int) {
		h := newHouse(t, text.String())
		h.vpp(t, "binapi-socket-path: "+socket+"\n")
		h.start(t)
		h.await(t, fmt.Sprintf("config/vpp/nat/v2/dnat44/dnat%d", mappings-1), pb.ValueState_CONFIGURED)
		h.await(t, fmt.Sprintf("config/vpp/ipsec/v2/sa/%d", associations-1), pb.ValueState_CONFIGURED)
		if err := h.agent.Stop(); err != nil {
			t.Fatal(err)
		}
		for _, txn := range h.Scheduler.GetTransactionHistory(time.Time{}, time.Time{}) {
			operations += len(txn.Executed) + txn.OmittedOps
		}
		return operations
	}
	if n := life(); n < mappings+associations {
		t.Fatalf("%d operations, expected one for each of %d items", n, mappings+associations)
	}
	if n := life(); n != 0 {
		t.Errorf("%d operations after a restart, expected none", n)
	}
}
