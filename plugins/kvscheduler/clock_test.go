package kvscheduler_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// jumps are ways to set the time of day wrong.
func jumps() []time.Duration {
	const year = 365 * 24 * time.Hour
	return []time.Duration{5 * time.Hour, -5 * time.Hour, year, -year}
}

// ticking is a scheduler with a clock that can be set, for values of tap/.
func ticking(t *testing.T) (*kvstest.Clock, *kvstest.MockSB, api.KVScheduler) {
	t.Helper()
	clock, sb := kvstest.NewClock(), kvstest.NewMockSB()
	s, _ := kvstest.NewScheduler(t, clock)
	if err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/")); err != nil {
		t.Fatal(err)
	}
	return clock, sb, s
}

// A retry comes when its time is over, however the clock is set meanwhile.
func TestRetryWhileTheClockJumps(t *testing.T) {
	t.Parallel()
	for _, jump := range jumps() {
		clock, sb, s := ticking(t)
		sb.Inject(kvstest.Fault{Key: "tap/1", Op: pb.TxnOperation_CREATE, Times: 1})
		txn := s.StartNBTransaction().SetValue("tap/1", &model.Item{Value: 1})
		if _, err := txn.Commit(t.Context(), api.WithRetryDefault()); err == nil {
			t.Fatal("no failure")
		}
		clock.Jump(jump)
		if ran := clock.Advance(api.DefaultRetryPeriod-1, s.TransactionBarrier); ran != 0 {
			t.Errorf("%v: %d timers ran before their time", jump, ran)
		}
		if ran := clock.Advance(1, s.TransactionBarrier); ran != 1 || sb.Get("tap/1") == nil {
			t.Errorf("%v: %d timers ran, the value is %v", jump, ran, sb.Get("tap/1"))
		}
	}
}

// armed is a clock that reports when a timer was set.
type armed struct {
	*kvstest.Clock
	timers chan time.Duration
}

func (a armed) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	stop = a.Clock.AfterFunc(d, f)
	a.timers <- d
	return stop
}

// Drift is looked for once in every interval, however the clock is set
// meanwhile.
func TestDriftWhileTheClockJumps(t *testing.T) {
	t.Parallel()
	clock := armed{kvstest.NewClock(), make(chan time.Duration, 10)}
	conf := kvscheduler.DefaultConfig()
	conf.DriftDetectionInterval = time.Minute
	s := kvscheduler.NewPlugin(kvscheduler.UseConf(conf), kvscheduler.UseClock(clock), kvscheduler.UseOutput(&bytes.Buffer{}))
	agenttest.Start(t, s)
	if d := <-clock.timers; d != time.Minute {
		t.Fatalf("the first detection is after %v", d)
	}
	for i, jump := range slices.Concat(jumps(), jumps()) {
		clock.Jump(jump)
		before := s.LastDrift()
		if ran := clock.Advance(time.Minute-1, nil); ran != 0 {
			t.Errorf("jump %d, %v: %d timers ran before their time", i, jump, ran)
		}
		if ran := clock.Advance(1, nil); ran != 1 {
			t.Fatalf("jump %d, %v: %d timers ran", i, jump, ran)
		}
		<-clock.timers // it ended
		if report := s.LastDrift(); report == before || !report.Stop.Equal(clock.Now()) {
			t.Errorf("jump %d, %v: no new report: %+v", i, jump, report)
		}
	}
}

// After the clock was set wrong and right again, the present is the present,
// the past is computed with the clock as it is now, and every transaction has the
// times that it was recorded with.
func TestThePastWhileTheClockJumps(t *testing.T) {
	t.Parallel()
	for _, jump := range jumps() {
		clock, _, s := ticking(t)
		get := client(t, s, clock)
		// expect asks for the values at a moment; zero: at present.
		expect := func(what string, at time.Time, want int) {
			t.Helper()
			url := "/scheduler/graph-snapshot"
			if !at.IsZero() {
				url += fmt.Sprintf("?time=%d", at.UnixNano())
			}
			var nodes []snapshotNode
			get(url, &nodes)
			if len(nodes) != want {
				t.Errorf("%v: %s: %d values, expected %d", jump, what, len(nodes), want)
			}
		}
		create := func(i int) time.Time {
			t.Helper()
			clock.Advance(time.Minute, nil)
			if err := commit(t, s, map[string]*model.Item{fmt.Sprint("tap/", i): {Value: int64(i)}}); err != nil {
				t.Fatal(err)
			}
			expect(fmt.Sprint("after ", i), time.Time{}, i)
			return clock.Now()
		}
		first := create(1)
		clock.Jump(jump)
		expect("after the jump", time.Time{}, 1)
		second := create(2)
		clock.Jump(-jump)
		expect("after the jump back", time.Time{}, 2)
		expect("after the jump back, by its time", clock.Now(), 2)
		third := create(3)
		expect("now, by its time", third, 3)
		if jump > 0 {
			expect("after the first", first, 1)
		}
		for i, want := range []time.Time{first, second, third} {
			if txn := s.GetRecordedTransaction(uint64(i)); !txn.Start.Equal(want) || !txn.Stop.Equal(want) {
				t.Errorf("%v: transaction %d from %v to %v, expected %v", jump, i, txn.Start, txn.Stop, want)
			}
		}
		var txns []api.RecordedTxn
		get(fmt.Sprintf("/scheduler/txn-history?since=%d&until=%d", second.UnixNano(), second.UnixNano()), &txns)
		if len(txns) != 1 || txns[0].SeqNum != 1 {
			t.Errorf("%v: by its time: %d transactions", jump, len(txns))
		}
	}
}
