package vpptest_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

const (
	// stallTimeout is the reply timeout in tests with stalls. They do not wait for it: a
	// session ends as soon as the simulator hangs. On a busy machine a short one would end
	// sessions as well.
	stallTimeout = 10 * time.Second
	// stallPatience is how long a trial waits for the agent to converge.
	stallPatience = time.Minute
)

// stalls is a trial: the simulator stops answering at some request and continues later,
// while the configuration changes and the agent is restarted or killed perhaps. A second
// agent, with a simulator that always answers, gets the configuration afterwards: its
// simulator says what there has to be.
type stalls struct {
	t           *testing.T
	rnd         *rand.Rand
	sim, oracle vpptest.Target
	right       *vpptest.Harness
	options     []vpptest.Option
	story       []string

	wanted, built values // built: what the second agent has

	mu    sync.Mutex
	b     *vpptest.Harness
	state string // directory
	kill  string // where to copy the state directory when the simulator hangs; "": nowhere
	// killable: the copy is what a killed agent leaves. It is not if the simulator hung at a
	// request that no transaction waited for, and the agent sent others after the copy.
	killable bool
	at       hangs
	later    []hangs

	hung, resume, stopped chan struct{}
}

// newStalls begins a trial.
func newStalls(t *testing.T, seed uint64, options ...vpptest.Option) *stalls {
	s := &stalls{
		t: t, rnd: rand.New(rand.NewPCG(seed, 1)), wanted: values{}, built: values{}, state: t.TempDir(), options: options,
		sim: vpptest.Simulator(t, simOptions()), oracle: vpptest.Simulator(t, simOptions()),
		hung: make(chan struct{}), resume: make(chan struct{}), stopped: make(chan struct{}),
	}
	s.right = vpptest.Start(t, s.oracle, vpptest.Quiet())
	hosts(s.right)
	s.start()
	end := make(chan struct{})
	go s.watch(end)
	t.Cleanup(func() {
		close(end)
		<-s.stopped
		s.sim.Sim.Resume()
	})
	return s
}

func hosts(b *vpptest.Harness) {
	for n := range stallNames {
		b.SetHostInterface(fmt.Sprintf("eth%d", n), true)
	}
}

func (s *stalls) start() {
	all := []vpptest.Option{
		vpptest.ReplyTimeout(stallTimeout), vpptest.Reconnect(4 * time.Millisecond), vpptest.StateDir(s.state),
		vpptest.Labelled("stalls"), vpptest.Quiet(), vpptest.CloseTimeout(time.Millisecond),
	}
	b := vpptest.Start(s.t, s.sim, append(all, s.options...)...)
	hosts(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b = b
}

func (s *stalls) say(format string, args ...any) {
	s.story = append(s.story, fmt.Sprintf(format, args...))
}

// watch ends the session whenever the simulator hangs, as the reply timeout does.
func (s *stalls) watch(end <-chan struct{}) {
	defer close(s.stopped)
	for {
		select {
		case <-end:
			return
		case <-s.sim.Sim.Hanging():
		}
		if brief := s.stall(); !brief {
			select {
			case s.hung <- struct{}{}:
				<-s.resume
			case <-end:
			}
		}
		s.sim.Sim.Resume()
	}
}

// stall ends the session. It reports whether the simulator is to continue at once.
func (s *stalls) stall() (brief bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session := s.b.Mux.Session()
	sent := func() uint64 {
		if session.Conn == nil {
			return 0
		}
		return session.Conn.Stats().Requests
	}
	before := sent()
	if s.kill != "" {
		if err := os.CopyFS(s.kill, os.DirFS(s.state)); err != nil {
			s.t.Errorf("copy the state directory: %v", err)
		}
	}
	if session.Up {
		session.Conn.Stall(binapi.ErrReplyTimeout)
	} else {
		s.sim.Sim.Patient() // an attempt to connect, which changes nothing
	}
	if s.kill != "" {
		s.kill, s.killable = "", sent() == before
	}
	brief = s.at.brief
	s.hangAt(hangs{})
	if len(s.later) > 0 {
		s.hangAt(s.later[0])
		s.later = s.later[1:]
	}
	return brief
}

// hangs is where the simulator hangs next: at the first of the requests to come.
type hangs struct {
	at    map[string]int // number of the request by name; "" is any
	late  bool           // after the effect
	brief bool           // it continues by itself
}

// hangAt changes where the simulator hangs next. The lock is held.
func (s *stalls) hangAt(next hangs) {
	for name := range s.at.at {
		_ = s.sim.Sim.HangAt(name, 0, false) // is known
	}
	for name, at := range next.at {
		if err := s.sim.Sim.HangAt(name, at, next.late); err != nil {
			s.t.Error(err)
		}
	}
	s.at = next
}

// arm makes the simulator hang at one of the next requests, and again at later ones.
func (s *stalls) arm(next hangs, later ...hangs) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.later = later
	s.hangAt(next)
	s.say("stall at %+v, later %+v", next, later)
}

// disarm reports whether the simulator hangs. If it does not, it will no longer.
func (s *stalls) disarm() (hung bool) {
	select {
	case <-s.hung:
		return true
	default:
	}
	s.arm(hangs{})
	for s.sim.Sim.Hung() { // watch reports it, or ends it
		select {
		case <-s.hung:
			return true
		default:
			runtime.Gosched()
		}
	}
	return false
}

// change is what the configuration becomes at some keys.
func (s *stalls) change() values {
	out := values{}
	for range 1 + s.rnd.IntN(16) {
		v := stallValue{s.rnd.IntN(stallNames), s.rnd.IntN(2), s.rnd}
		vs := of(stallKinds[s.rnd.IntN(len(stallKinds))](v))
		for key := range vs {
			if s.rnd.IntN(3) == 0 {
				vs[key] = nil
			}
		}
		maps.Copy(out, vs)
	}
	return out
}

// follow is what becomes of a change afterwards.
func (s *stalls) follow(first values) (what string, next values) {
	switch s.rnd.IntN(4) {
	case 0:
		return "deleted", deleted(first)
	case 1:
		return "changed", s.change()
	case 2:
		return "changed again", s.again(first)
	}
	return "unchanged", nil
}

// again makes other values of the keys.
func (s *stalls) again(first values) values {
	out := values{}
	for range 200 {
		v := stallValue{s.rnd.IntN(stallNames), s.rnd.IntN(2), s.rnd}
		for key, m := range of(stallKinds[s.rnd.IntN(len(stallKinds))](v)) {
			if _, known := first[key]; known {
				out[key] = m
			}
		}
	}
	return out
}

func (s *stalls) commit(vs values) {
	for _, key := range slices.Sorted(maps.Keys(vs)) {
		if vs[key] == nil {
			delete(s.wanted, key)
			s.say("  delete %s", key)
		} else {
			s.wanted[key] = vs[key]
			s.say("  put %s %s", key, text(vs[key]))
		}
	}
	if len(vs) > 0 {
		_ = s.b.Commit(vs) // what became of it is seen in the simulator
	}
}

// somewhere chooses where to hang: at a change, or at any request.
func (s *stalls) somewhere(brief bool) hangs {
	h := hangs{at: map[string]int{}, late: s.rnd.IntN(2) == 0, brief: brief}
	for name := range s.sim.Sim.Counts() {
		h.at[name] = 0
	}
	for _, name := range slices.Sorted(maps.Keys(h.at)) {
		if h.at[name] = 1 + s.rnd.IntN(3); reads(name) || s.rnd.IntN(2) == 0 {
			delete(h.at, name)
		}
	}
	if len(h.at) == 0 || s.rnd.IntN(8) == 0 {
		h.at = map[string]int{"": 1 + s.rnd.IntN(60)}
	}
	return h
}

// restarts are what the agent may do after a stall.
const (
	runsOn = iota
	restarted
	killed
)

// round changes the configuration while the simulator stops answering. It reports what
// became of the change, "" if the simulator did not stop.
func (s *stalls) round() string {
	kill, end := "", s.rnd.IntN(4)
	if end == killed {
		kill = s.t.TempDir()
	}
	s.mu.Lock()
	s.kill = kill
	s.mu.Unlock()
	s.arm(s.somewhere(false))
	first := s.change()
	s.commit(first)
	if !s.disarm() {
		return ""
	}
	s.say("stalled")
	what, next := s.follow(first)
	early := s.rnd.IntN(2) == 0
	if early {
		s.commit(next)
	}
	for s.rnd.IntN(2) == 0 {
		s.later = append(s.later, s.somewhere(true))
	}
	if len(s.later) > 0 {
		s.arm(s.later[0], s.later[1:]...)
	}
	switch end {
	case restarted, killed:
		s.restart(kill)
		what += []string{"", ", restarted", ", killed"}[end]
	default:
		s.resume <- struct{}{}
	}
	if !early {
		s.commit(next)
	}
	return what
}

// restart replaces the agent by another one that has the state directory, or the copy of
// it in the directory kill, while the simulator hangs. It continues before the other agent
// is connected.
func (s *stalls) restart(kill string) {
	s.mu.Lock()
	killed := kill != "" && s.killable
	s.mu.Unlock()
	s.say("restart, killed: %t", killed)
	s.b.Stop()
	if killed {
		s.state = kill
	}
	s.resume <- struct{}{}
	s.start()
	s.resync()
}

// resync makes the configuration the only one that is desired.
func (s *stalls) resync() {
	txn := s.b.Scheduler.StartNBTransaction()
	for key, m := range s.wanted {
		txn.SetValue(key, m)
	}
	_, _ = txn.Commit(s.t.Context(), api.WithResync(api.FullResync, false)) // as in commit
}

// settle waits until the simulator has what the configuration says.
func (s *stalls) settle() {
	s.t.Helper()
	s.arm(hangs{brief: true}) // no more; one that has just begun ends by itself
	s.build()
	want := vpptest.Canonical(s.oracle.Sim.Dump())
	var diff string
	tick := time.NewTicker(5 * time.Millisecond) // the simulator does not report changes
	defer tick.Stop()
	for end := time.Now().Add(stallPatience); time.Now().Before(end); <-tick.C {
		s.b.Connected(0)
		if diff = vpptest.Difference(vpptest.Canonical(s.sim.Sim.Dump()), want); diff == "" && s.b.Mux.Session().Up {
			return
		}
	}
	s.t.Fatalf("after\n%s\nthe simulator differs from the configuration:\n%s", strings.Join(s.story, "\n"), diff)
}

// build gives the second agent what has changed.
func (s *stalls) build() {
	diff := values{}
	for key, m := range s.wanted {
		if s.built[key] != m {
			diff[key] = m
		}
	}
	for key := range s.built {
		if s.wanted[key] == nil {
			diff[key] = nil
		}
	}
	s.built = maps.Clone(s.wanted)
	_ = s.right.Commit(diff) // some values wait for others
}

// TestStallAtEachMessage stops at each of the first messages of a creation, before and
// after its effect. The values are removed, or changed, while VPP does not answer.
func TestStallAtEachMessage(t *testing.T) {
	t.Parallel()
	const messages = 24
	created := of(loop("lo0", "10.0.0.1/24"), vxlan("vx0", "192.0.2.1", "192.0.2.10", 100), memif("memif0", 1, "/run/m0.sock"),
		subif("sub0", "lo0", 100), gre("gre0", "198.51.100.1", "198.51.100.10", interfaces.GreLink_L3),
		bridge("bd0", "vx0", "memif0"), &l3.Route{DstNetwork: "172.16.0.0/24", NextHopAddr: "10.0.0.9", OutgoingInterface: "lo0"})
	changed := of(loop("lo0", "10.0.1.1/24"), vxlan("vx0", "192.0.2.1", "192.0.2.10", 101), memif("memif0", 2, "/run/m0.sock"),
		subif("sub0", "lo0", 101), gre("gre0", "198.51.100.1", "198.51.100.11", interfaces.GreLink_L3))
	for name, next := range map[string]values{"removed": deleted(created), "changed": changed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStalls(t, 1)
			for at := range 2 * messages {
				s.story = s.story[:0]
				s.arm(hangs{at: map[string]int{"": at/2 + 1}, late: at%2 == 1})
				s.commit(created)
				hung := s.disarm()
				s.commit(next)
				if hung {
					s.resume <- struct{}{}
				}
				s.settle()
				s.commit(deleted(created))
				s.settle()
			}
		})
	}
}
