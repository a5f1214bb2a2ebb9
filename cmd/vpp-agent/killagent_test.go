package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
)

var (
	agentKills = flag.Int("agent-kills", 6, "how often the agent is killed")
	agentSize  = flag.Int("agent-size", 10, "interfaces of each kind in the trials of the agent; there are about 30 times as many values")
	agentSeed  = flag.Uint64("agent-seed", 0, "seed of the trials of the agent; 0 chooses one")
	agentChaos = flag.Bool("agent-chaos", false, "VPP fails in the trials of the agent, too")
)

// trial is an agent that is killed at random, with a simulator that may fail as well. A
// second agent with a simulator of its own gets the same files and is left alone: its
// simulator says what there has to be.
type trial struct {
	t      *testing.T
	rnd    *rand.Rand
	bin    string
	tested side
	right  side
	config []string // variants of the values, in the order of the document
	story  []string
}

// side is an agent with a simulator, in a directory.
type side struct {
	dir   string
	sim   *simulator
	pid   int // of the simulator
	agent *process
}

func newTrial(t *testing.T) *trial {
	seed := *agentSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-agent-seed=%d", seed)
	tr := &trial{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), bin: build(t)}
	tr.config = make([]string, *agentSize)
	for _, s := range []*side{&tr.tested, &tr.right} {
		s.dir = t.TempDir()
		for _, program := range []string{"vpp-agent", "vpp-sim"} {
			if err := os.Symlink(filepath.Join(tr.bin, program), filepath.Join(s.dir, program)); err != nil {
				t.Fatal(err)
			}
		}
		s.write(t, "govpp.conf", "binapi-socket-path: "+filepath.Join(s.dir, "api.sock")+"\n")
		s.write(t, "kvscheduler.conf", "print-txn-summary: false\n")
		s.write(t, "filedb.conf", "configuration-paths: ["+filepath.Join(s.dir, "network.yaml")+"]\n")
		s.sim, s.pid = startSimulator(t, s.dir)
	}
	tr.change(1)
	tr.right.agent = startAgent(t, tr.right.dir)
	tr.tested.agent = startAgent(t, tr.tested.dir)
	tr.settle()
	return tr
}

// startSimulator is simulate, with the process ID.
func startSimulator(t *testing.T, dir string) (*simulator, int) {
	t.Helper()
	before := children(t)
	s := simulate(t, dir)
	for _, pid := range children(t) {
		if !slices.Contains(before, pid) {
			return s, pid
		}
	}
	t.Fatal("the simulator has no process")
	return nil, 0
}

// children are the processes that this one has started.
func children(t *testing.T) (pids []int) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range tasks {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		for word := range strings.FieldsSeq(string(text)) {
			var pid int
			if _, err := fmt.Sscan(word, &pid); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func (s *side) write(t *testing.T, file, text string) {
	t.Helper()
	path := filepath.Join(s.dir, file)
	if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

func (tr *trial) say(format string, args ...any) {
	tr.story = append(tr.story, fmt.Sprintf(format, args...))
}

// change writes another configuration: some of the groups of values become another
// variant, or are left out.
func (tr *trial) change(share float64) {
	for n := range tr.config {
		if tr.rnd.Float64() < share {
			tr.config[n] = fmt.Sprint(tr.rnd.IntN(3))
		}
	}
	tr.say("configuration %v", tr.config)
	text := tr.document()
	for _, s := range []*side{&tr.tested, &tr.right} {
		s.write(tr.t, "network.yaml", text)
	}
}

// document is the configuration. Variant 0 of a group has nothing but a loopback.
func (tr *trial) document() string {
	var ifs, bds, fibs, routes, arps strings.Builder
	for n, variant := range tr.config {
		v := variant[0] - '0'
		fmt.Fprintf(&ifs, "  - {name: lo%d, type: SOFTWARE_LOOPBACK, enabled: true, ip_addresses: [10.%d.%d.1/24], vrf: %d}\n", n, n, v, v/2)
		if v == 0 {
			continue
		}
		fmt.Fprintf(&ifs, "  - {name: vx%d, type: VXLAN_TUNNEL, enabled: true, vxlan: {src_address: 192.0.2.1, dst_address: 198.51.100.%d, vni: %d}}\n", n, n+1, 100*n+int(v))
		fmt.Fprintf(&ifs, "  - {name: memif%d, type: MEMIF, enabled: true, memif: {master: true, id: %d, socket_filename: /run/m%d.sock}}\n", n, n, v)
		fmt.Fprintf(&ifs, "  - {name: tap%d, type: TAP, enabled: true, ip_addresses: [10.%d.%d.1/24], tap: {version: 2}}\n", n, 100+n, v)
		fmt.Fprintf(&bds, "  - {name: bd%d, flood: true, forward: true, learn: true, interfaces: [{name: vx%d}, {name: memif%d}]}\n", n, n, n)
		for i := range 5 {
			fmt.Fprintf(&fibs, "  - {phys_address: '02:00:00:00:%02x:%02x', bridge_domain: bd%d, outgoing_interface: vx%d, static_config: true}\n", n, i, n, n)
			fmt.Fprintf(&arps, "  - {interface: tap%d, ip_address: 10.%d.%d.%d, phys_address: '02:00:00:01:%02x:%02x', static: true}\n", n, 100+n, v, 10+i, n, i)
		}
		for i := range 12 {
			fmt.Fprintf(&routes, "  - {dst_network: 172.%d.%d.0/24, next_hop_addr: 10.%d.%d.9, outgoing_interface: lo%d, vrf_id: %d}\n", 16+n, i, n, v, n, v/2)
		}
	}
	return fmt.Sprintf("vppConfig:\n  vrfs: [{id: 1}]\n  interfaces:\n%s  bridgeDomains:\n%s  fibs:\n%s  routes:\n%s  arps:\n%s",
		&ifs, &bds, &fibs, &routes, &arps)
}

// dump is the state of a simulator.
func (s *side) dump() []string { return vpptest.Canonical(strings.Join(s.sim.ask("dump"), "\n")) }

// settle waits until both simulators have the same, and the one that is left alone has
// what the files say.
func (tr *trial) settle() {
	tr.t.Helper()
	begin := time.Now()
	tick := time.NewTicker(20 * time.Millisecond) // the simulator does not tell when something changes
	defer tick.Stop()
	diff, same := "", 0
	for ; time.Since(begin) < patience; <-tick.C {
		want := tr.right.dump()
		if problem := tr.incomplete(want); problem != "" {
			diff, same = problem, 0
			continue
		}
		if diff = vpptest.Difference(tr.tested.dump(), want); diff != "" {
			same = 0
			continue
		}
		if same++; same == 3 {
			tr.story = tr.story[:0]
			return
		}
	}
	tr.t.Fatalf("after\n%s\nthe simulator differs from the configuration:\n%s", strings.Join(tr.story, "\n"), diff)
}

// incomplete counts in a state what the files name; empty: nothing is missing or left.
func (tr *trial) incomplete(state []string) string {
	full := 0
	for _, v := range tr.config {
		if v != "0" {
			full++
		}
	}
	want := map[string]int{"interface ": 1 + len(tr.config) + 3*full, "bridge-domain ": full, "l2fib ": 5 * full, "neighbor ": 5 * full}
	for prefix, n := range want {
		got := 0
		for _, line := range state {
			if strings.HasPrefix(line, prefix) {
				got++
			}
		}
		if got != n {
			return fmt.Sprintf("%d of %q, expected %d", got, prefix, n)
		}
	}
	return ""
}

var numbered = regexp.MustCompile(`^(interface|bridge-domain) (\d+) .*tag "([^"]*)"`)

// numbers are the indexes of interfaces and bridge domains by their names.
func (s *side) numbers() map[string]string {
	out := map[string]string{}
	for _, line := range s.sim.ask("dump") {
		if m := numbered.FindStringSubmatch(line); m != nil {
			out[m[3]] = m[2]
		}
	}
	return out
}

// untouched checks that what did not change has not been made again.
func (tr *trial) untouched(before map[string]string, old []string) {
	tr.t.Helper()
	after := tr.tested.numbers()
	for n, variant := range tr.config {
		names := []string{fmt.Sprintf("lo%d", n)}
		if variant == old[n] && variant != "0" {
			names = append(names, fmt.Sprintf("vx%d", n), fmt.Sprintf("memif%d", n), fmt.Sprintf("tap%d", n), fmt.Sprintf("bd%d", n))
		}
		for _, name := range names {
			if before[name] != after[name] {
				tr.t.Errorf("%s had the number %s and has %s:\n%s", name, before[name], after[name], strings.Join(tr.story, "\n"))
			}
		}
	}
}

// stall stops the simulator for a while, with its process.
func (tr *trial) stall() {
	pause := time.Duration(tr.rnd.IntN(8000)) * time.Millisecond
	tr.say("VPP stops for %v", pause)
	if err := syscall.Kill(tr.tested.pid, syscall.SIGSTOP); err != nil {
		tr.t.Fatal(err)
	}
	<-time.After(pause)
	if err := syscall.Kill(tr.tested.pid, syscall.SIGCONT); err != nil {
		tr.t.Fatal(err)
	}
}

// kill kills the agent after at most a while, and waits for its end.
func (tr *trial) kill(within time.Duration) {
	after := time.Duration(tr.rnd.Int64N(int64(within)))
	tr.say("killed after %v", after)
	<-time.After(after)
	tr.tested.agent.kill()
	var exit *exec.ExitError
	if err := tr.tested.agent.cmd.Wait(); err != nil && !errors.As(err, &exit) && !errors.Is(err, os.ErrClosed) {
		tr.t.Log(err)
	}
}

// The agent is killed at any moment of its start and of a change. The next one
// completes or removes what was left behind, and touches nothing that was right.
func TestKilledAgent(t *testing.T) {
	tr := newTrial(t)
	var took []time.Duration
	for kills := 0; kills < *agentKills; {
		old, before := slices.Clone(tr.config), tr.tested.numbers()
		tr.change(0.3)
		var begin time.Time
		for range 1 + tr.rnd.IntN(2) {
			if *agentChaos && tr.rnd.IntN(2) == 0 {
				tr.fail()
				before = nil // a VPP that was restarted gives other numbers
			}
			tr.kill(600 * time.Millisecond)
			kills++
			begin = time.Now()
			tr.tested.agent = startAgent(t, tr.tested.dir)
		}
		tr.settle()
		took = append(took, time.Since(begin))
		if before != nil {
			tr.untouched(before, old)
		}
		if t.Failed() {
			return
		}
	}
	slices.Sort(took)
	t.Logf("%d kills; all was there %v after the last start (median), %v (longest)", *agentKills,
		took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
}

// fail makes the simulator fail in one of its ways.
func (tr *trial) fail() {
	switch tr.rnd.IntN(3) {
	case 0:
		tr.stall()
	case 1:
		tr.say("VPP restarts")
		tr.tested.sim.ask("restart")
	default:
		tr.say("VPP disconnects")
		tr.tested.sim.ask("disconnect")
	}
}
