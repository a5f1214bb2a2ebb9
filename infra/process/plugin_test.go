package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

func TestAddAndRemove(t *testing.T) {
	t.Parallel()
	p, _ := newPlugin(t)
	a, _ := shell(t, p, "sleep 1000", func(s *Spec) { s.Name = "a" })
	b, _ := shell(t, p, "exit 0", func(s *Spec) { s.Name = "b" })
	for want, spec := range map[string]Spec{
		"duplicate process":               {Name: "a", Path: "sh"},
		"expected a file to execute":      {Name: "c"},
		"expected a name without spaces ": {Name: "c d", Path: "sh"},
		`process "": expected a name`:     {Path: "sh"},
	} {
		if _, err := p.Add(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v", spec, err)
		}
	}
	if !slices.Equal(p.processes, []*Process{a, b}) {
		t.Errorf("processes %v", p.processes)
	}
	start(t, a)
	if err := p.Remove("a"); !errors.Is(err, ErrRunning) {
		t.Errorf("remove a running process: %v", err)
	}
	if err := p.Remove("b"); err != nil || p.find("b") >= 0 {
		t.Errorf("remove: %v", err)
	}
	if err := p.Remove("b"); err == nil {
		t.Error("removed twice")
	}
}

func TestStopAllStopsTheLastFirst(t *testing.T) {
	t.Parallel()
	p, _ := newPlugin(t)
	out := &infratest.Buffer{}
	var ps []*Process
	for _, name := range []string{"one", "two", "three"} {
		proc, _ := shell(t, p, `trap "echo `+name+`; exit 0" TERM; echo ready; while :; do sleep 0.01; done`,
			func(s *Spec) { s.Name, s.Stdout = name, out })
		start(t, proc)
		ps = append(ps, proc)
	}
	eventually(t, "ready", func() bool { return strings.Count(out.String(), "ready") == 3 })
	if err := StopAll(t.Context(), ps); err != nil {
		t.Error(err)
	}
	if !strings.HasSuffix(out.String(), "ready\nthree\ntwo\none\n") {
		t.Errorf("got %q", out)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	p, _ := newPlugin(t)
	spec := Spec{Name: "hook", Path: "sh", Args: []string{"-c", "exit 6"}, Restart: Restart{Max: Forever}, StopTimeout: time.Minute}
	if exit, err := p.Run(t.Context(), spec); err != nil || exit.Code != 6 {
		t.Errorf("got %v, %v", exit, err)
	}
	if len(p.processes) != 0 {
		t.Error("it is listed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	spec.Args = []string{"-c", "sleep 1000"}
	if exit, err := p.Run(ctx, spec); !errors.Is(err, context.DeadlineExceeded) || exit.Signal != unix.SIGTERM {
		t.Errorf("got %v, %v", exit, err)
	}
	spec.Path = "/no/such/file"
	if exit, err := p.Run(t.Context(), spec); err == nil || exit.Status() != 127 {
		t.Errorf("got %v, %v", exit, err)
	}
}

// The processes of a plugin end with its agent.
func TestEndOfTheAgent(t *testing.T) {
	t.Parallel()
	p := NewPlugin()
	a := agenttest.Start(t, p)
	proc, _ := shell(t, p, "exec sleep 1000", func(s *Spec) { s.Restart = Restart{Max: Forever} })
	start(t, proc)
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
	if s := proc.Status(); s.State != Terminated || s.Last.Signal != unix.SIGTERM {
		t.Errorf("%+v", s)
	}
	if err := proc.Start(); !errors.Is(err, context.Canceled) {
		t.Errorf("started after the end: %v", err)
	}
}

func TestAffinity(t *testing.T) {
	t.Parallel()
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !allowed.IsSet(cpu) {
		cpu++
	}
	p, _ := newPlugin(t)
	const script = `grep Cpus_allowed_list /proc/self/status`
	for name, spec := range map[string]Spec{
		"at once": {Args: []string{"-c", script}},
		"delayed": {Args: []string{"-c", `while [ "$(` + script + `)" != "Cpus_allowed_list:	` + fmt.Sprint(cpu) + `" ]; do sleep 0.01; done; ` + script}, AffinityDelay: time.Millisecond},
	} {
		out := &infratest.Buffer{}
		spec.Name, spec.Path, spec.Stdout, spec.Affinity = name, "sh", out, CPUs{cpu}
		if exit, err := p.Run(t.Context(), spec); err != nil || exit.Failed() {
			t.Errorf("%s: %v, %v", name, exit, err)
		}
		if want := fmt.Sprintf("Cpus_allowed_list:\t%d\n", cpu); out.String() != want {
			t.Errorf("%s: got %q, want %q", name, out, want)
		}
	}
	if err := (CPUs{cpu}).Pin(1 << 30); err == nil {
		t.Error("a process that does not exist was bound")
	}
}

func TestCPUs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]CPUs{"0": {0}, "0,4-6": {0, 4, 5, 6}, "1, 1-2": {1, 2}, "0-6:3": {0, 3, 6}, "1023": {1023}} {
		if got, err := ParseCPUList(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "a", "1-", "-1", "3-1", "1024", "0-9999999999", "1:2", "0-4:0", "1,,2"} {
		if got, err := ParseCPUList(bad); err == nil {
			t.Errorf("%q: got %v", bad, got)
		}
	}
	for text, want := range map[string]CPUs{"1": {0}, "0x5": {0, 2}, "0XF0": {4, 5, 6, 7}, "1,00000000": {32}} {
		if got, err := ParseCPUMask(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "0", "-1", "g", "0x", "1" + strings.Repeat("0", 256)} {
		if got, err := ParseCPUMask(bad); err == nil {
			t.Errorf("%q: got %v", bad, got)
		}
	}
}

func FuzzCPUs(f *testing.F) {
	f.Add("0,4-6:2")
	f.Add("0x3")
	f.Fuzz(func(t *testing.T, text string) {
		for name, parse := range map[string]func(string) (CPUs, error){"list": ParseCPUList, "mask": ParseCPUMask} {
			cpus, err := parse(text)
			if err == nil && (len(cpus) == 0 || !slices.IsSorted(cpus) || cpus[0] < 0 || cpus[len(cpus)-1] > maxCPU) {
				t.Errorf("%s %q: got %v", name, text, cpus)
			}
		}
	})
}

// reaperVariable makes the test binary run reaperMain.
const reaperVariable = "PROCESS_TEST_REAPER"

// reaperMain is a parent of orphans: it starts many processes, some with
// daemons, and reports whether all exit codes arrived and no child remains.
func reaperMain() int {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Println("subreaper:", err)
		return 1
	}
	p := NewPlugin(ReapOrphans())
	if err := p.Init(); err != nil {
		fmt.Println(err)
		return 1
	}
	const processes = 60
	var all sync.WaitGroup
	wrong := make(chan string, processes)
	for i := range processes {
		all.Go(func() {
			script := fmt.Sprintf("setsid true & (true &) ; exit %d", i)
			exit, err := p.Run(context.Background(), Spec{Name: "p", Path: "sh", Args: []string{"-c", script}})
			if err != nil || exit.Code != i {
				wrong <- fmt.Sprintf("process %d: %v, %v", i, exit, err)
			}
		})
	}
	all.Wait()
	for deadline := time.Now().Add(time.Minute); ; {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); errors.Is(err, unix.ECHILD) {
			break
		}
		if time.Now().After(deadline) {
			wrong <- fmt.Sprintf("process %d is left", pidOf(&info))
			break
		}
		time.Sleep(time.Millisecond) /* ok: the kernel does not report when there are no more children */
	}
	if err := p.Close(); err != nil {
		wrong <- err.Error()
	}
	close(wrong)
	code := 0
	for w := range wrong {
		fmt.Println(w)
		code = 1
	}
	return code
}

func TestOrphansAreReaped(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), reaperVariable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
