package quickstart

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// items is how many configuration items network.yaml has.
const items = 12

const (
	bdKey     = "config/vpp/l2/v2/bridge-domain/bd1"
	fibKey    = "config/vpp/l2/v2/fib/bd1/mac/02:00:00:00:00:02"
	redKey    = "config/linux/interfaces/v2/interface/red0"
	bviKey    = "config/vpp/v2/interfaces/bvi"
	afKey     = "config/vpp/v2/interfaces/blue"
	thirdKey  = "linux/interface/blue0/address/static/10.30.0.1/24"
	blueMAC   = "02:00:00:00:00:02"
	bdSection = "  bridgeDomains:"
)

// TestSimulated: without privileges, as nothing of this machine is touched.
func TestSimulated(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 5, "--simulate")
	s.dropPrivileges()
	p := story(t, s, checkUntouched)
	text, err := p.get(http.MethodGet, "/readiness", "")
	if err != nil || !strings.Contains(string(text), "Linux is simulated") {
		t.Errorf("readiness does not say that Linux is simulated: %v\n%s", err, text)
	}
	s.checkNothingLeft(t)
	p.interrupt(t)
	s.checkNothingLeft(t)
}

// checkUntouched checks that the agent neither talks to the kernel nor watches its
// namespaces.
func checkUntouched(t *testing.T, p *process) {
	t.Helper()
	sockets, err := os.ReadFile("/proc/net/netlink")
	if err != nil {
		t.Fatal(err)
	}
	inodes := map[string]bool{}
	for line := range strings.Lines(string(sockets)) {
		fields := strings.Fields(line)
		inodes["socket:["+fields[len(fields)-1]+"]"] = true
	}
	dir := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	open, err := os.ReadDir(dir + "fd")
	if err != nil {
		t.Fatal(err)
	}
	netns := "no such inode"
	if info, err := os.Stat("/run/netns"); err == nil {
		netns = fmt.Sprintf(" ino:%x ", info.Sys().(*syscall.Stat_t).Ino)
	}
	for _, fd := range open {
		target, _ := os.Readlink(dir + "fd/" + fd.Name())
		if inodes[target] || strings.HasPrefix(target, "net:") {
			t.Errorf("the agent has %s open, expected no access to the kernel's networking", target)
		}
		if info, _ := os.ReadFile(dir + "fdinfo/" + fd.Name()); strings.Contains(string(info), netns) {
			t.Errorf("the agent watches /run/netns")
		}
	}
}

func TestSimulatedVPP(t *testing.T) {
	needRoot(t)
	t.Parallel()
	s := newSetup(t, 1, "--simulate=vpp")
	p := story(t, s, func(t *testing.T, p *process) {
		t.Helper()
		s.checkFlap(t, p)
		s.checkLost(t, p)
	})
	text, err := p.get(http.MethodGet, "/readiness", "")
	if err != nil || !strings.Contains(string(text), "simulated") {
		t.Errorf("readiness does not say that VPP is simulated: %v\n%s", err, text)
	}
	p.interrupt(t)
	s.checkNothingLeft(t)
}

func TestRealVPP(t *testing.T) {
	program := os.Getenv("VPP_BIN")
	if program == "" {
		found, err := exec.LookPath("vpp")
		if err != nil {
			t.Skip("SKIPPED: no real VPP here: set VPP_BIN, or have vpp in PATH; no packet was forwarded in this test")
		}
		program = found
	}
	needRoot(t)
	t.Parallel()
	s := newSetup(t, 2, "--start-vpp", program)
	p := story(t, s, func(t *testing.T, p *process) {
		t.Helper()
		s.checkForwarding(t, p)
		s.checkFlap(t, p)
		s.checkLost(t, p)
		s.checkForwarding(t, p)
	})
	p.interrupt(t)
	s.checkNothingLeft(t)
}

// story lives through what the quickstart invites to, and returns the agent of
// the second life.
func story(t *testing.T, s *setup, check func(*testing.T, *process)) *process {
	t.Helper()
	first := s.start(t)
	first.awaitAllConfigured(t, items)
	check(t, first)

	s.edit(t, func(text string) string {
		return strings.ReplaceAll(text, "10.20.0.1/24]", "10.20.0.1/24, 10.30.0.1/24]")
	})
	first.await(t, map[string]string{thirdKey: "CONFIGURED"})

	s.edit(t, withoutBridgeDomain)
	first.await(t, map[string]string{bdKey: "", fibKey: "PENDING", thirdKey: ""})
	s.edit(t, func(text string) string { return text })
	first.awaitAllConfigured(t, items)
	check(t, first)

	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.wait(t)
	second := s.start(t)
	second.awaitAllConfigured(t, items)
	check(t, second)
	return second
}

// withoutBridgeDomain cuts the bridge domain out of the file.
func withoutBridgeDomain(text string) string {
	before, rest, _ := strings.Cut(text, bdSection)
	_, after, _ := strings.Cut(rest, "\n  fibs:")
	return before + "  fibs:" + after
}

// checkForwarding pings from one namespace to the other, switched and routed,
// and compares what VPP says of the bridge domain.
func (s *setup) checkForwarding(t *testing.T, p *process) {
	t.Helper()
	for _, address := range []string{"10.10.0.2", "10.20.0.1"} {
		poll(t, "red reaches "+address, func() (bool, string) {
			out, err := exec.Command("ip", "netns", "exec", s.prefix+"red", "ping", "-c", "1", "-W", "1", address).CombinedOutput()
			return err == nil, fmt.Sprintf("%v\n%s", err, out)
		})
	}
	bd := p.vpp(t, "show bridge-domain 1 detail")
	for _, want := range []string{"BD-Tag: bd1", "loop0", "host-" + s.prefix + "vpp-red", "host-" + s.prefix + "vpp-blue"} {
		if !strings.Contains(bd, want) {
			t.Errorf("the bridge domain lacks %q:\n%s", want, bd)
		}
	}
	entries := 0
	fib := p.vpp(t, "show l2fib verbose")
	for line := range strings.Lines(fib) {
		if strings.Contains(line, blueMAC) {
			entries++
			if !strings.Contains(line, "host-"+s.prefix+"vpp-blue") {
				t.Errorf("the entry of blue leads elsewhere: %s", line)
			}
		}
	}
	if entries != 1 {
		t.Errorf("%d entries for %s, expected 1:\n%s", entries, blueMAC, fib)
	}
}

func (s *setup) checkNothingLeft(t *testing.T) {
	t.Helper()
	for _, ns := range []string{"red", "blue"} {
		if _, err := os.Stat("/run/netns/" + s.prefix + ns); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("namespace %s%s is left behind: %v", s.prefix, ns, err)
		}
		if _, err := net.InterfaceByName(s.prefix + "vpp-" + ns); err == nil {
			t.Errorf("link %svpp-%s is left behind", s.prefix, ns)
		}
	}
	if _, err := os.Stat(filepath.Join("/run/vpp-agent", s.label)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the list of namespaces is left behind: %v", err)
	}
}

// TestWithoutRoot: the Linux values say why they failed, and the rest works.
func TestWithoutRoot(t *testing.T) {
	t.Parallel()
	s := newSetup(t, 3, "--simulate=vpp")
	s.dropPrivileges()
	p := s.start(t)
	p.await(t, map[string]string{bviKey: "CONFIGURED", bdKey: "CONFIGURED", afKey: "PENDING"})
	poll(t, "the interface says which privilege is missing", func() (bool, string) {
		all, err := p.values()
		red := all[redKey]
		return err == nil && strings.Contains(red.Error, "CAP_"), fmt.Sprint(err, red)
	})
	p.interrupt(t)
}

// BenchmarkStart measures a whole process: how long it takes until it is ready,
// and how much memory it has when it has nothing to do.
func BenchmarkStart(b *testing.B) {
	s := newSetup(b, 4, "--simulate")
	s.save(b, "network.yaml", "")
	var took time.Duration
	var memory int
	start := func() time.Duration {
		begin := time.Now()
		p := s.start(b)
		pollEvery(b, time.Millisecond, "the agent is ready", func() (bool, string) {
			_, err := p.get(http.MethodGet, "/readiness", "")
			return err == nil, fmt.Sprint(err)
		})
		ready := time.Since(begin)
		memory = p.memory(b)
		p.interrupt(b)
		return ready
	}
	for range b.N {
		took = infratest.Fastest(5, start)
	}
	infratest.AtMost(b, "start", float64(took.Microseconds())/1000, "ms", 200)
	infratest.AtMost(b, "rss", float64(memory)/1024, "MiB", 50)
}

// dropPrivileges makes the agent run as a user without privileges.
func (s *setup) dropPrivileges() {
	if os.Getuid() == 0 {
		s.as = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: needs root, to make network namespaces and links")
	}
}
