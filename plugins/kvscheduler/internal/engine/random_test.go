package engine_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// run is one random run: a scheduler, a southbound and the oracle.
type simulation struct {
	*rapid.T
	w     *world
	o     *oracle
	reach *reach
	clock *manualClock
	c     *engine.Engine
	stop  func()

	journal *kvstest.Journal // nil: the scheduler remembers nothing
	epoch   uint64
	settled bool // nothing changed since the last check

	policies   bool // and objects of others take part
	identities bool // values have identities

	problems engine.Problems // as reported last
	policy   repairPolicy    // for lost values

	rng   *rand.Rand
	rate  float64
	hangs bool // some of what fails hangs before it does
	jumps bool // the clock is set while operations run
	steps []step

	taken    map[string]int // steps by name
	diverged bool
}

func start(t *rapid.T, policies bool) *simulation {
	s := &simulation{
		T: t, w: newWorld(), clock: &manualClock{now: time.Unix(1e9, 0)},
		o: &oracle{
			wanted: map[string]*model.Item{}, notified: map[string]*model.Item{}, kept: map[string]*model.Item{},
		},
		reach: &reach{edges: map[string]map[string]bool{}},
		taken: map[string]int{},
		rng:   rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)),
	}
	s.w.fail = func(string, string) string {
		mode := ""
		if s.jumps && s.rng.IntN(4) == 0 {
			s.w.faults["clock set during an operation"]++
			s.clock.jump(time.Duration(s.rng.IntN(49)-24) * time.Hour)
		}
		switch x := s.rng.Float64(); {
		case x < s.rate/2:
			mode = "before"
		case x < s.rate:
			mode = "after"
		}
		if s.hangs && s.rate > 0 && s.rng.Float64() < s.rate/3 {
			if s.w.loose && s.rng.IntN(2) == 0 {
				mode = "early " + mode
			}
			mode = "hang " + mode
		}
		return mode
	}
	s.w.heeds = func() string { return []string{"", "before", "after"}[s.rng.IntN(3)] }
	s.w.panics = func() bool { return s.rng.IntN(4) == 0 }
	s.w.cyclic = s.reach.cyclic
	s.w.concurrency = rapid.SampledFrom([]int{0, 4}).Draw(t, "concurrency")
	if s.w.concurrency > 1 {
		s.w.batches = rapid.IntRange(0, createBatches|updateBatches|deleteBatches).Draw(t, "batches")
	}
	s.w.short = func() bool { return s.rng.Float64() < s.rate/3 }
	if rapid.Bool().Draw(t, "journal") {
		s.journal = kvstest.NewJournal()
	}
	// Another agent's objects may have the mark of this one.
	s.w.mum = s.journal != nil && rapid.Bool().Draw(t, "no marks")
	if s.journal != nil || rapid.Bool().Draw(t, "foreign") {
		s.w.addForeign()
	}
	s.policies = policies
	s.w.rules, s.o.w = drawRules(t, policies), s.w
	s.log("policies %v", s.w.rules)
	s.boot(false)
	if len(s.w.foreign) > 0 {
		s.resync(api.FullResync) // finds what others made
	}
	return s
}

// log adds a line to the story of the case. It is put into words only if the case
// fails: args must not change.
func (s *simulation) log(format string, args ...any) {
	s.steps = append(s.steps, step{format, args})
}

type step struct {
	format string
	args   []any
}

func (s step) String() string { return fmt.Sprintf(s.format, s.args...) }

// snapshot is what exists, without what makes no difference.
func (w *world) snapshot() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]string{}
	for key, it := range w.exists {
		out[key] = clean(it)
	}
	return out
}

// converge ends the faults and lets everything that failed be retried.
func (s *simulation) converge() {
	rate := s.rate
	s.rate = 0
	mark := len(s.w.ops)
	s.release()
	for range 100 {
		for range s.c.Suspects() { // their trials, once they were read
			s.barrier()
		}
		if s.clock.fireOnce() == 0 {
			break
		}
		s.settled = false
		s.barrier()
	}
	if s.w.panicked { // is not retried
		s.w.panicked = false
		s.resync(api.DownstreamResync)
	}
	s.rate = rate
	if s.settled { // and checked
		return
	}
	s.log("to check after %q", s.w.ops[mark:])
	s.check()
	s.settled = true
}

func (s *simulation) check() {
	if len(s.w.problems) > 0 {
		s.fatal("southbound:\n%s", strings.Join(s.w.problems, "\n"))
	}
	s.believe()
	maps.DeleteFunc(s.w.foreign, func(key string, _ bool) bool { return s.w.exists[key] == nil })
	e := s.o.expected(s.failed)
	wantSB := map[string]string{}
	for key, it := range e.exists {
		if !strings.HasPrefix(key, "p/") {
			wantSB[key] = clean(it)
		}
	}
	got := s.w.snapshot()
	for key := range got {
		if s.w.others(key) && s.w.ruleOf(key) == registry.Ignore {
			wantSB[key] = got[key]
		}
	}
	if !maps.Equal(got, wantSB) {
		s.fatal("southbound has %q\nexpected %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(wantSB)))
	}
	s.barrier() // problems are reported between two transactions
	statuses := s.c.ListValueStatus("")
	for _, status := range statuses {
		if status.GetValue().GetState() == kvscheduler.ValueState_NONEXISTENT {
			s.fatal("%s is listed, and does not exist", status.GetValue().GetKey())
		}
	}
	for _, key := range e.pending {
		s.state(key, kvscheduler.ValueState_PENDING)
	}
	for key := range e.exists {
		switch {
		case e.left[key]:
			s.state(key, kvscheduler.ValueState_FAILED)
		case !e.fixed[key] || s.w.rules.of(key) == registry.Adopt && s.o.inForce(key) != nil:
			s.state(key, kvscheduler.ValueState_CONFIGURED)
		}
	}
	s.checkPolicies(statuses)
	s.checkProblems(statuses)
	s.noDrift()
	s.onRecord()
}

// state checks the state of a value. If the last wish for it is invalid, that is
// its state, unless what is in force failed.
func (s *simulation) state(key string, want kvscheduler.ValueState) {
	if it := s.o.wanted[key]; it != nil && it.Invalid && want != kvscheduler.ValueState_FAILED {
		want = kvscheduler.ValueState_INVALID
	}
	if got := s.c.GetValueStatus(key).GetValue(); got.GetState() != want {
		s.fatal("%s is %v %s, expected %v", key, got.GetState(), got.GetError(), want)
	}
}

func (s *simulation) fatal(format string, args ...any) {
	s.log("suspects %v", s.c.Suspects())
	s.T.Helper()
	s.diverged = true
	for _, txn := range s.c.GetTransactionHistory(time.Time{}, time.Time{}) {
		s.log("#%d %v %s", txn.SeqNum, txn.TxnType, txn.Description)
		for _, op := range txn.Planned {
			s.log("   planned  %v %s noop=%v %v -> %v", op.Operation, op.Key, op.NOOP, op.PrevState, op.NewState)
		}
		for _, op := range txn.Executed {
			s.log("   executed %v %s noop=%v %v -> %v %s", op.Operation, op.Key, op.NOOP, op.PrevState, op.NewState, op.NewErrMsg)
		}
	}
	var story strings.Builder
	for _, line := range s.steps {
		fmt.Fprintln(&story, line)
	}
	s.Fatalf("%s\n\n%s", fmt.Sprintf(format, args...), &story)
}

// shards is the number of parts of the cases that run in parallel. A given seed
// applies to all parts, which would run the same cases: then there is one part.
func shards() int {
	if flag.Lookup("rapid.seed").Value.String() != "0" {
		return 1
	}
	return 4
}

// TestRandom runs random changes, notifications, resyncs and faults against
// the oracle.
func TestRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
	t.Parallel()
	counts := newTally(*policies)
	t.Run("cases", func(t *testing.T) {
		for i := range shards() {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) { randomCase(t, counts) })
			})
		}
	})
	counts.report(t)
}

// TestRandomPolicies is TestRandom with ownership policies, in cases that are always
// the same.
func TestRandomPolicies(t *testing.T) { // not parallel: the seed is one for all
	seed := flag.Lookup("rapid.seed")
	given := seed.Value.String()
	if err := seed.Value.Set("1"); err != nil {
		t.Fatal(err)
	}
	counts := newTally(true)
	rapid.Check(t, func(t *rapid.T) { randomCase(t, counts) })
	if err := seed.Value.Set(given); err != nil {
		t.Fatal(err)
	}
	counts.report(t)
}

func randomCase(t *rapid.T, counts *tally) {
	s := start(t, counts.policies)
	defer func() { s.stop(); counts.done(s) }()
	s.rate = rapid.SampledFrom([]float64{0, 0, 0.1, 0.4}).Draw(t, "rate")
	s.hangs = rapid.Bool().Draw(t, "hangs")
	s.jumps = rapid.IntRange(0, 3).Draw(t, "jumps") == 0
	s.identities = rapid.Bool().Draw(t, "identities")
	steps := []string{
		"change", "change", "change", "notify", "converge", "resync", "foreign", "session", "restart", "crash", "release",
		"plan", "verify", "edit", "unreliable", "dump", "kill", "jump", "storm", "lost",
	}
	most := 12
	if rapid.IntRange(0, 2).Draw(t, "stormy") == 0 {
		steps, most = []string{"change", "storm"}, 4
	}
	if counts.policies {
		steps = append(steps, "stranger", "find", "storm")
	}
	for range rapid.IntRange(1, most).Draw(t, "steps") {
		step := rapid.SampledFrom(steps).Draw(t, "step")
		s.taken[step]++
		s.believe()
		switch step {
		case "change":
			s.change()
		case "notify":
			s.notify()
		case "converge":
			s.converge()
		case "resync":
			s.resync(rapid.SampledFrom([]api.ResyncType{api.FullResync, api.UpstreamResync, api.DownstreamResync}).Draw(t, "resync"))
		case "foreign":
			s.converge()
			s.foreign()
		case "release":
			s.release()
		case "kill":
			s.kill()
		case "jump":
			s.jump()
		case "lost":
			s.lost()
		case "stranger":
			s.stranger()
		case "find":
			s.find()
		case "session":
			s.session()
		case "restart":
			s.restart()
		case "crash":
			s.crash()
		case "storm":
			s.storm()
		case "plan":
			s.plan()
		case "verify":
			s.verified()
		case "edit":
			s.edit()
		case "unreliable":
			s.unreliable()
		case "dump":
			s.badDump()
		}
	}
	s.converge()
	s.rate = 0
	mark := len(s.w.ops)
	s.resync(api.DownstreamResync)
	if extra := s.w.ops[mark:]; len(extra) > 0 {
		s.fatal("a second resync does something: %q", extra)
	}
	s.check()
}
