package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// spaces are two network namespaces of the kernel, with a network that an agent is to make
// there.
type spaces struct {
	t           *testing.T
	left, right string
}

// needNamespaces skips a test where there are no network namespaces.
func needNamespaces(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT CHECKED: network namespaces of the kernel need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("NOT CHECKED: there is no program ip")
	}
}

func newSpaces(t *testing.T) *spaces {
	t.Helper()
	needNamespaces(t)
	s := &spaces{t, fmt.Sprintf("harm%dl", os.Getpid()), fmt.Sprintf("harm%dr", os.Getpid())}
	for _, ns := range []string{s.left, s.right} {
		s.ip("netns", "add", ns)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", ns).Run() })
	}
	return s
}

func (s *spaces) ip(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// byItself is what the kernel does some time after a change: link-local addresses with their
// routes, and the state of the carrier.
var byItself = regexp.MustCompile(`(?m)^.*(fe80::|ff00::/8|valid_lft).*\n| state [A-Z]+|,LOWER_UP|NO-CARRIER,| tentative`)

// all is all that ip(8) says about the namespaces.
func (s *spaces) all() string {
	s.t.Helper()
	var all strings.Builder
	for _, ns := range []string{s.left, s.right} {
		for _, what := range [][]string{{"-d", "link"}, {"addr"}, {"route", "show", "table", "all"}, {"-6", "route", "show", "table", "all"}} {
			text := s.ip(append([]string{"-n", ns}, what...)...)
			fmt.Fprintf(&all, "%s %v\n%s", ns, what, byItself.ReplaceAllString(text, ""))
		}
	}
	return all.String()
}

// config is a pair of VETHs between the namespaces, with addresses and a route.
func (s *spaces) config() string {
	veth := func(name, peer, ns, address string) string {
		return fmt.Sprintf("  - {name: %s, type: VETH, enabled: true, ip_addresses: [%s], namespace: {type: NSID, reference: %s}, veth: {peer_if_name: %s}}\n",
			name, address, ns, peer)
	}
	return "linuxConfig:\n  interfaces:\n" + veth("harm-l", "harm-r", s.left, "10.77.0.1/24") + veth("harm-r", "harm-l", s.right, "10.77.0.2/24") +
		"  routes: [{dst_network: 10.78.0.0/24, gw_addr: 10.77.0.2, outgoing_interface: harm-l, scope: GLOBAL}]\n"
}

const harmRoute = "config/linux/l3/v2/route/10.78.0.0/24/harm-l"

// directory makes the configuration of an agent that has no VPP.
func directory(t *testing.T, network string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for file, text := range map[string]string{
		"network.yaml": network, "filedb.conf": "configuration-paths: [" + filepath.Join(dir, "network.yaml") + "]\n",
		"govpp.conf": "binapi-socket-path: " + filepath.Join(dir, "none.sock") + "\n", "kvscheduler.conf": "print-txn-summary: false\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// get asks the agent for something and returns the answer.
func (p *process) get(method, path string) string {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// marked lists the orphans that are marked and not on record, and others of the agent.
func (p *process) marked() (marked, ours []string) {
	p.t.Helper()
	var list struct {
		Orphans []struct {
			Key          string
			Ours, Marked bool
		}
	}
	text := p.get(http.MethodGet, "/scheduler/orphans")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		p.t.Fatalf("%v: %s", err, text)
	}
	for _, o := range list.Orphans {
		switch {
		case o.Marked:
			marked = append(marked, o.Key)
		case o.Ours:
			ours = append(ours, o.Key)
		}
	}
	return marked, ours
}

// reports waits until the health of the agent has a text.
func (p *process) reports(text string) {
	p.t.Helper()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); ; {
		health := p.get(http.MethodGet, "/readiness")
		if strings.Contains(health, text) {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			p.t.Fatalf("health: %s", health)
		}
	}
}

// routed waits until the route is there.
func (p *process) routed() {
	p.t.Helper()
	if answer := p.get(http.MethodGet, "/scheduler/wait?timeout=60s&key="+url.QueryEscape(harmRoute)); strings.Contains(answer, "error") {
		p.t.Fatal(answer)
	}
}

// killed is kill -9, and the end of the process.
func (p *process) killed() {
	p.t.Helper()
	p.kill()
	if _, err := p.cmd.Process.Wait(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) removeOrphans(keys []string) {
	p.t.Helper()
	if answer := p.get(http.MethodPost, "/scheduler/orphans?"+url.Values{"remove": {"1"}, "key": keys}.Encode()); strings.Contains(answer, "rror") {
		p.t.Error(answer)
	}
}

// A second agent with the same label and nothing to configure changes nothing in the
// namespaces of the first one: not while that runs, not when it takes over after that was
// killed.
func TestSecondAgentInTheSameLinux(t *testing.T) {
	s := newSpaces(t)
	programs := build(t)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	label := []string{"--microservice-label", s.left}
	first := launch(t, programs, directory(t, s.config()), label...)
	first.logged("initial synchronisation")
	first.routed()
	before := s.all()

	empty := directory(t, "")
	second := launch(t, programs, empty, label...)
	second.logged("another agent holds the networking of Linux", fmt.Sprintf("pid %d ", first.cmd.Process.Pid))
	second.get(http.MethodPost, "/scheduler/downstream-resync")
	second.reports("is held by vpp-agent pid")
	if after := s.all(); after != before {
		t.Errorf("beside the first agent the second one made of\n%s\n%s", before, after)
	}
	first.kill()
	second.logged("the other agent has ended")
	second.logged("southbound linux is up")
	second.get(http.MethodPost, "/scheduler/downstream-resync")
	if after := s.all(); after != before {
		t.Errorf("after the first agent the second one made of\n%s\n%s", before, after)
	}
	marked, ours := second.marked()
	if len(ours) > 0 || !slices.Equal(marked, []string{"config/linux/interfaces/v2/interface/harm-l", "config/linux/interfaces/v2/interface/harm-r", harmRoute}) {
		t.Errorf("orphans: marked %q, of the agent %q", marked, ours)
	}
	second.removeOrphans(marked)
	if after := s.all(); strings.Contains(after, "harm-") {
		t.Errorf("left behind:\n%s", after)
	}
}

// Killed and started with another configuration, an agent removes what its state-dir
// names. Without one it leaves alone what it does not know.
func TestKilledWithAnotherConfiguration(t *testing.T) {
	s := newSpaces(t)
	programs := build(t)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	for _, keeps := range []bool{true, false} {
		args := []string{"--microservice-label", s.left}
		if keeps {
			args = append(args, "--state-dir", t.TempDir())
		}
		dir := directory(t, s.config())
		first := launch(t, programs, dir, args...)
		first.logged("initial synchronisation")
		first.routed()
		before := s.all()
		first.killed()
		again := launch(t, programs, dir, args...)
		again.logged("initial synchronisation")
		if after := s.all(); after != before {
			t.Errorf("state-dir %v: a restart made of\n%s\n%s", keeps, before, after)
		}
		again.killed()
		if err := os.WriteFile(filepath.Join(dir, "network.yaml"), []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		last := launch(t, programs, dir, args...)
		last.logged("initial synchronisation")
		left := strings.Contains(s.all(), "harm-")
		marked, ours := last.marked()
		if left == keeps || len(ours) > 0 || (len(marked) == 0) != keeps {
			t.Errorf("state-dir %v: left behind %v, marked %q, of the agent %q", keeps, left, marked, ours)
		}
		if len(marked) > 0 {
			last.removeOrphans(marked)
		}
		if after := s.all(); strings.Contains(after, "harm-") {
			t.Errorf("state-dir %v: left behind\n%s", keeps, after)
		}
		last.killed()
	}
}
