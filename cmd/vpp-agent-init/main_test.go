package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

var programs = infratest.Shared("vpp-agent-init", "vpp-agent", "vpp-sim")

func TestMain(m *testing.M) { os.Exit(programs.Run(m)) }

// initProcess is a vpp-agent-init that runs.
type initProcess struct {
	t    *testing.T
	cmd  *exec.Cmd
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // something was written
	done chan error
}

// launch runs vpp-agent-init with a configuration. A command in front of it may
// put it into namespaces.
func launch(t *testing.T, conf string, front ...string) *initProcess {
	t.Helper()
	file := filepath.Join(t.TempDir(), "supervisor.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append(front, filepath.Join(programs.Dir(t), "vpp-agent-init"), "--supervisor-config", file)
	p := &initProcess{t: t, cmd: exec.Command(args[0], args[1:]...), more: make(chan struct{}, 1), done: make(chan error, 1)}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = write, write
	if err := errors.Join(p.cmd.Start(), write.Close()); err != nil {
		t.Fatal(err)
	}
	go func() {
		lines := bufio.NewScanner(read)
		for lines.Scan() {
			p.mu.Lock()
			p.text.WriteString(lines.Text() + "\n")
			p.mu.Unlock()
			select {
			case p.more <- struct{}{}:
			default:
			}
		}
		p.done <- errors.Join(p.cmd.Wait(), read.Close())
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		if t.Failed() {
			t.Logf("it wrote:\n%s", p.output())
		}
	})
	return p
}

func (p *initProcess) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// says waits until a text is written.
func (p *initProcess) says(want string) {
	p.t.Helper()
	limit := time.After(2 * time.Minute)
	for !strings.Contains(p.output(), want) {
		select {
		case <-p.more:
		case <-limit:
			p.t.Fatalf("%q is not written within two minutes", want)
		}
	}
}

func (p *initProcess) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// ends waits for the end and returns the exit code.
func (p *initProcess) ends() int {
	p.t.Helper()
	select {
	case err := <-p.done:
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			p.t.Fatal(err)
		}
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(2 * time.Minute):
		p.t.Fatal("it does not end within two minutes")
		return -1
	}
}

// ready reports whether the agent that was started last says that it is.
func (p *initProcess) ready() bool {
	text := p.output()
	_, address, found := strings.Cut(text[max(0, strings.LastIndex(text, "serving HTTP")):], `"address": "`)
	if !found {
		return false
	}
	resp, err := http.Get("http://" + address[:strings.IndexByte(address, '"')] + "/readiness")
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// eventually waits for what other processes do.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within two minutes", what)
		}
		time.Sleep(5 * time.Millisecond) /* ok: other processes cannot be waited for */
	}
}

// VPP (here its simulator) and the agent run together, are restarted when one of them
// is killed, and end in order.
func TestVPPAndAgent(t *testing.T) {
	t.Parallel()
	dir, bin := t.TempDir(), programs.Dir(t)
	socket := filepath.Join(dir, "api.sock")
	for name, text := range map[string]string{
		"govpp.conf": "binapi-socket-path: " + socket + "\n", "grpc.conf": "endpoint: " + filepath.Join(dir, "grpc.sock") + "\nnetwork: unix\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := launch(t, fmt.Sprintf(`
programs:
- name: vpp
  executable-path: %[1]s/vpp-sim
  executable-args: [--socket, %[2]s]
  logfile-path: %[3]s/vpp.log
  restarts: -1
  restart-delay: 10ms
  stop-timeout: 1m
- name: agent
  executable-path: %[1]s/vpp-agent
  executable-args: [--config-dir, %[3]s, --http-port, '0']
  restarts: -1
  restart-delay: 10ms
  stop-timeout: 1m
`, bin, socket, dir))
	eventually(t, "agent ready", p.ready)
	for _, victim := range []string{"vpp-sim", "vpp-agent"} {
		pid := childOf(t, p.cmd.Process.Pid, victim)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, victim+" again, and ready", func() bool {
			next := childOf(nil, p.cmd.Process.Pid, victim)
			return next != 0 && next != pid && p.ready()
		})
	}
	p.signal(syscall.SIGTERM)
	if code := p.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	agent, vpp := strings.LastIndex(p.output(), `process-manager process ended {"name": "agent"`), strings.LastIndex(p.output(), `process-manager process ended {"name": "vpp"`)
	if agent < 0 || vpp < agent {
		t.Errorf("wrong order of the end")
	}
	if text, err := os.ReadFile(filepath.Join(dir, "vpp.log")); err != nil || strings.Count(string(text), "simulated VPP") != 2 {
		t.Errorf("vpp.log: %s, %v", text, err)
	}
	if _, err := os.Stat(socket); err == nil {
		t.Error("the simulator was not asked to end: its socket is left")
	}
}

// childOf returns the process ID of a child by its name, 0 if there is none.
func childOf(t *testing.T, parent int, name string) int {
	for pid, child := range childrenOf(parent) {
		if child == name {
			return pid
		}
	}
	if t != nil {
		t.Fatalf("no process %s", name)
	}
	return 0
}

// childrenOf returns the names of the children of a process by their IDs, those
// included that have ended and are not waited for, without a name.
func childrenOf(parent int) map[int]string {
	children := map[int]string{}
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range all {
		text, err := os.ReadFile(file)
		open, shut := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
		if err != nil || open < 0 || shut < open {
			continue
		}
		var pid, ppid int
		var state string
		if _, err := fmt.Sscan(string(text[:open])+string(text[shut+1:]), &pid, &state, &ppid); err != nil || ppid != parent {
			continue
		}
		children[pid] = string(text[open+1 : shut])
		if state == "Z" {
			children[pid] = ""
		}
	}
	return children
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for conf, want := range map[string]struct {
		code int
		text string
	}{
		"programs: [{name: a, executable-path: sh, executable-args: [-c, exit 7]}]":        {7, "ERROR: program a: exit status 7\n"},
		"programs: [{name: a, executable-path: sh, executable-args: [-c, kill -KILL $$]}]": {137, "ERROR: program a: killed by signal 9 (killed)\n"},
		"programs: [{name: a, executable-path: 'true'}]":                                   {0, ""},
		"programs: [{name: a, executable-path: /no/such/file}]":                            {1, "start a: fork/exec /no/such/file: no such file or directory\n"},
		"programs: [{name: a}]": {1, "programs[0].executable-path: expected a file to execute\n"},
	} {
		p := launch(t, conf)
		if code := p.ends(); code != want.code || !strings.HasSuffix(p.output(), want.text) || want.text == "" && strings.Contains(p.output(), "ERROR:") {
			t.Errorf("%s: exit code %d:\n%s", conf, code, p.output())
		}
	}
}

// As process 1 of a container it ends everything, and nothing stays in the process
// table meanwhile.
func TestProcessOne(t *testing.T) {
	t.Parallel()
	front := []string{"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if out, err := exec.Command(front[0], append(front[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no namespaces for processes here, being process 1 is not tested: %v %s", err, out)
	}
	p := launch(t, `
programs:
- name: daemons
  executable-path: sh
  executable-args:
  - -c
  - |
    trap 'echo daemons stop; exit 0' TERM
    for i in 1 2 3 4 5 6 7 8 9; do (setsid sleep 0.$i &); done
    echo "process 1 is $(cat /proc/1/comm)"
    while :; do sleep 0.01; done
  stop-timeout: 1m
- name: stubborn
  executable-path: sh
  executable-args: [-c, "trap '' TERM; echo stubborn runs; while :; do sleep 0.01; done"]
  stop-timeout: 50ms
`, front...)
	p.says("process 1 is vpp-agent-init")
	p.says("stubborn runs")
	init := childOf(t, p.cmd.Process.Pid, "vpp-agent-init")
	eventually(t, "only the two programs are left", func() bool { return len(childrenOf(init)) == 2 })
	if err := syscall.Kill(init, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.ends(); code != 0 || !strings.Contains(p.output(), "daemons stop\n") || !strings.Contains(p.output(), "process does not stop, killing it") {
		t.Errorf("exit code %d", code)
	}
}

// The hook that containers of the predecessor have: the end of one program ends
// all of it.
func TestHookThatEndsIt(t *testing.T) {
	t.Parallel()
	end := filepath.Join(t.TempDir(), "end")
	p := launch(t, fmt.Sprintf(`
programs:
- {name: vpp, executable-path: sh, executable-args: [-c, 'until [ -e %s ]; do sleep 0.01; done']}
- {name: agent, executable-path: sleep, executable-args: ['1000'], stop-timeout: 1m}
hook-timeout: 1m
hooks:
- cmd: sh
  cmd-args: [-c, '[ "$SUPERVISOR_PROCESS_STATE" != terminated ] || kill $PPID']
`, end))
	p.says(`process-manager process started {"name": "agent"`)
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := p.ends(); code != 0 || !strings.Contains(p.output(), `"name": "agent", "exit": "killed by signal 15 (terminated)"`) {
		t.Errorf("exit code %d", code)
	}
}
