// Package realvpptest starts a real VPP for a test, wherever one is installed:
// $VPP_BIN, or vpp in PATH. Where there is none, the test is skipped and says so.
package realvpptest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/config"
)

// startPatience is how long VPP may take to answer on its socket.
const startPatience = 2 * time.Minute

// VPP is a running VPP, which writes to a directory of its own only.
type VPP struct {
	// Socket and StatsSocket are the paths of its sockets.
	Socket, StatsSocket string

	tb     testing.TB
	binary string
	config string
	libs   string

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
	output bytes.Buffer
}

// Find returns the path of VPP, "" if none is installed.
func Find() string {
	if path, ok := config.Env("VPP_BIN"); ok && path != "" {
		return path
	}
	path, err := exec.LookPath("vpp")
	if err != nil {
		return ""
	}
	return path
}

// Start runs a VPP without workers until the end of the test. extra are more
// stanzas of its startup configuration.
func Start(tb testing.TB, extra ...string) *VPP {
	tb.Helper()
	binary := Find()
	if binary == "" {
		tb.Skip("NOT CHECKED AGAINST A REAL VPP: there is no vpp in PATH and VPP_BIN is not set")
	}
	dir, err := os.MkdirTemp("", "vpp") // TempDir of tb is too long for a socket
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	v := &VPP{
		tb: tb, binary: binary, config: filepath.Join(dir, "startup.conf"),
		Socket: filepath.Join(dir, "api.sock"), StatsSocket: filepath.Join(dir, "stats.sock"),
	}
	if err := os.WriteFile(v.config, []byte(v.startup(dir, extra)), 0o600); err != nil {
		tb.Fatal(err)
	}
	v.Run()
	tb.Cleanup(v.Kill)
	return v
}

// optional are the plugins that VPP loads only if it is asked to.
const optional = "plugin linux_cp_plugin.so { enable }"

// startup is the startup configuration. A VPP that was not installed by a
// package has its plugins beside its executable.
func (v *VPP) startup(dir string, extra []string) string {
	plugins := "plugins { " + optional + " }\n"
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(v.binary), "../lib/*/vpp_plugins")); len(found) > 0 {
		plugins = "plugins { path " + found[0] + " " + optional + " }\n"
		v.libs = filepath.Dir(found[0])
	}
	return fmt.Sprintf(`unix { nodaemon nosyslog nobanner nocolor runtime-dir %[1]s log %[1]s/vpp.log cli-listen %[1]s/cli.sock poll-sleep-usec 100 }
api-segment { prefix %[2]s }
socksvr { socket-name %[3]s }
statseg { socket-name %[4]s size 64M page-size 4K }
punt { socket %[1]s/punt.sock }
memory { main-heap-size 512M main-heap-page-size default }
buffers { buffers-per-numa 16384 page-size default }
%[5]s%[6]s
`, dir, filepath.Base(dir), v.Socket, v.StatsSocket, plugins, strings.Join(extra, "\n"))
}

// Run starts the process, again after Kill, and waits until it answers.
func (v *VPP) Run() {
	v.tb.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	_ = os.Remove(v.Socket)
	cmd := exec.Command(v.binary, "-c", v.config)
	if v.libs != "" {
		cmd.Env = append(cmd.Environ(), "LD_LIBRARY_PATH="+v.libs)
	}
	cmd.Stdout, cmd.Stderr = &v.output, &v.output
	if err := cmd.Start(); err != nil {
		v.tb.Fatal(err)
	}
	v.cmd, v.exited = cmd, make(chan struct{})
	go func(exited chan struct{}) {
		_ = cmd.Wait()
		close(exited)
	}(v.exited)
	v.await()
}

// Exited is closed when the process has ended, for whatever reason.
func (v *VPP) Exited() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.exited
}

// await polls until the process, which has no other way to report it, answers.
func (v *VPP) await() {
	v.tb.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(startPatience); time.Now().Before(deadline); <-tick.C {
		if conn, err := net.Dial("unix", v.Socket); err == nil {
			_ = conn.Close()
			return
		}
	}
	v.tb.Fatalf("VPP does not answer on %s", v.Socket)
}

// PID is the process ID.
func (v *VPP) PID() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.cmd == nil {
		return 0
	}
	return v.cmd.Process.Pid
}

// Kill ends the process at once, as a crash does, and waits for its end.
func (v *VPP) Kill() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.cmd == nil {
		return
	}
	_ = v.cmd.Process.Kill()
	<-v.exited
	v.cmd = nil
	if v.tb.Failed() {
		v.tb.Logf("VPP said:\n%s", v.output.String())
	}
}

// Stop makes the process stand still, and Continue resumes it: its sockets stay open
// and nothing is answered.
func (v *VPP) Stop() { v.signal(syscall.SIGSTOP) }

// Continue ends Stop.
func (v *VPP) Continue() { v.signal(syscall.SIGCONT) }

func (v *VPP) signal(s syscall.Signal) {
	v.tb.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.cmd == nil {
		v.tb.Fatalf("VPP does not run: no signal %v", s)
	}
	if err := v.cmd.Process.Signal(s); err != nil {
		v.tb.Fatal(err)
	}
}
