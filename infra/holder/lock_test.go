package holder_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/holder"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

func TestMain(m *testing.M) {
	if label := os.Getenv("HOLDER_TEST_LABEL"); label != "" { // a process of TestLockDiesWithItsProcess
		if _, _, err := holder.TryLock(context.Background(), "linux", agent(label)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("held")
		select {}
	}
	goleak.VerifyTestMain(m)
}

func agent(label string) holder.Identity {
	return holder.Identity{
		Program: "vpp-agent", Label: label, PID: os.Getpid(), Host: "h", Since: time.Date(2026, 11, 23, 1, 2, 3, 0, time.UTC),
		Instance: "0a0b0c0d", StateDir: "/var/lib/x",
	}
}

// unique is a label that no other process of this machine uses.
func unique(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("%s-%d", t.Name(), os.Getpid())
}

func take(t *testing.T, me holder.Identity) *holder.Lock {
	t.Helper()
	lock, _, err := holder.TryLock(t.Context(), "linux", me)
	infratest.Fatal(t, err)
	t.Cleanup(func() { _ = lock.Close() })
	return lock
}

// The second agent learns who the first one is, and has the lock when that gives it up.
func TestLock(t *testing.T) {
	t.Parallel()
	for name, label := range map[string]string{"short": unique(t), "long": unique(t) + strings.Repeat("x", 200)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := take(t, agent(label))
			_, wait, err := holder.TryLock(t.Context(), "linux", agent(label))
			want := fmt.Sprintf("label %q is held by vpp-agent pid %d on host h since 2026-11-23T01:02:03Z (state-dir /var/lib/x): "+
				"stop it, or start this agent with another --microservice-label", label, os.Getpid())
			if held := (*holder.HeldError)(nil); !errors.As(err, &held) || err.Error() != want {
				t.Fatalf("got  %v\nwant %s", err, want)
			}
			take(t, agent(label+"-other"))
			if _, wait, err := holder.TryLock(t.Context(), "linux", agent(label)); err == nil {
				t.Error("two agents have the lock")
			} else { // and gives up
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				wait(ctx)
			}
			if err := first.Close(); err != nil {
				t.Error(err)
			}
			wait(t.Context())
			take(t, agent(label))
		})
	}
}

// A killed process leaves no lock behind.
func TestLockDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	label := unique(t)
	other := exec.CommandContext(t.Context(), os.Args[0])
	other.Env = append(os.Environ(), "HOLDER_TEST_LABEL="+label)
	out, err := other.StdoutPipe()
	infratest.Fatal(t, err)
	infratest.Fatal(t, other.Start())
	line := make([]byte, 5)
	if _, err := out.Read(line); err != nil || string(line) != "held\n" {
		t.Fatalf("%q %v", line, err)
	}
	_, wait, err := holder.TryLock(t.Context(), "linux", agent(label))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("pid %d ", other.Process.Pid)) {
		t.Fatalf("got %v, expected pid %d", err, other.Process.Pid)
	}
	infratest.Fatal(t, other.Process.Kill())
	wait(t.Context())
	_ = other.Wait()
	take(t, agent(label))
}

// A process that has the name and does not say who it is keeps the lock.
func TestLockOfSomethingElse(t *testing.T) {
	t.Parallel()
	label := unique(t)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", "@tenuto/linux/"+label)
	infratest.Fatal(t, err)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("hello\n"))
			_ = conn.Close()
		}
	}()
	_, wait, err := holder.TryLock(t.Context(), "linux", agent(label))
	if err == nil || !strings.Contains(err.Error(), "does not reply") {
		t.Errorf("got %v", err)
	}
	_ = l.Close()
	wait(t.Context())
	take(t, agent(label))
}

// A process of another user that has the name does not switch the lock off: the agent waits, and
// has the lock when the process ends.
func TestLockOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to run a process as another user")
	}
	label := unique(t)
	other := exec.CommandContext(t.Context(), os.Args[0])
	other.Env = append(os.Environ(), "HOLDER_TEST_LABEL="+label)
	const uid = 65534
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := other.StdoutPipe()
	infratest.Fatal(t, err)
	if err := other.Start(); err != nil {
		t.Skipf("another user cannot run the test: %v", err)
	}
	line := make([]byte, 5)
	if _, err := out.Read(line); err != nil || string(line) != "held\n" {
		t.Fatalf("%q %v", line, err)
	}
	_, wait, err := holder.TryLock(t.Context(), "linux", agent(label))
	want := fmt.Sprintf("is held by a process of another user: pid %d, user %d: stop it", other.Process.Pid, uid)
	if held := (*holder.HeldError)(nil); !errors.As(err, &held) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, expected %q", err, want)
	}
	infratest.Fatal(t, other.Process.Kill())
	_ = other.Wait()
	wait(t.Context())
	take(t, agent(label))
}

type label string

func (l label) GetAgentLabel() string { return string(l) }

// state is a state-dir in memory.
type state map[string]map[string][]byte

func (s state) StateDirectory() string                           { return "/s" }
func (s state) LoadState(name string) (map[string][]byte, error) { return s[name], nil }
func (s state) SaveState(name string, put map[string][]byte, _ bool) error {
	s[name] = put
	return nil
}

// The instance belongs to the state-dir.
func TestInstance(t *testing.T) {
	t.Parallel()
	ids := map[string]int{}
	kept := state{}
	for _, s := range []holder.State{kept, kept, nil, nil} {
		p := holder.NewPlugin(label("x"), s)
		p.Setup()
		infratest.Fatal(t, p.Init())
		ids[p.Identity().Instance]++
		if dir := p.Identity().StateDir; (dir == "/s") != (s != nil) {
			t.Errorf("state-dir %q", dir)
		}
	}
	if len(ids) != 3 {
		t.Errorf("instances %v, expected three", ids)
	}
}

// An agent takes a label over from itself, and from a process that has ended.
func TestReplacedBy(t *testing.T) {
	t.Parallel()
	me := holder.Claim{Identity: agent("x"), Process: holder.Process()}
	with := func(f func(*holder.Claim)) holder.Claim {
		c := me
		f(&c)
		return c
	}
	last := strings.LastIndex(me.Process, "/")
	space := me.Process[:strings.LastIndex(me.Process[:last], "/")]
	later := with(func(c *holder.Claim) { c.Since = c.Since.Add(time.Second) })
	stranger := with(func(c *holder.Claim) { c.Instance = "b" })
	for name, test := range map[string]struct {
		holder, other holder.Claim
		want          bool
	}{
		"the same state-dir, started later":   {me, later, true},
		"the same state-dir, started earlier": {later, me, false},
		"another agent":                       {me, stranger, false},
		"another agent, whose PID was reused": {with(func(c *holder.Claim) { c.Process = me.Process[:last] + "/1" }), stranger, true},
		"another agent, which has ended":      {with(func(c *holder.Claim) { c.Process = space + "/999999999/1" }), stranger, true},
		"another PID namespace":               {with(func(c *holder.Claim) { c.Process = space + "0/999999999/1" }), stranger, false},
		"no process":                          {with(func(c *holder.Claim) { c.Process = "" }), stranger, false},
		"malformed":                           {with(func(c *holder.Claim) { c.Process = space + "/x" }), stranger, false},
	} {
		if got := test.holder.ReplacedBy(test.other); got != test.want {
			t.Errorf("%s: %v, expected %v", name, got, test.want)
		}
	}
}
