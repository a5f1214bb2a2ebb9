package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// patience is how long the test waits for what must happen.
const patience = 2 * time.Minute

// simulator is vpp-sim in a process of its own.
type simulator struct {
	t   testing.TB
	pid int
	in  io.Writer
	out *bufio.Scanner
}

// build returns a directory with the programs.
func build(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := infratest.Programs(t.Context(), dir, "vpp-agent", "vpp-sim"); err != nil {
		t.Fatal(err)
	}
	return dir
}

func simulate(t testing.TB, dir string, args ...string) *simulator {
	t.Helper()
	cmd := exec.Command(filepath.Join(dir, "vpp-sim"), append([]string{"--socket", filepath.Join(dir, "api.sock")}, args...)...)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	s := &simulator{t, cmd.Process.Pid, in, bufio.NewScanner(out)}
	s.out.Scan() // it serves
	return s
}

// ask gives a command and returns what it prints; the process ID that is asked
// for next is its end.
func (s *simulator) ask(command string) (lines []string) {
	s.t.Helper()
	if _, err := fmt.Fprintf(s.in, "%s\npid\n", command); err != nil {
		s.t.Fatal(err)
	}
	for s.out.Scan() {
		line := s.out.Text()
		if _, err := strconv.Atoi(line); err == nil {
			return lines
		}
		lines = append(lines, line)
	}
	s.t.Fatalf("%s: the simulator is gone", command)
	return nil
}

// counts are how many requests of each name came.
func (s *simulator) counts() map[string]int {
	s.t.Helper()
	counts := map[string]int{}
	for _, line := range s.ask("counts") {
		name, n, _ := strings.Cut(line, " ")
		counts[name], _ = strconv.Atoi(n)
	}
	return counts
}

// process is an agent in a process of its own.
type process struct {
	t    testing.TB
	cmd  *exec.Cmd
	url  string
	logs chan string
	all  strings.Builder // everything logged, once read is closed
	read chan struct{}
}

func startAgent(t *testing.T, dir string) *process {
	t.Helper()
	return launch(t, dir, dir, "--state-dir", filepath.Join(dir, "state"))
}

// launch starts the program in a directory with the configuration of another one, and waits
// until it serves.
func launch(t testing.TB, programs, dir string, args ...string) *process {
	t.Helper()
	p := spawn(t, programs, dir, args...)
	t.Cleanup(func() {
		p.end()
		if t.Failed() {
			t.Logf("log of the agent:\n%s", p.all.String())
		}
	})
	p.serves()
	return p
}

// spawn starts the program; the caller ends it.
func spawn(t testing.TB, programs, dir string, args ...string) *process {
	t.Helper()
	p := &process{t: t, logs: make(chan string, 10_000), read: make(chan struct{})}
	p.cmd = exec.Command(filepath.Join(programs, "vpp-agent"), append([]string{"--config-dir", dir, "--http-port", "0", "--grpc-port", "0"}, args...)...)
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir}
	out, err := p.cmd.StdoutPipe()
	p.cmd.Stderr = p.cmd.Stdout
	if err := errors.Join(err, p.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Fprintln(&p.all, lines.Text())
			select {
			case p.logs <- lines.Text():
			default: // too late to matter
			}
		}
	}()
	return p
}

// recent is the log of the agent that no check has read yet.
func (p *process) recent() string {
	var lines []string
	for {
		select {
		case line := <-p.logs:
			lines = append(lines, line)
		default:
			return strings.Join(lines, "\n")
		}
	}
}

// end kills the agent and waits for its end.
func (p *process) end() {
	_ = p.cmd.Process.Kill()
	<-p.read
	_ = p.cmd.Wait()
}

// serves waits until the agent serves HTTP.
func (p *process) serves() {
	p.t.Helper()
	if p.url != "" {
		return
	}
	_, address, _ := strings.Cut(p.logged("serving HTTP"), `"address": "`)
	p.url = "http://" + address[:strings.IndexByte(address, '"')]
}

// logged waits for a line with all the parts.
func (p *process) logged(parts ...string) string {
	p.t.Helper()
	var seen []string
	for late := time.After(patience); ; {
		select {
		case line := <-p.logs:
			seen = append(seen, line)
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				return line
			}
		case <-late:
			p.t.Fatalf("%q was not logged:\n%s", parts, strings.Join(seen, "\n"))
		}
	}
}

// kill is kill -9.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) put(document string) error {
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPut, p.url+"/configuration", strings.NewReader(document))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s %w", resp.Status, text, err)
	}
	return nil
}

// routesDocument is an interface and routes through it.
func routesDocument(prefix, routes int) string {
	var b strings.Builder
	b.WriteString("vppConfig:\n  interfaces: [{name: loop1, type: SOFTWARE_LOOPBACK, enabled: true, ip_addresses: [192.168.1.1/24]}]\n  routes:\n")
	for i := range routes {
		fmt.Fprintf(&b, "  - {dst_network: %d.0.%d.0/24, next_hop_addr: 192.168.1.2, outgoing_interface: loop1}\n", prefix, i)
	}
	return b.String()
}

// reads reports whether a request changes nothing.
func reads(name string) bool {
	for _, suffix := range []string{"_dump", "_get", "_lookup", "control_ping", "show_version", "show_running_config", "classify_table_ids", "classify_table_info", "cli_inband" /* show api clients */} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return strings.Contains(name, "_get_") || strings.HasPrefix(name, "want_") // subscriptions belong to the connection
}

// Killed at rest, an agent with a state directory is followed by one that only
// reads: what clients asked for is in effect and nothing is touched. Killed in
// the middle of a transaction, the next one ends it.
func TestKill(t *testing.T) {
	t.Parallel()
	dir := build(t)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	sim := simulate(t, dir)
	for file, text := range map[string]string{
		"govpp.conf": "reply-timeout: 20m\nbinapi-socket-path: " + filepath.Join(dir, "api.sock") + "\n", "kvscheduler.conf": "print-txn-summary: false\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const many = 200
	agent := startAgent(t, dir)
	agent.logged("executed", "vpp is up")
	if err := agent.put(routesDocument(10, many)); err != nil {
		t.Fatal(err)
	}
	before := sim.counts()
	if before["ip_route_add_del"] != many {
		t.Fatalf("%d routes were made", before["ip_route_add_del"])
	}
	agent.kill()
	agent = startAgent(t, dir)
	agent.settled()
	after := sim.counts()
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if n := after[name] - before[name]; n > 0 && !reads(name) {
			t.Errorf("after the restart: %s, %d times", name, n)
		}
	}
	if after["ip_route_v2_dump"] == before["ip_route_v2_dump"] {
		t.Error("the routes were not even read")
	}

	sim.ask("delay ip_route_add_del 50ms") // ten seconds in all
	sim.ask("drop ip_route_add_del 1")     // and it waits for the answer to the first one, however long this test may stand still
	failed := make(chan error, 1)
	go func(p *process) { failed <- p.put(routesDocument(11, many)) }(agent)
	for sim.counts()["ip_route_add_del"] < many+20 { // each question takes its time
	}
	agent.kill()
	if err := <-failed; err == nil {
		t.Fatal("the transaction was over before the agent was killed")
	}
	sim.ask("heal")
	agent = startAgent(t, dir)
	agent.settled()
	made := 0
	for _, line := range sim.ask("dump") {
		if strings.Contains(line, " 10.0.") || strings.Contains(line, " 11.0.") {
			made++
		}
	}
	if made != 2*many {
		t.Errorf("%d routes, expected %d:\n%s", made, 2*many, strings.Join(sim.ask("dump"), "\n"))
	}
}

// settled waits until the agent has read VPP and knows the desired state, in
// whatever order.
func (p *process) settled() {
	p.t.Helper()
	for up, synced := false, false; !up || !synced; {
		line := p.logged("transaction executed")
		up = up || strings.Contains(line, "vpp is up")
		synced = synced || strings.Contains(line, "initial synchronisation")
	}
}
