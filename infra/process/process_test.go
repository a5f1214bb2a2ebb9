package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

func TestMain(m *testing.M) {
	if os.Getenv(reaperVariable) != "" {
		os.Exit(reaperMain())
	}
	goleak.VerifyTestMain(m)
}

// newPlugin returns a plugin that ends with the test, and its log.
func newPlugin(t *testing.T) (*Plugin, *infratest.Buffer) {
	t.Helper()
	log := &infratest.Buffer{}
	p := NewPlugin(UseDeps(func(d *Deps) {
		d.Log = logging.NewRegistry(logging.WithWriter(log)).PluginLogger("process-manager")
	}))
	infratest.Fatal(t, p.Init())
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, log
}

// shell is a process that runs a script, with its output.
func shell(t *testing.T, p *Plugin, script string, change func(*Spec)) (*Process, *infratest.Buffer) {
	t.Helper()
	out := &infratest.Buffer{}
	spec := Spec{Name: "shell", Path: "sh", Args: []string{"-c", script}, Stdout: out, Stderr: out, StopTimeout: time.Minute}
	if change != nil {
		change(&spec)
	}
	proc, err := p.Add(spec)
	infratest.Fatal(t, err)
	return proc, out
}

func start(t *testing.T, p *Process) {
	t.Helper()
	infratest.Fatal(t, p.Start())
}

// wait returns how a process ended.
func wait(t *testing.T, p *Process) Exit {
	t.Helper()
	exit, err := p.Wait(t.Context())
	infratest.Fatal(t, err)
	return exit
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

func TestExits(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]struct {
		exit   Exit
		status int
		text   string
	}{
		"exit 0":        {Exit{}, 0, "exit status 0"},
		"exit 3":        {Exit{Code: 3}, 3, "exit status 3"},
		"kill -KILL $$": {Exit{Code: -1, Signal: syscall.SIGKILL}, 137, "killed by signal 9 (killed)"},
	} {
		p, _ := newPlugin(t)
		proc, _ := shell(t, p, script, nil)
		start(t, proc)
		exit := wait(t, proc)
		if exit != want.exit || exit.Status() != want.status || exit.String() != want.text || exit.Failed() != (want.status != 0) {
			t.Errorf("%s: got %+v, %d, %s", script, exit, exit.Status(), exit)
		}
		if s := proc.Status(); s.State != Terminated || s.PID != 0 || s.Last == nil || *s.Last != want.exit || s.Started.IsZero() {
			t.Errorf("%s: status %+v", script, s)
		}
		if err := proc.Signal(syscall.SIGTERM); !errors.Is(err, ErrNotRunning) {
			t.Errorf("%s: signal afterwards: %v", script, err)
		}
	}
}

func TestEnvironmentAndOutput(t *testing.T) {
	t.Parallel()
	p, _ := newPlugin(t)
	dir := t.TempDir()
	proc, out := shell(t, p, `echo "$GREETING $1"; pwd; echo error >&2`, func(s *Spec) {
		s.Args, s.Dir, s.Env = append(s.Args, "sh", "world"), dir, []string{"GREETING=hello"}
	})
	start(t, proc)
	wait(t, proc)
	if want := "hello world\n" + dir + "\nerror\n"; out.String() != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestOutputToTheLog(t *testing.T) {
	t.Parallel()
	p, log := newPlugin(t)
	proc, _ := shell(t, p, `echo one two; echo three >&2; printf 'no end'; head -c 10000 /dev/zero | tr '\0' x >&2`, func(s *Spec) {
		s.Stdout, s.Stderr = nil, nil
	})
	start(t, proc)
	wait(t, proc)
	for _, want := range []string{
		`process-manager.shell output {"stream": "stdout", "line": "one two"}`, `"stream": "stderr", "line": "three"`, `"stream": "stdout", "line": "no end"`,
		`"line": "` + strings.Repeat("x", maxLine) + `"`, `"line": "` + strings.Repeat("x", 10000-maxLine) + `"`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %.100q:\n%.3000s", want, log)
		}
	}
}

// refusing is a writer that refuses its first calls.
type refusing struct {
	infratest.Buffer
	times int
}

func (r *refusing) Write(p []byte) (int, error) {
	if r.times > 0 {
		r.times--
		return 0, errors.New("disk full")
	}
	return r.Buffer.Write(p)
}

func TestOutputThatIsRefusedDoesNotStopTheProcess(t *testing.T) {
	t.Parallel()
	p, log := newPlugin(t)
	full := &refusing{times: 1 << 30}
	proc, _ := shell(t, p, `head -c 1000000 /dev/zero`, func(s *Spec) { s.Stdout, s.Stderr = full, nil })
	start(t, proc)
	if exit := wait(t, proc); exit.Failed() {
		t.Error(exit)
	}
	if n := strings.Count(log.String(), `output of a process is lost`); n != 1 || !strings.Contains(log.String(), `"error": "disk full"`) {
		t.Errorf("said %d times:\n%s", n, log)
	}
	var lost []error
	some := &refusing{times: 1}
	copyAll(some, strings.NewReader("first"), func(err error) { lost = append(lost, err) })
	copyAll(some, strings.NewReader("second"), func(err error) { lost = append(lost, err) })
	if len(lost) != 1 || some.String() != "second" {
		t.Errorf("lost %v, got %q", lost, some)
	}
}

func TestStartThatFails(t *testing.T) {
	t.Parallel()
	p, _ := newPlugin(t)
	file := t.TempDir() + "/plain"
	infratest.Fatal(t, os.WriteFile(file, []byte("text"), 0o600))
	for i, test := range []struct {
		spec Spec
		want string
	}{
		{Spec{Path: "/no/such/file"}, "no such file"},
		{Spec{Path: "no-such-program-anywhere"}, "executable file not found"},
		{Spec{Path: file}, "permission denied"},
		{Spec{Path: "sh", Dir: "/no/such/dir"}, "no such file"},
		{Spec{Path: "sh", Affinity: CPUs{maxCPU}}, "bind to the CPUs [1023]"},
	} {
		test.spec.Name, test.spec.Restart = strconv.Itoa(i), Restart{Max: Forever}
		proc, err := p.Add(test.spec)
		infratest.Fatal(t, err)
		if err := proc.Start(); err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "start "+test.spec.Name+": ") {
			t.Errorf("%+v: got %v", test.spec, err)
		}
		if s := proc.Status(); s.State != Terminated || s.Last.Err == nil || s.Last.Status() != 127 {
			t.Errorf("%+v: %+v", test.spec, s)
		}
	}
}

func TestRestarts(t *testing.T) {
	t.Parallel()
	p, _ := newPlugin(t)
	var seen []string
	proc, out := shell(t, p, `echo run; exit 4`, func(s *Spec) {
		s.Restart = Restart{Max: 3, First: time.Millisecond, Longest: 2 * time.Millisecond}
		s.Changed = func(s Status) {
			seen = append(seen, fmt.Sprintf("%s %v %v %t", s.State, s.Restarts, s.Pause, s.PID > 0))
		}
	})
	start(t, proc)
	if exit := wait(t, proc); exit.Code != 4 {
		t.Error(exit)
	}
	want := []string{
		"running 0 0s true", "waiting 0 1ms false", "running 1 0s true", "waiting 1 2ms false",
		"running 2 0s true", "waiting 2 2ms false", "running 3 0s true", "terminated 3 0s false",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
	if out.String() != strings.Repeat("run\n", 4) {
		t.Errorf("output %q", out)
	}
	start(t, proc) // by hand, with a new count
	wait(t, proc)
	if len(seen) != 2*len(want) || proc.Status().Restarts != 6 {
		t.Errorf("%d changes, %d restarts", len(seen), proc.Status().Restarts)
	}
}

func TestRestartPauses(t *testing.T) {
	t.Parallel()
	r := Restart{Max: 7}.withDefaults()
	var pauses []time.Duration
	count := 0
	for {
		next, pause, again := r.next(count, time.Second)
		if !again {
			break
		}
		count, pauses = next, append(pauses, pause)
	}
	want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second}
	if !slices.Equal(pauses, want) {
		t.Errorf("got %v", pauses)
	}
	if count, pause, again := r.next(7, time.Minute); count != 1 || pause != time.Second || !again {
		t.Errorf("after a minute that went well: %d, %v, %v", count, pause, again)
	}
	r = Restart{Max: Forever, First: time.Hour, Longest: time.Second}.withDefaults()
	if count, pause, again := r.next(1<<20, 0); count != 1<<20+1 || pause != time.Hour || !again {
		t.Errorf("forever: %d, %v, %v", count, pause, again)
	}
	if _, _, again := (Restart{}).withDefaults().next(0, 0); again {
		t.Error("the default is to start again")
	}
}
