package app_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

const cables = `
linuxConfig:
  interfaces:
  - {name: a, type: VETH, hostIfName: sim-a, enabled: true, ipAddresses: [10.1.0.1/24], namespace: {type: NSID, reference: sim-ns}, veth: {peerIfName: b}}
  - {name: b, type: VETH, hostIfName: sim-b, enabled: true, veth: {peerIfName: a}}
  - {name: t, type: TAP_TO_VPP, hostIfName: sim-t, enabled: true, ipAddresses: [10.2.0.1/24], namespace: {type: NSID, reference: sim-ns}, tap: {vppTapIfName: tap}}
  routes:
  - {dstNetwork: 10.3.0.0/24, outgoingInterface: t, scope: GLOBAL, gwAddr: 10.2.0.2}
vppConfig:
  interfaces:
  - {name: af, type: AF_PACKET, enabled: true, afpacket: {hostIfName: sim-b}}
  - {name: af2, type: AF_PACKET, enabled: true, afpacket: {hostIfName: sim-none}}
  - {name: tap, type: TAP, enabled: true, tap: {version: 2, hostIfName: sim-tap}}
`

// newSimulatedHouse returns an agent that is not told to leave Linux alone.
func newSimulatedHouse(t *testing.T, text string, args ...string) *house {
	t.Helper()
	h := newHouse(t, text, args...)
	if err := os.Remove(filepath.Join(h.dir, "linux-nsplugin.conf")); err != nil {
		t.Fatal(err)
	}
	return h
}

// In an agent with --simulate the interfaces of the simulated Linux are those that
// the simulated VPP attaches to, and the TAPs of VPP appear in Linux. Nothing of
// this exists on the host.
func TestSimulatedLinuxAndVPPMeet(t *testing.T) {
	t.Parallel()
	h := newSimulatedHouse(t, cables, "--simulate")
	h.start(t)
	const linux = "config/linux/interfaces/v2/interface/"
	for _, key := range []string{linux + "a", linux + "b", linux + "t", "config/linux/l3/v2/route/10.3.0.0/24/t",
		"config/vpp/v2/interfaces/af", "config/vpp/v2/interfaces/tap"} {
		h.await(t, key, pb.ValueState_CONFIGURED)
	}
	h.await(t, "config/vpp/v2/interfaces/af2", pb.ValueState_PENDING)
	for _, name := range []string{"sim-a", "sim-b", "sim-t", "sim-tap"} {
		if _, err := os.Stat("/sys/class/net/" + name); err == nil {
			t.Errorf("link %s exists on the host", name)
		}
	}
	if _, err := os.Stat("/run/netns/sim-ns"); err == nil {
		t.Error("the namespace exists on the host")
	}
	var simulated struct{ Simulated []string }
	if fetch(t, h.HTTP.URL()+"/info/simulated", &simulated); strings.Join(simulated.Simulated, " ") != "vpp linux" {
		t.Errorf("simulated: %q", simulated)
	}
	h.awaitReadiness(t, http.StatusOK, "Linux is simulated")

	h.write(t, "network.yaml", strings.ReplaceAll(cables, "{name: tap,", "{name: other,"))
	h.await(t, linux+"t", pb.ValueState_PENDING)
	if text := h.Simulation.Linux().String(); strings.Contains(text, "link sim-t ") {
		t.Errorf("the Linux side of the TAP still exists under the name of the Linux interface:\n%s", text)
	}
}

// With --simulate=vpp Linux is real.
func TestSimulateVPP(t *testing.T) {
	t.Parallel()
	h := newHouse(t, network, "--simulate=vpp") // its Linux plugins are disabled
	h.start(t)
	h.await(t, loopKey, pb.ValueState_CONFIGURED)
	var simulated struct{ Simulated []string }
	if fetch(t, h.HTTP.URL()+"/info/simulated", &simulated); strings.Join(simulated.Simulated, " ") != "vpp" || h.Simulation.Linux() != nil {
		t.Errorf("simulated: %q", simulated)
	}
}

func TestValuesOfSimulate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args       []string
		env        string
		vpp, linux bool
		fails      string
	}{
		{args: nil},
		{args: []string{"--simulate"}, vpp: true, linux: true},
		{args: []string{"--simulate=all"}, vpp: true, linux: true},
		{args: []string{"--simulate=true"}, vpp: true, linux: true},
		{args: []string{"--simulate=VPP"}, vpp: true},
		{args: []string{"--simulate=false"}, env: "vpp"},
		{args: []string{"--simulate=none"}},
		{env: "true", vpp: true, linux: true},
		{env: "vpp", vpp: true},
		{args: []string{"--simulate=linux"}, fails: `invalid argument "linux" for "--simulate" flag: expected "all" (VPP and Linux`},
		{env: "yes", fails: `SIMULATE: invalid argument "yes"`},
		{args: []string{"--simulate", "vpp"}, fails: "did you mean --simulate=vpp?"},
	} {
		plugins, err := app.New()
		if err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"SIMULATE": c.env}
		a := agenttest.New(t, agent.AllPlugins(plugins), agent.Output(io.Discard), agent.Environ(config.EnvMap(env)),
			agent.Args(append(c.args, "config", "print", "govpp")...))
		err = a.Run()
		switch {
		case c.fails != "":
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%q %q: error %v, expected %q", c.args, c.env, err, c.fails)
			}
		case err != nil || plugins.Simulation.SimulatesVPP() != c.vpp || plugins.Simulation.SimulatesLinux() != c.linux:
			t.Errorf("%q %q: VPP %t, Linux %t, error %v", c.args, c.env, plugins.Simulation.SimulatesVPP(), plugins.Simulation.SimulatesLinux(), err)
		}
	}
}

// An AF_PACKET interface survives that the peer of its host interface goes down and
// up: the interface of VPP keeps its index.
func TestAFPacketSurvivesFlappingPeer(t *testing.T) {
	t.Parallel()
	h := newSimulatedHouse(t, cables, "--simulate")
	h.start(t)
	h.await(t, "config/vpp/v2/interfaces/af", pb.ValueState_CONFIGURED)
	before, _ := h.VPPIfPlugin.Interfaces().LookupByName("af")
	created := h.LocalVPP.Simulator().Count("af_packet_create_v3")
	own, err := h.Simulation.Linux().Open("", netlinkapi.Gate{})
	if err != nil {
		t.Fatal(err)
	}
	ns, err := h.Simulation.Linux().Open("/run/netns/sim-ns", netlinkapi.Gate{})
	if err != nil {
		t.Fatal(err)
	}
	peer, err := ns.LinkByName(t.Context(), "sim-a")
	if err != nil {
		t.Fatal(err)
	}
	for i, up := range []bool{false, true, false} {
		if err := ns.SetUp(t.Context(), peer.Index, up); err != nil {
			t.Fatal(err)
		}
		// The flap lasts longer than the watcher waits before it believes one.
		for n, begin := 0, time.Now(); n < 2 || time.Since(begin) < 50*time.Millisecond; n++ {
			name := fmt.Sprintf("mark%d.%d", i, n)
			if err := own.AddLink(t.Context(), name, netlinkapi.Dummy{}, 0); err != nil {
				t.Fatal(err)
			}
			link, err := own.LinkByName(t.Context(), name)
			if err == nil {
				err = own.SetUp(t.Context(), link.Index, true)
			}
			if err != nil {
				t.Fatal(err)
			}
			h.await(t, "linux/interface/host-name/"+name, pb.ValueState_OBTAINED)
		}
	}
	after, exists := h.VPPIfPlugin.Interfaces().LookupByName("af")
	if !exists {
		t.Fatal("the interface no longer exists")
	}
	if n := h.LocalVPP.Simulator().Count("af_packet_create_v3") - created; n > 0 || after.SwIfIndex != before.SwIfIndex {
		t.Errorf("the interface was created %d times again, its index was %d and is %d", n, before.SwIfIndex, after.SwIfIndex)
	}
}
