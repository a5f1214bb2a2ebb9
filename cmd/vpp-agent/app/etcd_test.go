package app_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	vppif "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// etcdctl is the tool that the documents recommend.
type etcdctl struct {
	t      testing.TB
	server *kvtest.Process
}

func (e etcdctl) run(args ...string) string {
	e.t.Helper()
	return kvtest.Etcdctl(e.t, append([]string{"--endpoints", e.server.Direct}, args...)...)
}

// newEtcdHouse is a house that has its configuration from etcd alone.
func newEtcdHouse(t testing.TB, server *kvtest.Process, args ...string) *house {
	t.Helper()
	h := newHouse(t, "", args...)
	h.write(t, "etcd.conf", "insecure-transport: true\ndial-timeout: 1m\noperation-timeout: 1m\nreconnect-interval: 100ms\nendpoints:\n  - \""+server.Addr+"\"\n")
	return h
}

func startEtcd(t testing.TB) (*kvtest.Process, etcdctl) {
	t.Helper()
	if _, err := exec.LookPath("etcdctl"); err != nil {
		t.Skip("SKIPPED: there is no etcdctl here (Debian: apt install etcd-client); nothing of this is tested")
	}
	server := kvtest.Etcd(t)
	return server, etcdctl{t, server}
}

// plan is the plan of the newest change from etcd, in the words of the
// documents.
func (h *house) plan() string {
	var planned []kvs.RecordedTxnOp
	for _, txn := range h.Scheduler.GetTransactionHistory(time.Time{}, time.Time{}) {
		if txn.Description == "change from etcd" {
			planned = txn.Planned
		}
	}
	var lines []string
	for _, op := range planned {
		var flags []string
		for _, f := range []struct {
			set  bool
			name string
		}{
			{op.IsDerived, "DERIVED"}, {op.NOOP, "NOOP"},
			{op.PrevState == pb.ValueState_PENDING, "WAS-PENDING"}, {op.NewState == pb.ValueState_PENDING, "IS-PENDING"},
		} {
			if f.set {
				flags = append(flags, f.name)
			}
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%v %s %v", op.Operation, op.Key, flags)))
	}
	return strings.Join(lines, "\n")
}

func wantPlan(t testing.TB, h *house, lines ...string) {
	t.Helper()
	h.Scheduler.TransactionBarrier() // states are published before the transaction is recorded
	if got, want := h.plan(), strings.Join(lines, "\n"); got != want {
		t.Errorf("plan\n%s\nwant\n%s", got, want)
	}
}

const (
	docFIB     = "config/vpp/l2/v2/fib/bd1/mac/62:89:C6:A3:6D:5C"
	docBD      = "config/vpp/l2/v2/bridge-domain/bd1"
	docIf      = "config/vpp/v2/interfaces/if1"
	docBinding = "vpp/bd/bd1/interface/if1"
	docPrefix  = "/vnf-agent/vpp1/"
)

// The sequence of the user's documents ("Configuration Order using the Ligato
// vpp-agent"): the entry of the forwarding table first, then its bridge domain,
// then the interface; then the bridge domain is deleted, and created again. The
// document's interface is "tap1" in its key and "if1" elsewhere; here it is
// "if1" throughout.
func TestEtcdInReversedOrder(t *testing.T) {
	t.Parallel()
	server, ctl := startEtcd(t)
	h := newEtcdHouse(t, server, "--simulate")
	h.start(t)
	h.awaitReadiness(t, http.StatusOK, "simulated")

	ctl.run("put", docPrefix+docFIB, `{"phys_address":"62:89:C6:A3:6D:5C","bridge_domain":"bd1","outgoing_interface":"if1","action":"FORWARD"}`)
	h.await(t, docFIB, pb.ValueState_PENDING)
	wantPlan(t, h, "CREATE "+docFIB+" [NOOP IS-PENDING]")

	ctl.run("put", docPrefix+docBD, `{"name":"bd1","interfaces":[{"name":"if1"}]}`)
	h.await(t, docBinding, pb.ValueState_PENDING)
	wantPlan(t, h, "CREATE "+docBD+" []", "CREATE "+docBinding+" [DERIVED NOOP IS-PENDING]")

	ctl.run("put", docPrefix+docIf, `{"name":"if1","type":"TAP","enabled":true}`)
	h.await(t, docFIB, pb.ValueState_CONFIGURED)
	wantPlan(t, h, "CREATE "+docIf+" []", "CREATE "+docBinding+" [DERIVED WAS-PENDING]", "CREATE "+docFIB+" [WAS-PENDING]")

	ctl.run("del", docPrefix+docBD)
	h.await(t, docBD, pb.ValueState_NONEXISTENT)
	h.await(t, docFIB, pb.ValueState_PENDING)
	wantPlan(t, h, "DELETE "+docFIB+" [IS-PENDING]", "DELETE "+docBinding+" [DERIVED]", "DELETE "+docBD+" []")
	if dump := h.LocalVPP.Simulator().Dump(); strings.Contains(strings.ToLower(dump), "62:89:c6") {
		t.Errorf("VPP still has the entry:\n%s", dump)
	}

	ctl.run("put", docPrefix+docBD, `{"name":"bd1","interfaces":[{"name":"if1"}]}`)
	h.await(t, docFIB, pb.ValueState_CONFIGURED)
}

// What cannot be read, or belongs nowhere, is reported; the rest applies.
// Values may be JSON or protobuf.
func TestEtcdWithErrors(t *testing.T) {
	t.Parallel()
	server, ctl := startEtcd(t)
	wire, err := proto.Marshal(&vppif.Interface{Name: "loop7", Type: vppif.Interface_SOFTWARE_LOOPBACK, Enabled: true})
	if err != nil {
		t.Fatal(err)
	}
	const wireKey = "config/vpp/v2/interfaces/loop7"
	ctl.run("put", docPrefix+wireKey, string(wire))
	ctl.run("put", docPrefix+"config/vpp/v2/interfaces/bad", `{"name":"bad",`)
	ctl.run("put", docPrefix+"config/vpp/v2/interfaces/other", `{"name":"another","type":"SOFTWARE_LOOPBACK"}`)
	ctl.run("put", docPrefix+"config/vpp/v2/nothing/x", `{}`)
	ctl.run("put", docPrefix+"config/vpp/v2/interfaces/strange", `{"name":"strange","mtuu":9000}`)
	ctl.run("put", docPrefix+"nobody/watches/this", `{`)
	ctl.run("put", "/vnf-agent/vpp10/config/vpp/v2/interfaces/foreign", `{`)
	h := newEtcdHouse(t, server, "--simulate")
	h.start(t)
	h.await(t, wireKey, pb.ValueState_CONFIGURED)
	h.await(t, "config/vpp/v2/interfaces/another", pb.ValueState_CONFIGURED) // the key of the value counts
	for _, text := range []string{
		"etcd:/vnf-agent/vpp1/config/vpp/v2/interfaces/bad", "key config/vpp/v2/nothing/x: no model has such keys", "mtuu",
	} {
		if _, body := h.get(t, "/configuration/sources"); !strings.Contains(body, text) {
			t.Errorf("no error about %q:\n%s", text, body)
		}
	}
	ctl.run("put", docPrefix+"config/vpp/v2/interfaces/bad", `{"name":"bad","type":"SOFTWARE_LOOPBACK"}`)
	h.await(t, "config/vpp/v2/interfaces/bad", pb.ValueState_CONFIGURED)
	ctl.run("put", docPrefix+wireKey, `{`) // and a bad value does not take the good one away
	for _, key := range []string{"config/vpp/v2/interfaces/other", "config/vpp/v2/nothing/x", "config/vpp/v2/interfaces/strange"} {
		ctl.run("del", docPrefix+key)
	}
	h.awaitReadiness(t, http.StatusServiceUnavailable, "loop7")
	h.await(t, wireKey, pb.ValueState_CONFIGURED)
	ctl.run("del", docPrefix+wireKey)
	h.await(t, wireKey, pb.ValueState_NONEXISTENT)
	h.awaitReadiness(t, http.StatusOK, "")
}

// An agent without its etcd starts, and catches up when it comes. What etcd
// says wins over files.
func TestEtcdComesLater(t *testing.T) {
	t.Parallel()
	server, ctl := startEtcd(t)
	ctl.run("put", docPrefix+loopKey, `{"name":"loop1","type":"SOFTWARE_LOOPBACK","enabled":true,"ip_addresses":["10.9.0.1/24"]}`)
	server.Stop()
	h := newEtcdHouse(t, server, "--simulate")
	h.write(t, "network.yaml", network)
	h.write(t, "orchestrator.conf", "initial-sync-timeout: 10ms\n")
	h.start(t)
	h.await(t, loopKey, pb.ValueState_CONFIGURED)
	h.awaitReadiness(t, http.StatusServiceUnavailable, "etcd: no initial state")
	server.Start(t)
	h.awaitReadiness(t, http.StatusOK, "")
	h.awaitDump(t, "10.9.0.1/24")
	ctl.run("del", docPrefix+loopKey) // and the file's value is in effect again
	h.awaitDump(t, "10.1.0.1/24")
}

// awaitDump waits until VPP has something.
func (h *house) awaitDump(t testing.TB, text string) {
	t.Helper()
	changes := make(chan *kvs.BaseValueStatus, 16)
	cancel := h.Scheduler.WatchValueStatus(changes, nil)
	defer cancel()
	late := time.After(patience)
	for !strings.Contains(h.LocalVPP.Simulator().Dump(), text) {
		select {
		case <-changes:
		case <-late:
			t.Fatalf("VPP does not have %s:\n%s", text, h.LocalVPP.Simulator().Dump())
		}
	}
}

// An agent that must have its etcd says so and does not start.
func TestEtcdIsMissing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, network, "--simulate")
	h.write(t, "etcd.conf", "endpoints: [127.0.0.1:1]\nallow-delayed-start: false\n")
	err := h.agent.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no response from 127.0.0.1:1") {
		t.Errorf("start: %v", err)
	}
}
