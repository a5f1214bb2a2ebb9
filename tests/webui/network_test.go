package webui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp/kb"

	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/rates"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	linuxif "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/nlsim"
	"github.com/tenuto-dev/tenuto/plugins/telemetry"
	"github.com/tenuto-dev/tenuto/plugins/telemetry/statseg"
	"github.com/tenuto-dev/tenuto/plugins/telemetry/statseg/statsegtest"
)

// networkExample is a configuration with every kind of node and link.
func networkExample(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../cmd/vpp-agent/app/testdata/topology.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestNetwork opens the picture of a network, its nodes, and parts of it, by mouse and by keyboard.
func TestNetwork(t *testing.T) {
	t.Parallel()
	b := open(t)
	url := start(t, networkExample(t), nil).HTTP.URL()
	if status, body := request(t, http.MethodGet, url+"/scheduler/wait?key=config/vpp/v2/interfaces/red&timeout=5m", "", nil); status != http.StatusOK {
		t.Fatalf("wait: %d %s", status, body)
	}
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	for _, scheme := range []string{"dark", "light"} {
		b.prefer(scheme)
		b.goTo("about:blank")
		b.goTo(url + "/ui/")
		b.sees("#live", "live")
		b.sees("svg [role=button]", "red, AF_PACKET, up")
		b.picture("network-" + scheme)
	}
	b.named("network")
	b.sees("p", "VPP and Linux are simulated")
	for _, node := range []string{"eth9, DPDK, waiting, waits for", "loop3, SOFTWARE_LOOPBACK, down, it is not enabled", "missing0, interface, missing", "VRF 7 customers, VRF, up", "192.0.2.1, far end"} {
		b.sees("svg [role=button]", node)
	}
	for _, box := range []string{"VPP", "Linux", "namespace red", "namespace blue"} {
		b.sees(".net-box text", box)
	}
	for _, link := range []string{"vpp-red cable to red: up", "vx1 tunnel to 192.0.2.1: up", "memif2 port of bond0: waiting, waits for"} {
		b.await(fmt.Sprintf("[...document.querySelectorAll('.edge title')].some((e) => e.textContent.startsWith(%q))", link))
	}

	b.click("svg [role=button]", "red, AF_PACKET")
	b.sees("#panel", "No counters: ")
	b.click("svg [role=button]", "dummy0, DUMMY")
	b.sees("#panel", "No counters: Linux is simulated.")
	b.keys(kb.Escape)

	// The panel of a node, by the keyboard; Esc leads back.
	b.do(find("svg [role=button]", "loop3, SOFTWARE_LOOPBACK") + ".focus()")
	b.keys(kb.Enter)
	b.sees("#panel h2", "vpp.interfaces/loop3")
	b.keys(kb.Escape)
	b.await("document.querySelector('#panel').hidden")
	b.do(find("svg [role=button]", "bvi, SOFTWARE_LOOPBACK") + ".focus()")
	b.keys(kb.ArrowRight)
	b.await("document.activeElement.matches('.node') && !document.activeElement.getAttribute('aria-label').startsWith('bvi,')")

	// One bridge domain with its neighbours, and a search.
	b.click("a", "Only bd1 with its neighbours")
	b.sees(".crumbs", "neighbours of bd1")
	b.await("document.querySelectorAll('svg .node').length === 9 && !" + find("svg [role=button]", "wg0, "))
	b.click("a", "Remove the filter neighbours of bd1")
	b.sees("svg [role=button]", "wg0, ")
	b.slash()
	b.keys("10.9.0.1")
	b.await("document.querySelectorAll('svg .node:not(.neighbour)').length === 1")
	b.sees("svg [role=button]", "tap1, TAP")

	// A plan, drawn into the picture.
	b.do("location.hash = '#/plan'")
	b.text("vppConfig:\n  interfaces:\n  - {name: missing0, type: SOFTWARE_LOOPBACK, enabled: true}\n  - {name: vx2, type: VXLAN_TUNNEL, enabled: true, vxlan: {srcAddress: 10.10.0.254, dstAddress: 192.0.2.77, vni: 14}}\n  - {name: loop3, type: SOFTWARE_LOOPBACK, enabled: true}\n")
	b.click("button", "Plan")
	b.click("a", "Show it in the network")
	b.sees(".crumbs", "with the plan: 3 appear, 1 change, 0 go")
	for _, node := range []string{"missing0, SOFTWARE_LOOPBACK, up, appears", "vx2, VXLAN_TUNNEL, up, appears", "192.0.2.77, far end, up, appears", "loop3, SOFTWARE_LOOPBACK, up, changes"} {
		b.sees("svg [role=button]", node)
	}
	b.picture("network-plan")
	b.click("a", "Show the network without the plan")
	b.sees("svg [role=button]", "missing0, interface, missing")
	b.await("!" + find("svg [role=button]", "vx2, "))

	// A change from elsewhere.
	b.goTo(url + "/ui/#/network")
	if status, body := request(t, http.MethodPut, url+"/configuration", "vppConfig:\n  interfaces:\n  - {name: missing0, type: SOFTWARE_LOOPBACK, enabled: true}\n", nil); status != http.StatusOK {
		t.Fatalf("PUT: %d %s", status, body)
	}
	b.sees("svg [role=button]", "missing0, SOFTWARE_LOOPBACK, up")
	b.clean()
}

// counting is a stats segment of VPP with counters of loop1, which has the index 1.
func counting(boot, packets uint64) []byte {
	return new(statsegtest.Builder).Names("/if/names", "local0", "loop0").Scalar("/sys/boottime", boot).Scalar("/sys/vector_rate", 2).
		Combined("/if/rx", []statseg.Count{{}, {Packets: packets, Bytes: 1000 * packets}}).Combined("/if/tx", []statseg.Count{{}, {}}).
		Simple("/if/drops", []uint64{0, packets / 10}).
		Scalar("/buffer-pools/default-numa-0/used", 25).Scalar("/buffer-pools/default-numa-0/available", 70).Scalar("/buffer-pools/default-numa-0/cached", 5).
		Bytes()
}

// TestRates shows rates at the links and the last hour in the panel. A VPP that restarts is a gap and no peak.
func TestRates(t *testing.T) {
	t.Parallel()
	b := open(t)
	vpp := vppsim.New(vppsim.Options{})
	socket := t.TempDir() + "/api.sock"
	if err := vpp.ListenUnix(socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = vpp.Close() })
	server := statsegtest.Serve(t, counting(1, 1_000_000_000))
	plugins, err := app.New()
	if err != nil {
		t.Fatal(err)
	}
	telemetry.SampleEvery(100 * time.Millisecond)(plugins.Telemetry)
	plugins.Topology.Simulation = nil // the simulated VPP is to look like a real one
	url := startPlugins(t, plugins, strings.Replace(small, "interfaces: [{name: loop2}]", "interfaces: [{name: loop1}]", 1), map[string]string{
		"govpp": "binapi-socket-path: " + socket + "\nstats-socket-path: " + server.Socket + "\n", "linux-nsplugin": "disabled: true\n",
	}, "--simulate=none").HTTP.URL()
	settled(t, url)
	var packets uint64 = 1_000_000_000
	// grow has VPP count until the page is as expected.
	grow := func(boot uint64, expression string) {
		for done := false; !done; done = eval[bool](b, "Boolean("+expression+")") {
			packets += 100_000
			server.Replace(counting(boot, packets))
			eval[bool](b, "new Promise((done) => setTimeout(() => done(true), 50))")
		}
	}
	b.goTo(url + "/ui/")
	b.sees("svg [role=button]", "loop1, SOFTWARE_LOOPBACK, up")
	const rate = "[...document.querySelectorAll('.edge.member text')].find((e) => /^↓[0-9.]+ [MG]bit.s ↑0 bit.s ✕/.test(e.textContent))"
	grow(1, rate)
	b.prefer("light")
	b.picture("network-rates")
	b.click("svg [role=button]", "loop1, SOFTWARE_LOOPBACK, up")
	b.sees("#panel h3", "The last hour")
	grow(1, `(() => { document.querySelector('#live'); return [...document.querySelectorAll('#panel .series')].some((e) => e.getAttribute('aria-label').startsWith('received: ')); })()`)
	b.picture("network-panel")

	// VPP restarts. The largest rate in the hour stays below what a jump of the counters would be.
	server.Replace(counting(2, 900_000_000_000))
	packets = 900_000_000_000
	grow(2, rate)
	var history struct {
		Series []struct {
			Name   string
			Values []*float64
		}
	}
	_, body := request(t, http.MethodGet, url+"/vpp/history?interface=loop1", "", nil)
	if err := json.Unmarshal([]byte(body), &history); err != nil {
		t.Fatal(err)
	}
	gaps := 0
	for _, s := range history.Series {
		for _, v := range s.Values {
			if v == nil {
				gaps++
			} else if s.Name == "rxPackets" && (*v < 0 || *v > 1e9) {
				t.Errorf("a peak of %g packets per second", *v)
			}
		}
	}
	if gaps == 0 {
		t.Error("the restart of VPP is no gap")
	}
	b.goTo(url + "/ui/#/counters")
	b.sees("section", "The last hour")
	b.await("[...document.querySelectorAll('.series')].some((e) => e.getAttribute('aria-label').startsWith('buffers in use: 25 %'))")
	b.picture("counters-hour")
	b.width(400)
	b.picture("counters-hour-narrow")
	b.clean()
}

// fakeRates has rates of each interface that it is asked for: 1 Mbit per second are received in VPP, 1 kbit in
// Linux.
type fakeRates struct{}

func (fakeRates) Rates(names []string) rates.Rates { return ratesOf(names, 1e6) }

type fakeLinuxRates struct{}

func (fakeLinuxRates) Rates(_ context.Context, names []string) rates.Rates {
	return ratesOf(names, 1e3)
}

func ratesOf(names []string, bits float64) rates.Rates {
	r := rates.Rates{Up: true, Seconds: 2}
	for _, name := range names {
		r.Interfaces = append(r.Interfaces, rates.Interface{Name: name, RxPackets: 1, RxBits: bits})
	}
	return r
}

// TestRatesOfGroups shows the rates of Linux links and the sums of groups. A cable shows the rates of its end
// in VPP, its end in Linux has its own.
func TestRatesOfGroups(t *testing.T) {
	t.Parallel()
	b := open(t)
	var text strings.Builder
	text.WriteString("vppConfig:\n  bridgeDomains:\n  - name: bd1\n    forward: true\n    interfaces: [{name: tap1}")
	for i := range 70 {
		fmt.Fprintf(&text, ", {name: loop%d}", i)
	}
	text.WriteString("]\n  interfaces:\n  - {name: tap1, type: TAP, enabled: true, tap: {toMicroservice: \"\"}}\n")
	for i := range 70 {
		fmt.Fprintf(&text, "  - {name: loop%d, type: SOFTWARE_LOOPBACK, enabled: true}\n", i)
	}
	text.WriteString("linuxConfig:\n  interfaces:\n  - {name: ltap1, type: TAP_TO_VPP, enabled: true, tap: {vppTapIfName: tap1}}\n")
	text.WriteString("  - {name: x, type: VETH, enabled: true, veth: {peerIfName: y}}\n  - {name: y, type: VETH, enabled: true, veth: {peerIfName: x}}\n")
	plugins, err := app.New()
	if err != nil {
		t.Fatal(err)
	}
	plugins.Topology.Simulation, plugins.Topology.VPPRates, plugins.Topology.LinuxRates = nil, fakeRates{}, fakeLinuxRates{}
	url := startPlugins(t, plugins, text.String(), nil).HTTP.URL()
	if status, body := request(t, http.MethodGet, url+"/scheduler/wait?prefix=config/&timeout=5m", "", nil); status != http.StatusOK {
		t.Fatalf("wait: %d %s", status, body)
	}
	b.goTo(url + "/ui/")
	b.sees("svg [role=button]", "interfaces")
	b.prefer("light")
	b.await("[...document.querySelectorAll('.edge.member title')].some((e) => e.textContent.includes('↓71 Mbit/s ↑0 bit/s (71 interfaces)'))")
	b.sees("svg [role=button]", "↓3 kbit/s ↑0 bit/s · 3 up")
	b.picture("network-rates-groups")
	b.goTo(url + "/ui/#/network?contains=tap1")
	b.await("[...document.querySelectorAll('.edge.cable title')].some((e) => e.textContent.includes('↓1 Mbit/s ↑0 bit/s (tap1)'))")
	b.sees("svg [role=button]", "↓1 kbit/s ↑0 bit/s · TAP_TO_")
	b.picture("network-rates-linux")
	b.clean()
}

// countingKernel is a simulated Linux whose links receive 1,000 bytes with every read. The agent takes it for a real one.
type countingKernel struct {
	netlinkapi.Namespaces
	reads atomic.Uint64
}

func (k *countingKernel) Kernel() netlinkapi.Namespaces { return k }

func (k *countingKernel) Open(path string, gate netlinkapi.Gate) (netlinkapi.Handle, error) {
	h, err := k.Namespaces.Open(path, gate)
	if err != nil {
		return nil, err
	}
	return countingHandle{h, k}, nil
}

type countingHandle struct {
	netlinkapi.Handle
	kernel *countingKernel
}

func (h countingHandle) Links(ctx context.Context) ([]netlinkapi.Link, error) {
	links, err := h.Handle.Links(ctx)
	n := h.kernel.reads.Add(1)
	for i := range links {
		links[i].Counters = netlinkapi.Counters{RXPackets: n, RXBytes: 1000 * n}
	}
	return links, err
}

// TestHistoryOfLinux shows the last hour of an interface of Linux in its panel.
func TestHistoryOfLinux(t *testing.T) {
	t.Parallel()
	b := open(t)
	plugins, err := app.New()
	if err != nil {
		t.Fatal(err)
	}
	linuxif.SampleEvery(100 * time.Millisecond)(plugins.LinuxIfPlugin)
	plugins.Namespaces.Simulation = &countingKernel{Namespaces: nlsim.New()}
	url := startPlugins(t, plugins, "linuxConfig:\n  interfaces:\n  - {name: a b/c, type: DUMMY, hostIfName: d0, enabled: true}\n", nil, "--simulate=vpp").HTTP.URL()
	if status, body := request(t, http.MethodGet, url+"/scheduler/wait?prefix=config/&timeout=5m", "", nil); status != http.StatusOK {
		t.Fatalf("wait: %d %s", status, body)
	}
	b.goTo(url + "/ui/")
	b.prefer("light")
	b.click("svg [role=button]", "a b/c, DUMMY, up")
	b.sees("#panel h3", "The last hour")
	b.await("[...document.querySelectorAll('#panel .series')].some((e) => /^received: [0-9.]+ k?bit.s now/.test(e.getAttribute('aria-label')))")
	b.picture("network-panel-linux")
	b.clean()
}

// manyInterfaces is a configuration with 2,000 interfaces: 20 bridge domains of 75, and 500 in VRFs.
func manyInterfaces() string {
	var text strings.Builder
	text.WriteString("vppConfig:\n  interfaces:\n")
	for i := range 2000 {
		vrf := ""
		if i >= 1500 {
			vrf = fmt.Sprintf(", vrf: %d, ipAddresses: [10.%d.%d.1/24]", i%5, i/250, i%250)
		}
		fmt.Fprintf(&text, "  - {name: loop%d, type: SOFTWARE_LOOPBACK, enabled: %t%s}\n", i, i%100 != 7, vrf)
	}
	text.WriteString("  vrfs:\n")
	for i := range 4 {
		fmt.Fprintf(&text, "  - {id: %d}\n", i+1)
	}
	text.WriteString("  bridgeDomains:\n")
	for d := range 20 {
		fmt.Fprintf(&text, "  - name: bd%d\n    forward: true\n    interfaces:\n", d)
		for i := range 75 {
			fmt.Fprintf(&text, "    - {name: loop%d}\n", 75*d+i)
		}
	}
	return text.String()
}

// TestLargeNetwork shows 2,000 interfaces in groups, one bridge domain at a time, and logs how long the first
// view takes.
func TestLargeNetwork(t *testing.T) {
	t.Parallel()
	b := open(t)
	url := start(t, manyInterfaces(), nil).HTTP.URL()
	if status, body := request(t, http.MethodGet, url+"/scheduler/wait?prefix=config/vpp/v2/interfaces/&timeout=9m", "", nil); status != http.StatusOK {
		t.Fatalf("wait: %d %s", status, body)
	}
	b.logFirstView(url+"/ui/", "2,000 interfaces")
	b.sees(".crumbs", "in groups")
	b.await("document.querySelectorAll('svg .node').length <= 60")
	b.picture("network-many")
	b.click("svg [role=button]", "75 interfaces")
	b.sees(".crumbs", "neighbours of bd")
	b.await("document.querySelectorAll('svg .node').length <= 60")
	b.sees("svg [role=button]", "SOFTWARE_LOOPBACK, down")
	b.picture("network-many-bd")
	b.goTo(url + "/ui/#/network")
	b.slash()
	b.keys("loop1999")
	b.sees("svg [role=button]", "loop1999, SOFTWARE_LOOPBACK")
	b.clean()
}
