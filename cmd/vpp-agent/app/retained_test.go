package app_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	aclmodel "github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/model"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// many returns 2,000 items in one of their variants.
func many(variant int) (items []orchestrator.KeyVal) {
	add := func(key string, m proto.Message) { items = append(items, orchestrator.KeyVal{Key: key, Val: m}) }
	for i := range 200 {
		loop := &interfaces.Interface{Name: fmt.Sprintf("loop%d", i), Type: interfaces.Interface_SOFTWARE_LOOPBACK, Enabled: true,
			Mtu: uint32(1500 + variant), IpAddresses: []string{fmt.Sprintf("10.0.%d.1/24", i)}}
		add(ifmodel.InterfaceModel.Key(loop), loop)
		for j := range 6 {
			r := &l3.Route{DstNetwork: fmt.Sprintf("20.%d.%d.0/24", i, j), NextHopAddr: fmt.Sprintf("10.0.%d.2", i), OutgoingInterface: loop.Name, Weight: uint32(1 + variant)}
			add(l3model.RouteModel.Key(r), r)
		}
		for j := range 2 {
			a := &l3.ARPEntry{Interface: loop.Name, IpAddress: fmt.Sprintf("10.0.%d.%d", i, 10+j), PhysAddress: fmt.Sprintf("02:00:00:00:%02x:%02x", i, variant), Static: true}
			add(l3model.ARPModel.Key(a), a)
		}
		rules := &acl.ACL{Name: fmt.Sprintf("acl%d", i), Rules: []*acl.ACL_Rule{{Action: acl.ACL_Rule_PERMIT, IpRule: &acl.ACL_Rule_IpRule{
			Ip: &acl.ACL_Rule_IpRule_Ip{SourceNetwork: fmt.Sprintf("30.%d.%d.0/24", i, variant)}}}}}
		add(aclmodel.ACLModel.Key(rules), rules)
	}
	return items
}

// retained is the memory in use, in bytes.
func retained() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // of what had a finalizer
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Items that were created, changed and deleted again leave no more in memory than the history
// may take. No parallel test: it measures the heap of the process.
func TestMemoryAfterChanges(t *testing.T) {
	const history, rest = 1 << 20, 8 << 20 // rest: of ifplugin, the configurator, the simulator
	h := newHouse(t, "{}", "--simulate", "--state-dir", filepath.Join(t.TempDir(), "state"))
	h.write(t, "kvscheduler.conf", fmt.Sprintf("print-txn-summary: false\ntransaction-history-max-bytes: %d\n", history))
	h.start(t)
	h.awaitReadiness(t, http.StatusOK, "")
	push := func(items []orchestrator.KeyVal) {
		if _, err := h.Orchestrator.PushData(t.Context(), orchestrator.GRPC, items); err != nil {
			t.Fatal(err)
		}
	}
	idle := retained()
	for round := range 12 {
		push(many(round % 3))
	}
	gone := many(0)
	for i := range gone {
		gone[i].Val = nil
	}
	push(gone)
	gone = nil
	grown := retained() - idle
	t.Logf("the heap grew by %d KiB", grown>>10)
	if grown > 3*history+rest {
		t.Errorf("%d items that were deleted leave %d KiB in memory, expected at most %d", len(many(0)), grown>>10, (3*history+rest)>>10)
	}
}
