package kvtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// Process is a server process, which ends with the test.
type Process struct {
	// Direct is the address it listens on, Addr the address of the proxy in front of
	// it.
	Direct, Addr string
	// Proxy is in front of it.
	Proxy *Proxy

	command func() *exec.Cmd
	ready   func(*Process) bool
	status  string // another address, which reports whether it is ready
	cmd     *exec.Cmd
	exited  chan struct{}
	log     bytes.Buffer
	dir     string
}

var _ Server = (*Process)(nil)

// Etcd starts an etcd; args are added to its command line. The test is skipped
// if etcd is not installed.
func Etcd(tb testing.TB, args ...string) *Process {
	tb.Helper()
	binary := find(tb, "etcd", "etcd-server")
	return start(tb, etcdReady, func(p *Process) []string {
		p.status = freeAddr(tb)
		secure := "http"
		for _, a := range args {
			if strings.HasPrefix(a, "--cert-file") {
				secure = "https"
			}
		}
		peer := "http://" + freeAddr(tb)
		url := secure + "://" + p.Direct
		return append([]string{
			"env", "ETCD_UNSUPPORTED_ARCH=" + runtime.GOARCH, // required by 3.4 on arm64
			binary, "--name", "test", "--data-dir", filepath.Join(p.dir, "data"), "--log-level", "error",
			"--listen-client-urls", url, "--advertise-client-urls", url,
			"--listen-metrics-urls", "http://" + p.status, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "test=" + peer,
		}, args...)
	})
}

// Consul starts a cluster of one Consul server. The test is skipped if Consul
// is not installed.
func Consul(tb testing.TB, args ...string) *Process {
	tb.Helper()
	binary := find(tb, "consul", "consul, of Debian 11, see .ci/need")
	return start(tb, consulReady, func(p *Process) []string {
		return append([]string{
			binary, "agent", "-server", "-bootstrap-expect=1", "-data-dir", filepath.Join(p.dir, "data"), "-log-level", "err",
			"-bind", "127.0.0.1", "-client", "127.0.0.1", "-http-port", portOf(p.Direct), "-dns-port", "-1", "-serf-wan-port", "-1",
			"-serf-lan-port", FreePort(tb), "-server-port", FreePort(tb), "-hcl", "performance { raft_multiplier = 1 }",
		}, args...)
	})
}

func consulReady(p *Process) bool { return answers("http://" + p.Direct + "/v1/kv/?keys&consistent") }

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr) // freeAddr returned it
	return port
}

// etcdReady reports whether the server has elected itself.
func etcdReady(p *Process) bool { return answers("http://" + p.status + "/health") }

// answers reports whether a server responds, also with 404.
func answers(url string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusNotFound
}

// find looks for a program, and skips the test if it is not installed.
func find(tb testing.TB, program, pkg string) string {
	tb.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		tb.Skipf("SKIPPED: %s is not installed (Debian: apt install %s)", program, pkg)
	}
	return path
}

// freeAddr returns an address that a server may listen on repeatedly until the end of
// the test. Neither another test nor a connection can take its port: a socket is bound
// to it, without SO_REUSEADDR. The option is set afterwards, and then servers that set
// it as well may listen on the same address.
func freeAddr(tb testing.TB) string {
	tb.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	infratest.Fatal(tb, err)
	tb.Cleanup(func() { _ = syscall.Close(fd) })
	if err := errors.Join(
		syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
	); err != nil {
		tb.Fatal(err)
	}
	addr, err := syscall.Getsockname(fd)
	infratest.Fatal(tb, err)
	return fmt.Sprintf("127.0.0.1:%d", addr.(*syscall.SockaddrInet4).Port)
}

// start starts a server. If another process listens on its port at all addresses,
// or uses it for UDP, start tries another port.
func start(tb testing.TB, ready func(*Process) bool, command func(*Process) []string) *Process {
	tb.Helper()
	for range 3 {
		p := &Process{Direct: freeAddr(tb), dir: tb.TempDir(), ready: ready}
		args := command(p)
		p.command = func() *exec.Cmd {
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, &p.log, &p.log
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			return cmd
		}
		err := p.launch()
		if err == nil {
			p.Proxy = NewProxy(tb, p.Direct)
			p.Addr = p.Proxy.Addr
			tb.Cleanup(p.kill)
			return p
		}
		tb.Logf("%s: %v\n%s", args[0], err, p.log.String())
	}
	tb.Fatal("the server does not start")
	return nil
}

// launch starts the process and waits until it serves.
func (p *Process) launch() error {
	p.cmd, p.exited = p.command(), make(chan struct{})
	if err := p.cmd.Start(); err != nil {
		return err
	}
	cmd, exited := p.cmd, p.exited
	go func() {
		defer close(exited) // kill waits for it
		_ = cmd.Wait()
	}()
	late := time.After(patience)
	for !p.ready(p) {
		select {
		case <-exited:
			return fmt.Errorf("the server ended: %v", cmd.ProcessState)
		case <-late:
			p.kill()
			return fmt.Errorf("the server is not ready after %v", patience)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

func (p *Process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// Stop kills the server; Start starts it again.
func (p *Process) Stop() { p.kill() }

// Start starts the server after Stop.
func (p *Process) Start(tb testing.TB) {
	tb.Helper()
	if err := p.launch(); err != nil {
		tb.Fatalf("%v\n%s", err, p.log.String())
	}
}

// Restart implements Server.
func (p *Process) Restart(tb testing.TB) {
	tb.Helper()
	p.Stop()
	p.Start(tb)
}

// Wipe removes the data of a stopped server.
func (p *Process) Wipe(tb testing.TB) {
	tb.Helper()
	infratest.Fatal(tb, os.RemoveAll(filepath.Join(p.dir, "data")))
}

// Backup copies all files of a stopped server, which restore brings back, after the server
// was stopped again.
func (p *Process) Backup(tb testing.TB) (restore func()) {
	tb.Helper()
	saved := tb.TempDir()
	infratest.Fatal(tb, os.CopyFS(saved, os.DirFS(p.dir)))
	return func() {
		tb.Helper()
		p.WipeAll(tb)
		infratest.Fatal(tb, os.CopyFS(p.dir, os.DirFS(saved)))
	}
}

// WipeAll removes all files of a stopped server.
func (p *Process) WipeAll(tb testing.TB) {
	tb.Helper()
	entries, err := os.ReadDir(p.dir)
	infratest.Fatal(tb, err)
	for _, e := range entries {
		infratest.Fatal(tb, os.RemoveAll(filepath.Join(p.dir, e.Name())))
	}
}

// Pause implements Server.
func (p *Process) Pause(tb testing.TB) (resume func()) {
	tb.Helper()
	infratest.Fatal(tb, p.cmd.Process.Signal(syscall.SIGSTOP))
	return func() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }
}

// Partition implements Server.
func (p *Process) Partition(testing.TB) (heal func()) { return p.Proxy.Partition() }

// Etcdctl runs etcdctl, which must succeed, and returns its output. It has the
// timeout of the test, since its default timeout of a few seconds is too short on
// a busy machine. The test is skipped if etcdctl is not installed.
func Etcdctl(tb testing.TB, args ...string) string {
	tb.Helper()
	args = append([]string{
		"ETCDCTL_API=3", find(tb, "etcdctl", "etcd-client"), "--dial-timeout", patience.String(), "--command-timeout", patience.String(),
	}, args...)
	out, err := exec.CommandContext(tb.Context(), "env", args...).CombinedOutput()
	if err != nil {
		tb.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}
