package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

var (
	agentKills  = flag.Int("agent-kills", 6, "how often the agent is killed in the trial")
	agentRounds = flag.Int("agent-rounds", 15, "rounds of the trial with one configuration directory; then another one begins")
	agentValues = flag.String("agent-values", "150-300", "how many values the configurations of the trial have")
	agentSeed   = flag.Uint64("agent-seed", 0, "seed of the trial of the agent; 0 chooses one")
	agentLimit  = flag.Duration("agent-limit", 0, "longest time between a start of the agent and the state that the configuration asks for; 0 is without limit")
)

// trial is an agent that is killed at random moments, while its configuration changes. What
// must be there after it was started again follows from the configuration.
type trial struct {
	t        *testing.T
	rnd      *rand.Rand
	dir      string
	label    string
	sim      *simulator
	kernel   kernel
	monitors []*monitor
	sources  *sources
	agent    *process
	agents   []*process // since the state was right
	begin    time.Time  // of the agent
	network  *network
	guard    guard
	story    []string
	kills    int
	chaotic  bool // VPP and etcd fail, too
	lost     bool // the data of etcd are to be restored
	accepted int  // how often the content of a source was accepted
	took     []time.Duration
	slow     int           // starts that took longer than the limit
	usual    time.Duration // of a start
	requests int           // of a start
	seen     int           // requests before it
}

// newTrial starts a simulator and an agent with a configuration.
func newTrial(t *testing.T, seed uint64, programs string, chaotic bool) *trial {
	t.Helper()
	tr := &trial{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), dir: t.TempDir(), label: fmt.Sprintf("k%d", os.Getpid()), usual: time.Second, requests: 200}
	names := names{prefix: tr.label, left: tr.label + "l", right: tr.label + "r"}
	for _, ns := range []string{names.left, names.right} {
		(&spaces{t: t}).ip("netns", "add", ns)
		t.Cleanup(func() { (&spaces{t: t}).ip("netns", "del", ns) })
		tr.monitors = append(tr.monitors, newMonitor(t, ns))
	}
	tr.kernel = kernel{t, names}
	for _, program := range []string{"vpp-agent", "vpp-sim"} {
		if err := os.Symlink(filepath.Join(programs, program), filepath.Join(tr.dir, program)); err != nil {
			t.Fatal(err)
		}
	}
	tr.sim = simulate(t, tr.dir, "--host-interfaces", "--journal", "20000")
	tr.chaotic = chaotic
	tr.sources = tr.newSources()
	low, high := 0, 0
	if _, err := fmt.Sscanf(*agentValues, "%d-%d", &low, &high); err != nil {
		t.Fatalf("-agent-values %s: %v", *agentValues, err)
	}
	groups := max((low+tr.rnd.IntN(high-low+1))/30, 2)
	tr.network = newNetwork(tr.draw(make([]int, groups), 1), names)
	tr.sources.write(tr.network)
	tr.guard.vpp, tr.guard.right = parseVPP(nil), state{}
	tr.start()
	t.Cleanup(func() { tr.agent.end() })
	tr.settle()
	t.Cleanup(func() { t.Logf("the operator accepted the content of a source %d times", tr.accepted) })
	t.Logf("%d values in %d groups, of a file: %v, of etcd: %v; there after %v", len(tr.network.values), groups, tr.sources.file != "", tr.sources.server != nil, tr.took)
	return tr
}

// newSources chooses where the configuration comes from, and writes the files of the agent.
func (tr *trial) newSources() *sources {
	tr.t.Helper()
	s := &sources{t: tr.t, prefix: "/vnf-agent/" + tr.label + "/", split: 2 + tr.rnd.IntN(2)}
	write := func(file, text string) { s.replace(filepath.Join(tr.dir, file), []byte(text)) }
	timeout := "20s" // a kill is no reason to time out, however busy the machine is
	if tr.chaotic {
		timeout = "1s"
	}
	write("govpp.conf", "reply-timeout: "+timeout+"\nbinapi-socket-path: "+filepath.Join(tr.dir, "api.sock")+"\n")
	write("kvscheduler.conf", "print-txn-summary: false\n")
	patient := []string{"30s", "300ms", "50ms"}[tr.rnd.IntN(3)] // with less the first synchronisation may come before the sources
	write("orchestrator.conf", "initial-sync-timeout: "+patient+"\n")
	tr.t.Logf("initial-sync-timeout: %s", patient)
	kind := tr.rnd.IntN(3)
	if _, err := exec.LookPath("etcd"); err != nil {
		tr.t.Log("NOT CHECKED: there is no etcd here (Debian: apt install etcd-server); configurations come from files alone")
		kind = 0
	}
	if kind != 0 {
		s.server = kvtest.Etcd(tr.t)
		s.connect()
		write("etcd.conf", "insecure-transport: true\nendpoints: [\""+s.server.Addr+"\"]\n")
	}
	if kind != 1 {
		s.file = filepath.Join(tr.dir, "network.json")
		write("filedb.conf", "configuration-paths: ["+s.file+"]\n")
	}
	return s
}

func (tr *trial) say(format string, args ...any) {
	tr.story = append(tr.story, fmt.Sprintf(format, args...))
}

// draw returns other variants for a share of the groups.
func (tr *trial) draw(old []int, share float64) []int {
	out := slices.Clone(old)
	for n := range out {
		if tr.rnd.Float64() < share {
			out[n] = tr.rnd.IntN(variants)
		}
	}
	return out
}

// change writes another configuration, perhaps several in a row.
func (tr *trial) change() {
	for {
		tr.look()
		tr.network = newNetwork(tr.draw(tr.network.variants, []float64{0.05, 0.2, 0.6}[tr.rnd.IntN(3)]), tr.network.names)
		tr.say("configuration %v", tr.network.variants)
		tr.stillRight()
		tr.begin = time.Now()
		tr.sources.write(tr.network)
		if tr.rnd.IntN(3) > 0 {
			return
		}
		tr.pause(100 * time.Millisecond)
	}
}

// stillRight leaves those objects that the configuration still asks for.
func (tr *trial) stillRight() { tr.guard.right = tr.network.kept(tr.guard.right) }

// forget drops objects from those that nothing has to touch.
func (tr *trial) forget(prefixes ...string) {
	tr.look()
	maps.DeleteFunc(tr.guard.right, func(name, _ string) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
}

func (tr *trial) start() {
	tr.begin, tr.seen = time.Now(), tr.guard.seq
	tr.agent = spawn(tr.t, tr.dir, tr.dir, "--state-dir", filepath.Join(tr.dir, "state"), "--microservice-label", tr.label)
	tr.agents = append(tr.agents, tr.agent)
}

// converge waits until the southbounds have what the configuration says, at most for a
// while, and returns what differs.
func (tr *trial) converge(within time.Duration) (diff string) {
	tr.t.Helper()
	tick := time.NewTicker(25 * time.Millisecond) // the simulator does not report when something changes
	defer tick.Stop()
	vpp, linux := state{}, state{}
	for name, text := range tr.network.objects {
		if strings.HasPrefix(name, "linux ") {
			linux[name] = text
		} else {
			vpp[name] = text
		}
	}
	for end := time.Now().Add(within); ; <-tick.C {
		if diff = parseVPP(tr.sim.ask("dump")).difference(vpp); diff == "" {
			now, _ := tr.kernel.read()
			if diff = now.difference(linux); diff == "" {
				return ""
			}
		}
		if time.Now().After(end) {
			return diff
		}
	}
}

// settle waits until the southbounds have what the configuration says and the agent has
// nothing more to do.
func (tr *trial) settle() {
	tr.t.Helper()
	tr.restore()
	diff := tr.operate()
	tr.agent.serves()
	if diff != "" {
		tr.fail("the state differs from the configuration:\n%s", diff)
	}
	took := time.Since(tr.begin)
	tick := time.NewTicker(5 * time.Millisecond) // as a probe does
	defer tick.Stop()
	for text := ""; !tr.agent.ready(&text); <-tick.C {
		if time.Since(tr.begin) > took+patience {
			tr.fail("the agent is not ready: %s", text)
		}
	}
	if diff := tr.snapshot().difference(tr.network.objects); diff != "" {
		tr.fail("the state was right, and differs now that the agent is ready:\n%s", diff)
	}
	if len(tr.guard.touched) > 0 {
		tr.fail("touched what was right:\n%s", strings.Join(tr.guard.touched[:min(30, len(tr.guard.touched))], "\n"))
	}
	if *agentLimit > 0 && tr.kills > 0 && !tr.chaotic && took > *agentLimit {
		load, _ := os.ReadFile("/proc/loadavg")
		tr.slow++
		tr.t.Logf("it took %v after the start of the agent, longer than %v; load %s\n%s", took, *agentLimit, load, tr.agent.recent())
	}
	tr.took, tr.requests = append(tr.took, took), tr.guard.seq-tr.seen
	tr.story, tr.agents = nil, tr.agents[len(tr.agents)-1:]
}

// ready reports whether the agent is ready, has nothing in its queue and no value that is
// not in effect.
func (p *process) ready(text *string) bool {
	p.t.Helper()
	resp, err := http.Get(p.url + "/readiness")
	if err != nil {
		*text = err.Error()
		return false
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	*text = string(body)
	return err == nil && resp.StatusCode == http.StatusOK
}

// fail ends the trial with what happened since the state was right.
func (tr *trial) fail(format string, args ...any) {
	tr.t.Helper()
	for i, p := range tr.agents {
		if i == len(tr.agents)-1 {
			if p.url != "" {
				tr.t.Logf("values that are not in effect: %s", p.notInEffect())
			}
			p.end()
		}
		tr.t.Logf("log of agent %d:\n%s", i+1, p.all.String())
	}
	tr.t.Fatalf("after\n%s\n%s", strings.Join(tr.story, "\n"), fmt.Sprintf(format, args...))
}

// notInEffect are the values that are not as they should be.
func (p *process) notInEffect() (out []string) {
	p.t.Helper()
	type status struct{ Key, State, Error string }
	var all []struct {
		Value         status
		DerivedValues []status `json:"derived_values"`
	}
	if err := json.Unmarshal([]byte(p.get(http.MethodGet, "/scheduler/status")), &all); err != nil {
		p.t.Log(err)
	}
	for _, v := range all {
		for _, s := range append(v.DerivedValues, v.Value) {
			if s.State != "CONFIGURED" && s.State != "OBTAINED" && s.State != "DISCOVERED" {
				out = append(out, fmt.Sprintln(s.Key, s.State, s.Error))
			}
		}
	}
	return out
}

// round kills the agent at some moment of a change, perhaps again while it starts, and waits
// for the state that the last one must reach.
func (tr *trial) round() {
	start := tr.rnd.IntN(5) == 0
	if start { // nothing changes
		tr.kill(moment{"at rest", func() {}})
	} else {
		moments := tr.moments(false)
		m := moments[tr.rnd.IntN(len(moments))]
		tr.change()
		tr.kill(m)
	}
	for range tr.rnd.IntN(3) {
		tr.restart()
		moments := tr.moments(true)
		tr.kill(moments[tr.rnd.IntN(len(moments))])
	}
	tr.restart()
	tr.settle()
	tr.usual = (3*tr.usual + tr.took[len(tr.took)-1]) / 4
}

// restart starts the agent after a kill, perhaps with another configuration, which may also
// change during the start.
func (tr *trial) restart() {
	tr.snapshot()
	if tr.rnd.IntN(4) == 0 {
		tr.change()
	}
	tr.start()
	if tr.rnd.IntN(4) == 0 {
		tr.pause(tr.usual)
		tr.change()
	}
}

// The agent is killed at any moment of its start and of a change. The next one completes or
// removes what was left behind, and touches nothing that was right.
func TestKilledAgent(t *testing.T) {
	series(t, "kills", *agentKills, (*trial).round, func(tr *trial) int { return tr.kills })
}

// series runs rounds of trials until the count is high enough.
func series(t *testing.T, what string, enough int, round func(*trial), count func(*trial) int) {
	t.Helper()
	needNamespaces(t)
	seed := *agentSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	programs := build(t)
	var took []time.Duration
	slow := 0
	for n := 0; n < enough; seed++ {
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			tr := newTrial(t, seed, programs, what == "rounds")
			for i := 0; i < *agentRounds && n+count(tr) < enough; i++ {
				round(tr)
			}
			n, took, slow = n+count(tr), append(took, tr.took...), slow+tr.slow
		}) {
			t.Fatalf("a failure after %d %s", n, what)
		}
		sorted := slices.Sorted(slices.Values(took))
		at := func(part float64) time.Duration {
			return sorted[int(part*float64(len(sorted)-1))].Round(time.Millisecond)
		}
		t.Logf("%d %s, %d times right; %v after the last start (median), %v (99 of 100), %v (longest)", n, what, len(took), at(0.5), at(0.99), at(1))
	}
	if slow > 0 {
		t.Errorf("%d times it took longer than %v after a start", slow, *agentLimit)
	}
}
