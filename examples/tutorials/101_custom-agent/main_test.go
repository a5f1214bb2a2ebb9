package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come; it is no measure.
const patience = 2 * time.Minute

// operations are what README.md shows of the transaction that makes the network.
const operations = `      1. CREATE [NOOP IS-PENDING]:
          - key: config/tutorial/v1/hosts/printer
          - value: { name:"printer" address:"10.3.0.9" interface:"loop2" }
      2. CREATE:
          - key: config/vpp/v2/interfaces/loop1
          - value: { name:"loop1" type:SOFTWARE_LOOPBACK enabled:true ip_addresses:"10.1.0.1/24" }
      3. CREATE:
          - key: config/tutorial/v1/hosts/gateway
          - value: { name:"gateway" address:"10.1.0.2" interface:"loop1" }
      4. CREATE:
          - key: config/vpp/v2/route/if/loop1/vrf/0/dst/10.2.0.0/16/gw/10.1.0.2
`

// await waits until a value is in a state.
func await(t *testing.T, a *CustomAgent, key string, state kvs.ValueState) {
	t.Helper()
	changes := make(chan *kvs.BaseValueStatus, 64)
	cancel := a.Scheduler.WatchValueStatus(changes, nil)
	defer cancel()
	for late := time.After(patience); a.Scheduler.GetValueStatus(key).GetValue().GetState() != state; {
		select {
		case <-changes:
		case <-late:
			t.Fatalf("%s is %v, expected %v", key, a.Scheduler.GetValueStatus(key), state)
		}
	}
}

func TestTutorial(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("network.yaml")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	network, file := filepath.Join(dir, "network.yaml"), filepath.Join(dir, "hosts")
	save := func(path, text string) {
		t.Helper()
		err := os.WriteFile(path+".new", []byte(text), 0o600) // as editors do: aside, then renamed
		if err = errors.Join(err, os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	const first = "  - name: first\n    type: SOFTWARE_LOOPBACK\n"
	save(network, "vppConfig:\n  interfaces:\n"+first)
	save(filepath.Join(dir, "hosts.conf"), "path: "+file+"\n")

	// with is the network of the tutorial with more interfaces.
	with := func(interfaces string) string {
		return strings.Replace(string(text), "  routes:", interfaces+"  routes:", 1)
	}

	var out bytes.Buffer
	a, err := newCustomAgent(&out, network)
	if err != nil {
		t.Fatal(err)
	}
	life := agenttest.New(t, agent.AllPlugins(a),
		agent.Args("--config-dir", dir, "--http-port", "0", "--vpp-socket", filepath.Join(dir, "nobody.sock")))
	if err := life.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, a, "config/vpp/v2/interfaces/first", pb.ValueState_CONFIGURED) // VPP is connected

	save(network, with(first))
	await(t, a, "config/tutorial/v1/hosts/gateway", pb.ValueState_CONFIGURED)
	await(t, a, "config/tutorial/v1/hosts/printer", pb.ValueState_PENDING)
	expectFile(t, file, "10.1.0.2 gateway # interface loop1\n")

	// The missing interface comes, and the printer with it.
	save(network, with(first+"  - name: loop2\n    type: SOFTWARE_LOOPBACK\n"))
	await(t, a, "config/tutorial/v1/hosts/printer", pb.ValueState_CONFIGURED)
	expectFile(t, file, "10.1.0.2 gateway # interface loop1\n10.3.0.9 printer # interface loop2\n")

	// It goes, and takes the printer along.
	save(network, with(first))
	await(t, a, "config/tutorial/v1/hosts/printer", pb.ValueState_PENDING)
	expectFile(t, file, "10.1.0.2 gateway # interface loop1\n")

	if err := life.Stop(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), operations) {
		t.Errorf("the transaction of the tutorial is not among:\n%s\nexpected\n%s", &out, operations)
	}
	if !strings.Contains(string(readme), operations) {
		t.Errorf("README.md shows other operations than\n%s", operations)
	}
}

func expectFile(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("the file of hosts has\n%s\nexpected\n%s", got, want)
	}
}
