package quickstart

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// patience is how long a test waits for a process or the kernel; it is no
// measure.
const patience = 2 * time.Minute

// programs is the directory of the built agent.
var programs string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "quickstart-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := infratest.Programs(context.Background(), dir, "vpp-agent"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Chmod(dir, 0o755); err != nil { // also for the test without root
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	programs = dir
	return m.Run()
}

// setup is a copy of the quickstart under names of its own, so that a quickstart
// that runs on this machine is left alone.
type setup struct {
	prefix string // of namespaces and links; "qs-" in the original
	label  string
	dir    string
	tmp    string // for the agent's temporary files, which a killed one leaves behind
	args   []string
	as     *syscall.Credential // nil: as this process
}

func newSetup(t testing.TB, n int, args ...string) *setup {
	t.Helper()
	id := fmt.Sprintf("%d%d", n, os.Getpid()%10_000)
	s := &setup{prefix: "q" + id + "-", label: "quickstart-test-" + id, args: args}
	s.dir = filepath.Join(programs, s.label) // readable for everyone, unlike t.TempDir()
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.tmp = filepath.Join(s.dir, "tmp")
	if err := errors.Join(os.Mkdir(s.tmp, 0o755), os.Chmod(s.tmp, 0o777)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("config", "kvscheduler.conf"))
	if err != nil {
		t.Fatal(err)
	}
	s.save(t, "kvscheduler.conf", string(text))
	s.save(t, "filedb.conf", "configuration-paths: ["+filepath.Join(s.dir, "network.yaml")+"]\n")
	s.edit(t, func(text string) string { return text })
	return s
}

// edit changes the configuration of the network, beginning with the original.
func (s *setup) edit(t testing.TB, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile("network.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.save(t, "network.yaml", change(strings.ReplaceAll(string(text), "qs-", s.prefix)))
}

func (s *setup) save(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// process is an agent that runs.
type process struct {
	cmd  *exec.Cmd
	log  string
	url  string
	done chan struct{} // closed when it has ended
	err  error         // of its end
}

func (s *setup) start(t testing.TB) *process {
	t.Helper()
	p := &process{log: filepath.Join(t.TempDir(), "log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--config-dir", s.dir, "--http-port", "0", "--microservice-label", s.label, "--cleanup-on-exit", "--stop-timeout", patience.String()}, s.args...)
	p.cmd = exec.Command(filepath.Join(programs, "vpp-agent"), args...)
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + s.tmp}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		p.err = p.cmd.Wait()
		log.Close()
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(os.Interrupt)
		select {
		case <-p.done:
		case <-time.After(patience):
			_ = p.cmd.Process.Kill()
			<-p.done
		}
		if t.Failed() {
			t.Logf("log of the agent:\n%s", p.output())
		}
	})
	address := regexp.MustCompile(`serving HTTP .*"address": "([^"]+)"`)
	pollEvery(t, time.Millisecond, "the agent listens", func() (bool, string) {
		found := address.FindStringSubmatch(p.output())
		if found == nil {
			return p.ended(), "no address in the log"
		}
		p.url = "http://" + found[1]
		return true, ""
	})
	if p.ended() {
		t.Fatalf("the agent ended: %v\n%s", p.err, p.output())
	}
	return p
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) output() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// memory is what the process has resident, in KiB.
func (p *process) memory(t testing.TB) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	var kib int
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatalf("VmRSS: %v", err)
	}
	return kib
}

// interrupt ends the agent as Ctrl-C does.
func (p *process) interrupt(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.wait(t)
	if p.err != nil {
		t.Errorf("the agent ended with %v\n%s", p.err, p.output())
	}
}

func (p *process) wait(t testing.TB) {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatal("the agent does not end")
	}
}

// poll asks until the answer is yes; what is the answer hoped for.
func poll(t testing.TB, what string, ask func() (yes bool, instead string)) {
	t.Helper()
	pollEvery(t, 20*time.Millisecond, what, ask)
}

func pollEvery(t testing.TB, interval time.Duration, what string, ask func() (yes bool, instead string)) {
	t.Helper()
	late := time.After(patience)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		yes, instead := ask()
		if yes {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("expected that %s; instead: %s", what, instead)
		}
	}
}

// status is one value in /scheduler/status.
type status struct {
	Key, State, Error string
	Details           []string
}

// values returns the status of all values by key.
func (p *process) values() (map[string]status, error) {
	text, err := p.get(http.MethodGet, "/scheduler/status", "")
	if err != nil {
		return nil, err
	}
	var list []struct {
		Value   status   `json:"value"`
		Derived []status `json:"derived_values"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	all := map[string]status{}
	for _, base := range list {
		all[base.Value.Key] = base.Value
		for _, d := range base.Derived {
			all[d.Key] = d
		}
	}
	return all, nil
}

// await waits until the values have states; a key with state "" must be absent.
func (p *process) await(t testing.TB, states map[string]string) {
	t.Helper()
	poll(t, fmt.Sprint("values are ", states), func() (bool, string) {
		all, err := p.values()
		if err != nil {
			return false, err.Error()
		}
		var wrong []string
		for key, state := range states {
			if all[key].State != state {
				wrong = append(wrong, fmt.Sprintf("%s is %q %v %s", key, all[key].State, all[key].Details, all[key].Error))
			}
		}
		return len(wrong) == 0, strings.Join(wrong, "\n")
	})
}

// awaitAllConfigured waits until everything that was asked for is in place.
func (p *process) awaitAllConfigured(t testing.TB, count int) {
	t.Helper()
	poll(t, "all values are configured", func() (bool, string) {
		all, err := p.values()
		if err != nil {
			return false, err.Error()
		}
		n := 0
		var wrong []string
		for key, s := range all {
			switch s.State {
			case "CONFIGURED":
				if strings.HasPrefix(key, "config/") {
					n++
				}
			case "OBTAINED":
			default:
				wrong = append(wrong, fmt.Sprintf("%s is %s %v %s", key, s.State, s.Details, s.Error))
			}
		}
		return len(wrong) == 0 && n == count, fmt.Sprintf("%d of %d are configured\n%s", n, count, strings.Join(wrong, "\n"))
	})
}

// vpp runs a command of VPP's command line.
func (p *process) vpp(t testing.TB, command string) string {
	t.Helper()
	text, err := p.get(http.MethodPost, "/vpp/command", fmt.Sprintf(`{"vppclicommand": %q}`, command))
	if err != nil {
		t.Fatal(err)
	}
	var output string
	if err := json.Unmarshal(text, &output); err != nil {
		t.Fatal(err)
	}
	return output
}

func (p *process) get(method, path, body string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s: %s", path, resp.Status, bytes.TrimSpace(text))
	}
	return text, err
}
