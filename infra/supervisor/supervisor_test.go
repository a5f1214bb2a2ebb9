package supervisor_test

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/supervisor"
)

func TestMain(m *testing.M) {
	// The goroutine of package signal does not belong to the agent that
	// is the first to need it.
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGUSR2)
	signal.Stop(ch)
	goleak.VerifyTestMain(m)
}

// output is what programs print.
type output struct{ infratest.Buffer }

func (o *output) wait(t *testing.T, want string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%q", want), func() bool { return strings.Contains(o.String(), want) })
}

// eventually waits for what another process does.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
		time.Sleep(2 * time.Millisecond) /* ok: another process cannot be waited for */
	}
}

// supervise returns a supervisor that is not started, its agent and the output
// of its programs.
func supervise(t *testing.T, conf string) (*supervisor.Plugin, *agent.Agent, *output) {
	t.Helper()
	out := &output{}
	p := supervisor.NewPlugin(supervisor.UseOutput(out, out),
		supervisor.UseDeps(func(d *supervisor.Deps) { d.Cfg = config.Text("supervisor", conf) }))
	return p, agenttest.New(t, agent.AllPlugins(p), agent.QuitOnClose(p.Done()), agent.StopTimeout(0)), out
}

func start(t *testing.T, a *agent.Agent) {
	t.Helper()
	infratest.Fatal(t, a.Start(t.Context()))
}

// service is a program that says what happens to it, until it is stopped.
const service = `
- name: %[1]s
  executable-path: sh
  executable-args:
  - -c
  - 'trap "echo %[1]s stops; exit 0" TERM; trap "echo %[1]s HUP" HUP; trap "echo %[1]s USR1" USR1; echo %[1]s runs; while :; do sleep 0.01; done'
  stop-timeout: 1m
`

func TestOrderAndSignals(t *testing.T) {
	conf := "programs:" + fmt.Sprintf(service, "one") + fmt.Sprintf(service, "two") + "  forward-signals: [usr1, SIGHUP]\n" + fmt.Sprintf(service, "three")
	_, a, out := supervise(t, conf)
	start(t, a)
	for _, name := range []string{"one", "two", "three"} {
		out.wait(t, name+" runs\n")
	}
	for _, test := range []struct {
		signal syscall.Signal
		want   string
	}{{syscall.SIGUSR1, "two USR1\n"}, {syscall.SIGHUP, "two HUP\n"}} {
		infratest.Fatal(t, syscall.Kill(os.Getpid(), test.signal))
		out.wait(t, test.want)
	}
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
	if !strings.HasSuffix(out.String(), "three stops\ntwo stops\none stops\n") || strings.Contains(out.String(), "one HUP") {
		t.Errorf("got\n%s", out)
	}
}

func TestLogFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "one.log")
	_, a, out := supervise(t, "programs:"+fmt.Sprintf(service, "one")+"  logfile-path: "+path+"\n  forward-signals: [USR1]\n"+fmt.Sprintf(service, "two"))
	infratest.Fatal(t, os.WriteFile(path, []byte("before\n"), 0o600))
	start(t, a)
	contains := func(file, want string) func() bool {
		return func() bool {
			text, err := os.ReadFile(file)
			return err == nil && string(text) == want
		}
	}
	eventually(t, "output in the file", contains(path, "before\none runs\n"))
	out.wait(t, "two runs\n")
	old := filepath.Join(dir, "old.log")
	infratest.Fatal(t, os.Rename(path, old))
	infratest.Fatal(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	eventually(t, "new file", contains(path, ""))
	infratest.Fatal(t, syscall.Kill(os.Getpid(), syscall.SIGUSR1))
	eventually(t, "output in the new file", contains(path, "one USR1\n"))
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
	if !contains(path, "one USR1\none stops\n")() || !contains(old, "before\none runs\n")() {
		t.Error("the files have something else")
	}
	if out.String() != "two runs\ntwo stops\n" {
		t.Errorf("the console has %q", out)
	}
}

func TestProgramThatFails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "one.log")
	p, a, out := supervise(t, "programs:"+fmt.Sprintf(service, "one")+"  logfile-path: "+path+`
- name: two
  executable-path: sh
  executable-args: [-c, until grep -q runs `+path+`; do sleep 0.01; done; echo two fails; exit 3]
  restarts: 2
  restart-delay: 1ms
`)
	start(t, a)
	<-a.After()
	if err := a.Error(); err != nil {
		t.Error(err)
	}
	failed := (*supervisor.ProgramError)(nil)
	if err := p.Err(); !errors.As(err, &failed) || err.Error() != "program two: exit status 3" || failed.Exit.Status() != 3 {
		t.Errorf("got %v", err)
	}
	if out.String() != strings.Repeat("two fails\n", 3) {
		t.Errorf("got\n%s", out)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "one runs\none stops\n" {
		t.Errorf("the other one: %q, %v", text, err)
	}
}

func TestProgramsThatMayEnd(t *testing.T) {
	t.Parallel()
	p, a, out := supervise(t, `
programs:
- {name: once, executable-path: "true"}
- {name: maybe, executable-path: "false", optional: true}
- {name: last, executable-path: sh, executable-args: [-c, 'read line < /dev/stdin; sleep 0.1; echo last']}
`)
	start(t, a)
	<-a.After()
	if err := errors.Join(a.Error(), p.Err()); err != nil {
		t.Error(err)
	}
	if out.String() != "last\n" {
		t.Errorf("got %q", out)
	}
}

func TestHooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	said := filepath.Join(dir, "said")
	_, a, _ := supervise(t, `
programs:
- {name: one, executable-path: sh, executable-args: [-c, 'exit 4'], restarts: 1, restart-delay: 1ms, optional: true}
- {name: two, executable-path: sleep, executable-args: ['1000'], stop-timeout: 1m}
hook-timeout: 1m
hooks:
- cmd: sh
  cmd-args: [-c, 'echo $SUPERVISOR_EVENT_TYPE $SUPERVISOR_PROCESS_NAME $SUPERVISOR_PROCESS_STATE $SUPERVISOR_PROCESS_STATUS >> `+said+`; exit 1']
- cmd: /no/such/hook
`)
	start(t, a)
	has := func(line string) func() bool {
		return func() bool {
			text, err := os.ReadFile(said)
			return err == nil && strings.Contains(string(text), line)
		}
	}
	eventually(t, "second end of one", has("one terminated 4"))
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(said)
	infratest.Fatal(t, err)
	one, two := "", ""
	for line := range strings.Lines(string(text)) {
		line, ok := strings.CutPrefix(line, "ProcessStatus ")
		if rest, of := strings.CutPrefix(line, "one "); of {
			one += rest
		} else if rest, of := strings.CutPrefix(line, "two "); of {
			two += rest
		} else {
			ok = false
		}
		if !ok {
			t.Errorf("line %q", line)
		}
	}
	if one != "running\nwaiting 4\nrunning\nterminated 4\n" || two != "running\nterminated 143\n" {
		t.Errorf("got\n%s", text)
	}
}

// A hook that does not end holds up neither the programs nor the stop.
func TestHookThatHangs(t *testing.T) {
	t.Parallel()
	log, out := &output{}, &output{}
	p := supervisor.NewPlugin(supervisor.UseOutput(out, out), supervisor.UseDeps(func(d *supervisor.Deps) {
		d.Cfg = config.Text("supervisor", `
programs: [{name: one, executable-path: sleep, executable-args: ['1000']}]
hooks: [{cmd: sleep, cmd-args: ['1000']}]
hook-timeout: 5ms
`)
	}))
	a := agenttest.New(t, agent.AllPlugins(p), agent.Logging(logging.NewRegistry(logging.WithWriter(log))))
	start(t, a)
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), `supervisor hook failed {"cmd": "sleep", "program": "one"`); n != 2 {
		t.Errorf("%d hooks failed:\n%s", n, log)
	}
}

func TestStartThatFails(t *testing.T) {
	t.Parallel()
	for conf, want := range map[string]string{
		"":             "no programs to run: set programs in supervisor.conf, or in the file named by --supervisor-config",
		"programs: []": "no programs to run: set programs in supervisor.conf",
		"programs:" + fmt.Sprintf(service, "one") + "- {name: two, executable-path: /no/such/file}":                                       "start two: fork/exec /no/such/file: no such file or directory",
		"programs:" + fmt.Sprintf(service, "one") + "- {name: two, executable-path: sh, logfile-path: /no/such/dir/x.log}":                "programs[1] (two): logfile-path: open /no/such/dir/x.log: no such file",
		"programs:" + fmt.Sprintf(service, "one") + "- {name: two, executable-path: sh, cpu-affinity-list: '1023'}":                       "start two: bind to the CPUs [1023]",
		"programs: [{name: one, executable-path: sh, executable-arg: []}]":                                                                `did you mean "executable-args"?`,
		"programs: [{name: 'a b', executable-path: sh}, {name: c}, {name: c, executable-path: sh}]":                                       "programs[0].name: \"a b\": expected a name without spaces and slashes\nprograms[1].executable-path: expected a file to execute\nprograms[2].name: duplicate \"c\"",
		"programs: [{name: a, executable-path: sh, restarts: -2}]":                                                                        "programs[0].restarts: expected a number, or -1 for always, got -2",
		"programs: [{name: a, executable-path: sh, stop-timeout: -1s}]":                                                                   "programs[0].stop-timeout: expected a duration that is not negative, got -1s",
		"programs: [{name: a, executable-path: sh, environment: [ok=, secret]}]":                                                          "programs[0].environment[1]: expected NAME=value",
		"programs: [{name: a, executable-path: sh, stop-signal: TERMINATE}]":                                                              `programs[0].stop-signal: unknown signal "TERMINATE"`,
		"programs: [{name: a, executable-path: sh, forward-signals: [HUP, TERM]}]":                                                        "programs[0].forward-signals[1]: TERM cannot be forwarded",
		"programs: [{name: a, executable-path: sh, cpu-affinity-mask: '1', cpu-affinity-list: '0'}]":                                      "programs[0].cpu-affinity-mask: expected a mask or a list",
		"{programs: [{name: a, executable-path: sh}], sv-cpu-affinity-mask: x, hook-timeout: 0s, hooks: [{cmd-args: [x]}]}":               "hooks[0].cmd: expected a file to execute\nhook-timeout: expected a duration above 0, got 0s\nsv-cpu-affinity-mask: CPU mask \"x\"",
		"{programs: [{name: a, executable-path: sh}], sv-cpu-affinity-mask: '" + strings.Repeat("8", 1) + strings.Repeat("0", 250) + "'}": "sv-cpu-affinity-mask: bind process 0 to the CPUs",
	} {
		p, a, out := supervise(t, conf)
		err := a.Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", conf, err, want)
		}
		if err := p.Err(); err != nil {
			t.Errorf("%s: %v", conf, err)
		}
		if strings.Contains(out.String(), "runs") && !strings.Contains(out.String(), "stops") {
			t.Errorf("%s: left running\n%s", conf, out)
		}
	}
	if err := config.Lint(supervisor.DefaultConfig()); err != nil {
		t.Error(err)
	}
}
