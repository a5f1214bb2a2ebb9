package app_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come; it is no measure.
const patience = 2 * time.Minute

const (
	loopKey  = "config/vpp/v2/interfaces/loop1"
	routeKey = "config/vpp/v2/route/if/loop1/vrf/0/dst/10.2.0.0/24/gw/10.1.0.2"
	bdKey    = "config/vpp/l2/v2/bridge-domain/bd1"
)

const network = `
vppConfig:
  interfaces:
  - {name: loop1, type: SOFTWARE_LOOPBACK, enabled: true, physAddress: "02:00:00:00:00:01", ipAddresses: [10.1.0.1/24]}
  routes:
  - {dstNetwork: 10.2.0.0/24, nextHopAddr: 10.1.0.2, outgoingInterface: loop1}
`

// house is an agent with its files.
type house struct {
	*app.VPPAgent
	agent *agent.Agent
	dir   string
}

// newHouse makes an agent that leaves the kernel alone, with one file of
// configuration. Arguments are added to its command line.
func newHouse(t testing.TB, text string, args ...string) *house {
	t.Helper()
	return newCustomHouse(t, nil, text, args...)
}

// newCustomHouse is newHouse with options of New.
func newCustomHouse(t testing.TB, custom []app.Option, text string, args ...string) *house {
	t.Helper()
	plugins, err := app.New(custom...)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{VPPAgent: plugins, dir: t.TempDir()}
	h.write(t, "network.yaml", text)
	h.write(t, "filedb.conf", "configuration-paths: ["+filepath.Join(h.dir, "network.yaml")+"]\n")
	h.write(t, "linux-nsplugin.conf", "disabled: true\n")
	h.write(t, "kvscheduler.conf", "print-txn-summary: false\n")
	h.vpp(t, "")
	args = append([]string{"--config-dir", h.dir, "--http-port", "0", "--grpc-port", "0"}, args...)
	opts := []agent.Option{agent.AllPlugins(plugins), agent.Args(args...)}
	if _, measured := t.(*testing.B); measured {
		opts = append(opts, agent.Logging(logging.NewRegistry(logging.WithWriter(io.Discard))))
	}
	h.agent = agenttest.New(t, opts...)
	return h
}

func (h *house) start(t testing.TB) {
	t.Helper()
	if err := h.agent.Start(t.Context()); err != nil {
		t.Fatalf("start: %v", err)
	}
}

// vpp configures the connection to VPP, with long bounds: a machine with much to do
// may stand still for seconds, which must not look like a VPP that hangs.
func (h *house) vpp(t testing.TB, more string) {
	t.Helper()
	h.write(t, "govpp.conf", "reply-timeout: 1m\nhealth-check-reply-timeout: 1m\n"+more)
}

// write saves a file the way editors do: aside, then renamed.
func (h *house) write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.WriteFile(path+".tmp", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		t.Fatal(err)
	}
}

// await waits until a value is in a state, and returns its status.
func (h *house) await(t testing.TB, key string, state kvs.ValueState) *kvs.ValueStatus {
	t.Helper()
	changes := make(chan *kvs.BaseValueStatus, 16)
	cancel := h.Scheduler.WatchValueStatus(changes, nil)
	defer cancel()
	late := time.After(patience)
	for {
		status := h.Scheduler.GetValueStatus(key).GetValue()
		if status.GetState() == state {
			return status
		}
		select {
		case <-changes:
		case <-late:
			t.Fatalf("%s is %v, expected %v", key, status, state)
		}
	}
}

// get asks the HTTP server.
func (h *house) get(t testing.TB, path string) (code int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.HTTP.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// awaitReadiness asks until the answer has a code and a text.
func (h *house) awaitReadiness(t testing.TB, code int, text string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for {
		got, body := h.get(t, "/readiness")
		if got == code && strings.Contains(body, text) {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("/readiness is %d, expected %d with %q:\n%s", got, code, text, body)
		}
	}
}

func TestFileProgramsVPP(t *testing.T) {
	t.Parallel()
	h := newHouse(t, network, "--simulate")
	h.start(t)
	h.await(t, loopKey, pb.ValueState_CONFIGURED)
	h.await(t, routeKey, pb.ValueState_CONFIGURED)
	h.awaitReadiness(t, http.StatusOK, "simulated")

	h.write(t, "network.yaml", network+"  bridgeDomains:\n  - {name: bd1, forward: true, interfaces: [{name: loop2}]}\n")
	h.await(t, bdKey, pb.ValueState_CONFIGURED)
	binding := h.await(t, "vpp/bd/bd1/interface/loop2", pb.ValueState_PENDING)
	if got := strings.Join(binding.GetDetails(), " "); !strings.Contains(got, "interface") {
		t.Errorf("the binding waits for %q, expected its interface", got)
	}
	if dump := h.LocalVPP.Simulator().Dump(); !strings.Contains(dump, "bd1") || !strings.Contains(dump, "10.1.0.1/24") {
		t.Errorf("VPP does not have the configuration:\n%s", dump)
	}
	h.write(t, "network.yaml", network)
	h.await(t, bdKey, pb.ValueState_NONEXISTENT)
}

// The last good state stays in effect, so the agent is DEGRADED and still ready.
func TestBrokenFileKeepsLastState(t *testing.T) {
	t.Parallel()
	h := newHouse(t, network, "--simulate")
	h.start(t)
	h.await(t, routeKey, pb.ValueState_CONFIGURED)
	h.write(t, "network.yaml", "vppConfig:\n  interfaces:\n  - {name: loop1, type: SOFTWARE_LOOPBACK, mtuu: 9}\n")
	h.awaitReadiness(t, http.StatusOK, "network.yaml:3")
	h.await(t, loopKey, pb.ValueState_CONFIGURED)
	h.await(t, routeKey, pb.ValueState_CONFIGURED)
	h.write(t, "network.yaml", network)
	h.awaitReadiness(t, http.StatusOK, "")
}

func TestVPPComesGoesAndReturnsEmpty(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "api.sock")
	h := newHouse(t, network)
	h.vpp(t, "binapi-socket-path: "+socket+"\nretry-connect-timeout: 10ms\n")
	h.start(t)
	status := h.await(t, loopKey, pb.ValueState_PENDING)
	if got := strings.Join(status.GetDetails(), " "); !strings.Contains(got, "vpp") {
		t.Errorf("without VPP the interface waits for %q, expected vpp", got)
	}
	h.awaitReadiness(t, http.StatusServiceUnavailable, "VPP is not connected")

	vpp := vppsim.New(vppsim.Options{})
	if err := vpp.ListenUnix(socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = vpp.Close() })
	h.await(t, routeKey, pb.ValueState_CONFIGURED)
	before := vpp.Dump()

	if err := vpp.Die(); err != nil {
		t.Fatal(err)
	}
	h.await(t, loopKey, pb.ValueState_PENDING)
	if err := vpp.Restart(); err != nil {
		t.Fatal(err)
	}
	h.await(t, routeKey, pb.ValueState_CONFIGURED)
	h.awaitReadiness(t, http.StatusOK, "")
	if after := vpp.Dump(); after != before {
		t.Errorf("the VPP that was restarted has\n%s\nexpected\n%s", after, before)
	}
}

func TestRestartOfTheAgentChangesNothing(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "api.sock")
	vpp := vppsim.New(vppsim.Options{})
	if err := vpp.ListenUnix(socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = vpp.Close() })
	life := func(text string) {
		h := newHouse(t, text)
		h.vpp(t, "binapi-socket-path: "+socket+"\n")
		h.start(t)
		h.await(t, routeKey, pb.ValueState_CONFIGURED)
		if err := h.agent.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	life(network)
	before, counts := vpp.Dump(), vpp.Counts()
	life(network)
	if after := vpp.Dump(); after != before {
		t.Errorf("the second life left\n%s\nexpected\n%s", after, before)
	}
	for _, request := range []string{"create_loopback_instance", "delete_loopback", "ip_route_add_del", "ip_route_add_del_v2"} {
		if n := vpp.Count(request) - counts[request]; n != 0 {
			t.Errorf("the second life sent %d %s, expected none: all was in place", n, request)
		}
	}
}

func TestCleanupOnExit(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "api.sock")
	vpp := vppsim.New(vppsim.Options{})
	if err := vpp.ListenUnix(socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = vpp.Close() })
	empty := vpp.Dump()
	h := newHouse(t, network, "--cleanup-on-exit")
	h.vpp(t, "binapi-socket-path: "+socket+"\n")
	h.start(t)
	h.await(t, routeKey, pb.ValueState_CONFIGURED)
	if err := h.agent.Stop(); err != nil {
		t.Fatal(err)
	}
	if after := vpp.Dump(); after != empty {
		t.Errorf("left behind:\n%s\nexpected\n%s", after, empty)
	}
}

func TestTwoAgentsInOneProcess(t *testing.T) {
	t.Parallel()
	one := newHouse(t, network, "--simulate", "--microservice-label", "one")
	two := newHouse(t, strings.ReplaceAll(network, "loop1", "loop9"), "--simulate", "--microservice-label", "two")
	one.start(t)
	two.start(t)
	one.await(t, routeKey, pb.ValueState_CONFIGURED)
	two.await(t, "config/vpp/v2/interfaces/loop9", pb.ValueState_CONFIGURED)
	if got := two.Scheduler.GetValueStatus(loopKey).GetValue().GetState(); got != pb.ValueState_NONEXISTENT {
		t.Errorf("the second agent has the first one's interface: %v", got)
	}
	if err := one.agent.Stop(); err != nil {
		t.Fatal(err)
	}
	two.awaitReadiness(t, http.StatusOK, "simulated")
}

func TestPortTaken(t *testing.T) {
	t.Parallel()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, network, "--simulate", "--http-port", port)
	err = h.agent.Start(t.Context())
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), ln.Addr().String()) {
		t.Errorf("error %v, expected one that names %s", err, ln.Addr())
	}
}

func TestHangingVPPIsToldAndRecovers(t *testing.T) {
	t.Parallel()
	h := newHouse(t, network, "--simulate")
	h.write(t, "govpp.conf", "health-check-probe-interval: 20ms\nhealth-check-reply-timeout: 1s\nhealth-check-threshold: 2\n"+
		"reply-timeout: 2s\nretry-connect-timeout: 20ms\n")
	h.start(t)
	h.await(t, routeKey, pb.ValueState_CONFIGURED)
	h.LocalVPP.Simulator().Hang()
	h.awaitReadiness(t, http.StatusServiceUnavailable, "govpp")
	h.LocalVPP.Simulator().Resume()
	h.awaitReadiness(t, http.StatusOK, "")
	h.await(t, routeKey, pb.ValueState_CONFIGURED)
}

func TestLocalVPPIsOneOrTheOther(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"--simulate --start-vpp /bin/true", "--simulate and --start-vpp"},
		{"--start-vpp /does/not/exist", "--start-vpp"},
		{"--start-vpp /bin/true --start-vpp-config /does/not/exist", "--start-vpp-config"},
		{"--simulate --start-vpp-config /dev/null", "--start-vpp-config without --start-vpp"},
	} {
		h := newHouse(t, network, strings.Fields(c.args)...)
		if err := h.agent.Start(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, expected one about %s", c.args, err, c.want)
		}
	}
}

// BenchmarkStart measures an agent's start, from nothing to ready.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		h := newHouse(b, "", "--simulate")
		h.start(b)
		if err := h.agent.Stop(); err != nil {
			b.Fatal(err)
		}
	}
}
