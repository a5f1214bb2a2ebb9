package control_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/control"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
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
	c     *control.Control
	stop  func()

	journal *ownership.Memory // nil: the scheduler remembers nothing
	epoch   uint64
	settled bool // nothing changed since the last check

	rng   *rand.Rand
	rate  float64
	hangs bool // some of what fails hangs before it does
	steps []string

	taken    map[string]int // steps by name
	diverged bool
}

func start(t *rapid.T) *simulation {
	s := &simulation{
		T: t, w: newWorld(), clock: &manualClock{now: time.Unix(1e9, 0)},
		o: &oracle{
			wanted: map[string]*model.Item{}, notified: map[string]*model.Item{}, kept: map[string]*model.Item{},
		},
		reach: &reach{map[string]map[string]bool{}},
		taken: map[string]int{},
		rng:   rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)),
	}
	s.w.fail = func(string, string) string {
		mode := ""
		switch x := s.rng.Float64(); {
		case x < s.rate/2:
			mode = "before"
		case x < s.rate:
			mode = "after"
		}
		if s.hangs && s.rate > 0 && s.rng.Float64() < s.rate/3 {
			mode = "hang " + mode
		}
		return mode
	}
	s.w.panics = func() bool { return s.rng.IntN(4) == 0 }
	s.w.cyclic = s.reach.cyclic
	s.w.concurrency = rapid.SampledFrom([]int{0, 0, 4}).Draw(t, "concurrency")
	if rapid.Bool().Draw(t, "journal") {
		s.journal = ownership.NewMemory()
		s.w.addForeign()
	}
	s.boot()
	return s
}

func (s *simulation) boot() {
	opts := control.Options{
		CallbackTimeout: hanging, QuarantineAfter: 2, Clock: s.clock, Rand: s.rng,
		Record: true, History: record.Options{MaxEntries: 1000},
	}
	if s.journal != nil {
		opts.Journal = s.journal
	}
	s.c = control.New(opts)
	if err := s.c.RegisterKVDescriptor(s.w.descriptors()...); err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.c.Run(ctx) }()
	s.stop = func() { cancel(); <-done }
	s.epoch++
	if !s.o.down {
		s.c.SouthboundUp("s", s.epoch)
	}
}

// session lets the southbound of the values below "c/" go away, with or
// without its state, or come back.
func (s *simulation) session() {
	if s.o.down {
		s.epoch++
		s.o.down = false
		s.log("session up")
		s.w.revive()
		s.w.cyclic = func(string) bool { return true } // found values may be stranded
		s.c.SouthboundUp("s", s.epoch)
		s.barrier()
		for range s.c.Suspects() { // their trials
			s.barrier()
		}
		s.converge()
		s.w.cyclic = s.reach.cyclic
		return
	}
	s.converge()
	s.o.down = true
	lost := rapid.Bool().Draw(s.T, "lost")
	s.log("session down, state lost: %v", lost)
	if lost {
		s.w.fault("session down, state lost")
		s.w.crash()
	} else {
		s.w.fault("session down")
		s.w.cyclic = func(string) bool { return true } // nobody looks after what is left there
	}
	s.c.SouthboundDown("s", errors.New("gone"))
	s.barrier()
	if !lost {
		s.session()
	}
}

// restart is a crash of the scheduler between two transactions.
func (s *simulation) restart() {
	s.log("restart")
	s.w.fault("scheduler restarted")
	s.release() // what hangs comes to its end with the process
	s.stop()
	s.clock.drop()
	for key, it := range s.o.wanted {
		if !it.Invalid {
			continue
		}
		// What stayed in force survives as far as it is in the southbound.
		delete(s.o.kept, key)
		if found, _ := s.w.retrieve(key); len(found) > 0 && found[0].Key == key && !(s.o.down && inSession(key)) {
			s.o.kept[key] = found[0].Value
		}
	}
	before := s.w.snapshot()
	s.boot()
	s.barrier()
	mark := len(s.w.ops)
	settled := s.settled
	s.resync(api.FullResync)
	if settled && s.rate == 0 && len(s.w.ops) > mark {
		s.fatal("a restart touches what was right: %q\n%q", s.w.ops[mark:], slices.Sorted(maps.Keys(before)))
	}
}

// drawItem makes a value whose relations stay within a small world.
func drawItem(t *rapid.T, key string) *model.Item {
	it := &model.Item{
		Value:    int64(rapid.IntRange(0, 3).Draw(t, "value")),
		Recreate: rapid.IntRange(0, 5).Draw(t, "recreate") == 0,
		Invalid:  rapid.IntRange(0, 9).Draw(t, "invalid") == 0,
		Note:     rapid.SampledFrom([]string{"", "", "x"}).Draw(t, "note"),
	}
	drawRelations(t, it)
	for i := range rapid.IntRange(0, 2).Draw(t, "derived") {
		d := &model.Derived{Key: fmt.Sprintf("d/%s/%d", key, i), Item: &model.Item{
			Value: int64(rapid.IntRange(0, 2).Draw(t, "dvalue")), Recreate: rapid.IntRange(0, 5).Draw(t, "drecreate") == 0,
		}}
		drawRelations(t, d.Item)
		it.Derived = append(it.Derived, d)
	}
	if rapid.IntRange(0, 3).Draw(t, "property") == 0 {
		it.Derived = append(it.Derived, &model.Derived{Key: "p/" + key, Item: &model.Item{}})
	}
	return it
}

var baseKeys = []string{"a/0", "a/1", "a/2", "b/0", "b/1", "b/2", "c/0", "c/1", "c/2"}

func drawRelations(t *rapid.T, it *model.Item) {
	targets := append([]string{"n/0", "n/1", "p/a/0", "p/b/1", "d/a/0/0", "d/b/0/1"}, baseKeys...)
	for range rapid.SampledFrom([]int{0, 0, 1, 1, 2}).Draw(t, "deps") {
		it.Deps = append(it.Deps, rapid.SampledFrom(targets).Draw(t, "dep"))
	}
	slices.Sort(it.Deps)
	it.Deps = slices.Compact(it.Deps)
	if rapid.IntRange(0, 5).Draw(t, "any") == 0 {
		it.AnyOf = []string{rapid.SampledFrom([]string{"a/", "n/", "d/a/", "d/b/0/"}).Draw(t, "prefix")}
	}
}

func (s *simulation) log(format string, args ...any) {
	s.steps = append(s.steps, fmt.Sprintf(format, args...))
}

func (s *simulation) commit(values map[string]*model.Item, opts ...api.TxnOption) error {
	txn := s.c.StartNBTransaction()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if it := values[key]; it != nil {
			s.reach.add(key, it)
			txn.SetValue(key, it)
			s.log("  set %s {%v}", key, it)
		} else {
			txn.SetValue(key, nil)
			s.log("  del %s", key)
		}
	}
	mark, faults := s.w.mark(), s.w.injected()
	settled := s.settled
	s.settled = false
	var seq uint64
	var err error
	s.await(func() { seq, err = txn.Commit(context.Background(), opts...) })
	did := s.w.since(mark)
	s.log("  ops %q err %v", did, err)
	if err == nil && s.w.injected() == faults && (settled || !s.hangs) { // what hung may end now
		s.faultless(seq, values, did, !settled || api.ApplyTxnOptions(opts).Resync != api.NotResync)
	}
	return err
}

// want follows what the northbound asks for in the oracle.
func (s *simulation) want(values map[string]*model.Item) {
	for key, it := range values {
		old := s.o.wanted[key]
		switch {
		case it == nil:
			delete(s.o.wanted, key)
			delete(s.o.kept, key)
			continue
		case !it.Invalid:
			delete(s.o.kept, key)
		case old != nil && !old.Invalid:
			s.o.kept[key] = old
		}
		s.o.wanted[key] = it
	}
}

func (s *simulation) change() {
	values := s.drawChange()
	if rapid.IntRange(0, 3).Draw(s.T, "revert") == 0 {
		s.revert(values)
		return
	}
	s.log("change")
	err := s.commit(values, append(s.deadline(), api.WithRetryMaxCount(0))...)
	var txnErr *api.TransactionError
	if errors.As(err, &txnErr) && txnErr.GetTxnInitError() != nil { // too late
		return
	}
	s.want(values)
}

// deadline is one that passes while the transaction is executed, or none. The
// clock moves when it is looked at.
func (s *simulation) deadline() []api.TxnOption {
	if n := rapid.IntRange(-60, 40).Draw(s.T, "deadline"); n > 0 {
		return []api.TxnOption{api.WithTimeout(time.Duration(n) * time.Microsecond)}
	}
	return nil
}

func (s *simulation) revert(values map[string]*model.Item) {
	s.converge()
	before := s.w.snapshot()
	s.log("change with revert")
	rate := s.rate
	failures := 0
	fail := s.w.fail
	s.w.fail = func(op, key string) string { // fails at most once: the way back must work
		if failures == 0 && s.rng.Float64() < 0.2 {
			failures++
			return rapidMode(s.rng)
		}
		return ""
	}
	deadline := s.deadline()
	if deadline != nil {
		s.w.fail = func(string, string) string { return "" }
	}
	err := s.commit(values, append(deadline, api.WithRevert(), api.WithRetryMaxCount(0))...)
	s.w.fail, s.rate = fail, rate
	var txnErr *api.TransactionError
	refused := errors.As(err, &txnErr) && (txnErr.Reverted() || txnErr.GetTxnInitError() != nil) // invalid values, too late
	if failures == 0 && !refused {
		s.want(values)
		return
	}
	if err == nil {
		s.fatal("a failure was not reported")
	}
	if after := s.w.snapshot(); !maps.Equal(before, after) {
		s.fatal("revert is not exact:\nbefore %v\nafter  %v", before, after)
	}
}

func rapidMode(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return "before"
	}
	return "after"
}

// snapshot is what exists, without what makes no difference.
func (w *world) snapshot() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]string{}
	for key, it := range w.exists {
		c := proto.Clone(it).(*model.Item)
		c.Note, c.Derived = "", nil
		b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(c)
		out[key] = string(b)
	}
	return out
}

func (s *simulation) notify() {
	key := rapid.SampledFrom([]string{"n/0", "n/1"}).Draw(s.T, "notified")
	it := &model.Item{Value: 7}
	gone := rapid.Bool().Draw(s.T, "gone")
	s.w.mu.Lock()
	if gone {
		it = nil
		delete(s.w.notified, key)
		delete(s.o.notified, key)
	} else {
		s.w.notified[key], s.o.notified[key] = it, it
	}
	s.w.mu.Unlock()
	s.settled = false
	mark := len(s.w.ops)
	kv := api.KVWithMetadata{Key: key}
	if it != nil {
		kv.Value = it
	}
	if err := s.c.PushSBNotification(kv); err != nil {
		s.Fatal(err)
	}
	s.barrier()
	s.log("notify %s %v\n  ops %q", key, it, s.w.ops[mark:])
}

// foreign is a hand that takes something away behind the scheduler's back.
func (s *simulation) foreign() {
	s.w.mu.Lock()
	keys := slices.Sorted(maps.Keys(s.w.exists))
	s.w.mu.Unlock()
	if len(keys) > 0 {
		key := rapid.SampledFrom(keys).Draw(s.T, "victim")
		s.w.mu.Lock()
		for k := range s.w.exists {
			if k == key || strings.HasPrefix(k, "d/"+key+"/") {
				delete(s.w.exists, k)
				delete(s.w.meta, k)
				delete(s.w.foreign, k)
			}
		}
		s.log("foreign delete %s", key)
		s.w.faults["value deleted by a foreign hand"]++
		s.w.mu.Unlock()
	}
	s.w.cyclic = func(string) bool { return true } // dependants are stranded for now
	if rapid.Bool().Draw(s.T, "drift") {
		s.repairDrift()
	} else {
		s.resync(api.DownstreamResync)
	}
	s.converge()
	s.w.cyclic = s.reach.cyclic
}

func (s *simulation) resync(typ api.ResyncType) {
	s.log("%v", typ)
	values := map[string]*model.Item{}
	if typ != api.DownstreamResync {
		maps.Copy(values, s.o.wanted)
	}
	_ = s.commit(values, api.WithResync(typ, false), api.WithRetryMaxCount(0))
}

// converge ends the faults and lets everything that failed be retried.
func (s *simulation) converge() {
	rate := s.rate
	s.rate = 0
	mark := len(s.w.ops)
	s.release()
	for range 100 {
		if s.clock.fire() == 0 {
			break
		}
		s.barrier()
	}
	if s.w.panicked { // is not retried
		s.w.panicked = false
		s.resync(api.DownstreamResync)
	}
	s.rate = rate
	s.log("to check after %q", s.w.ops[mark:])
	s.check()
	s.settled = true
}

func (s *simulation) check() {
	if len(s.w.problems) > 0 {
		s.fatal("southbound:\n%s", strings.Join(s.w.problems, "\n"))
	}
	want, pending := s.o.expected()
	wantSB := map[string]string{}
	for key, it := range want {
		if !strings.HasPrefix(key, "p/") {
			c := proto.Clone(it).(*model.Item)
			c.Note, c.Derived = "", nil
			b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(c)
			wantSB[key] = string(b)
		}
	}
	for key := range s.w.foreign {
		wantSB[key] = s.w.snapshot()[key]
	}
	if got := s.w.snapshot(); !maps.Equal(got, wantSB) {
		s.fatal("southbound has %q\nexpected %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(wantSB)))
	}
	for _, status := range s.c.ListValueStatus("") {
		if status.GetValue().GetState() == kvscheduler.ValueState_NONEXISTENT {
			s.fatal("%s is listed, and does not exist", status.GetValue().GetKey())
		}
	}
	for _, key := range pending {
		if it := s.o.wanted[key]; it != nil && it.Invalid {
			continue
		}
		if got := s.c.GetValueStatus(key).GetValue().GetState(); got != kvscheduler.ValueState_PENDING {
			s.fatal("%s is %v, expected PENDING", key, got)
		}
	}
	for key := range want {
		state := s.c.GetValueStatus(key).GetValue().GetState()
		it := s.o.wanted[key]
		if expected := kvscheduler.ValueState_CONFIGURED; state != expected && (it == nil || !it.Invalid) {
			s.fatal("%s is %v, expected %v", key, state, expected)
		}
	}
	s.noDrift()
	s.onRecord()
}

func (s *simulation) fatal(format string, args ...any) {
	s.log("suspects %v", s.c.Suspects())
	s.T.Helper()
	s.diverged = true
	for _, txn := range s.c.GetTransactionHistory(time.Time{}, time.Time{}) {
		s.log("#%d %v", txn.SeqNum, txn.TxnType)
		for _, op := range txn.Planned {
			s.log("   planned  %v %s noop=%v %v -> %v", op.Operation, op.Key, op.NOOP, op.PrevState, op.NewState)
		}
		for _, op := range txn.Executed {
			s.log("   executed %v %s noop=%v %v -> %v %s", op.Operation, op.Key, op.NOOP, op.PrevState, op.NewState, op.NewErrMsg)
		}
	}
	s.Fatalf("%s\n\n%s", fmt.Sprintf(format, args...), strings.Join(s.steps, "\n"))
}

// shards are run beside each other, with the cases divided among them.
const shards = 4

// TestRandom runs random changes, notifications, resyncs and faults against
// the oracle.
func TestRandom(t *testing.T) {
	t.Parallel()
	counts := newTally()
	t.Run("cases", func(t *testing.T) {
		for i := range shards {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) { randomCase(t, counts) })
			})
		}
	})
	counts.report(t)
}

func randomCase(t *rapid.T, counts *tally) {
	s := start(t)
	defer func() { s.stop(); counts.done(s) }()
	s.rate = rapid.SampledFrom([]float64{0, 0, 0.1, 0.4}).Draw(t, "rate")
	s.hangs = rapid.Bool().Draw(t, "hangs")
	for range rapid.IntRange(1, 12).Draw(t, "steps") {
		step := rapid.SampledFrom([]string{
			"change", "change", "change", "notify", "converge", "resync", "foreign", "session", "restart", "crash", "release",
			"plan", "verify", "edit", "unreliable", "dump", "kill",
		}).Draw(t, "step")
		s.taken[step]++
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
		case "session":
			s.session()
		case "restart":
			s.restart()
		case "crash":
			s.crash()
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
