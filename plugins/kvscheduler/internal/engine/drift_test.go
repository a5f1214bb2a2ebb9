package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// repairDrift finds what a foreign hand did, and has just that repaired.
func (s *simulation) repairDrift() {
	report, err := s.c.DetectDrift(context.Background())
	if err != nil {
		s.fatal("%v", err)
	}
	s.log("repair of %s", drifted(report))
	s.await(func() {
		_, _ = s.c.RepairDrift(context.Background(), report.Drifts, api.WithRetryMaxCount(0)) // faults are retried
	})
}

// noDrift: what is as it should be is not reported.
func (s *simulation) noDrift() {
	report, err := s.c.DetectDrift(context.Background())
	if err != nil || len(report.Drifts) > 0 {
		s.fatal("drift: %s %v", drifted(report), err)
	}
}

// drifted is "KIND KEY FIELD:BELIEVED:FOUND, ...".
func drifted(r *api.DriftReport) string {
	if r == nil {
		return "<none>"
	}
	var list []string
	for _, d := range r.Drifts {
		text := string(d.Kind) + " " + d.Key
		for _, f := range d.Fields {
			text += fmt.Sprintf(" %s:%s:%s", f.Field, f.Believed, f.Found)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

func TestDrift(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	s, _ := kvstest.NewScheduler(t, kvstest.NewClock())
	if err := s.RegisterKVDescriptor(
		sb.Descriptor("tap", "tap/", kvstest.WithMetadata(), kvstest.WithOrigin(api.FromNB)),
		sb.Descriptor("route", "route/", kvstest.WithOrigin(api.FromNB)), sb.Descriptor("piece", "piece/", kvstest.Derived()),
		sb.Descriptor("link", "link/", kvstest.Obtained()), sb.Descriptor("blind", "blind/", kvstest.WithoutRetrieve()),
		sb.Descriptor("remote", "remote/", kvstest.WithSouthbound("far")),
	); err != nil {
		t.Fatal(err)
	}
	if s.LastDrift() != nil {
		t.Error("a report without a detection")
	}
	txn := s.StartNBTransaction().
		SetValue("tap/1", &model.Item{Value: 1}).SetValue("tap/2", &model.Item{Value: 2}).SetValue("tap/3", &model.Item{Value: 3}).
		SetValue("tap/4", &model.Item{Derived: []*model.Derived{{Key: "piece/a"}, {Key: "piece/b", Item: &model.Item{Deps: []string{"no"}}}}}).
		SetValue("route/1", &model.Item{Deps: []string{"tap/1"}}).SetValue("route/2", &model.Item{Deps: []string{"tap/9"}}).
		SetValue("blind/1", &model.Item{})
	if _, err := txn.Commit(t.Context(), api.WithResync(api.FullResync, false)); err != nil {
		t.Fatal(err)
	}
	detect := func(want string) *api.DriftReport {
		t.Helper()
		report, err := s.DetectDrift(t.Context())
		if err != nil || drifted(report) != want {
			t.Fatalf("%v\ngot  %s\nwant %s", err, drifted(report), want)
		}
		return report
	}
	report := detect("")
	if want := []string{"blind", "remote"}; !slices.EqualFunc(report.Unread, want, func(u api.DriftUnread, name string) bool { return u.Descriptor == name }) {
		t.Errorf("not read: %v", report.Unread)
	}
	sb.Remove("tap/1")
	sb.Put("tap/2", &model.Item{Value: 20})
	sb.Put("tap/8", &model.Item{Value: 8})
	sb.Put("route/2", &model.Item{})
	sb.Put("link/1", &model.Item{}) // the southbound's own
	sb.Remove("piece/a")
	sb.TakeCalls()
	const all = "missing piece/a, unexpected route/2, missing tap/1, differs tap/2 value:2:20, unexpected tap/8"
	report = detect(all)
	detect(all) // detection repairs nothing
	for _, call := range sb.TakeCalls() {
		if !strings.HasPrefix(call, "retrieve ") {
			t.Errorf("detection does %s", call)
		}
	}
	if state := s.GetValueStatus("tap/1").Value.State; state != kvscheduler.ValueState_CONFIGURED {
		t.Errorf("detection changes the status of tap/1 to %v", state)
	}
	// Repair touches only the named values.
	sb.Remove("tap/3")
	seq, err := s.RepairDrift(t.Context(), report.Drifts)
	if err != nil {
		t.Fatal(err)
	}
	var did []string
	for _, call := range sb.TakeCalls() {
		if !strings.HasPrefix(call, "retrieve ") {
			did = append(did, call)
		}
	}
	slices.Sort(did)
	if got, want := strings.Join(did, ", "), "create piece/a, create tap/1, delete route/2, update tap/2"; got != want {
		t.Errorf("repair did %s\nexpected   %s", got, want)
	}
	if last := s.LastDrift(); !slices.Equal(last.Repairs, []uint64{seq}) || s.GetRecordedTransaction(seq).ResyncType != api.DownstreamResync {
		t.Errorf("repairs %v, transaction %d", last.Repairs, seq)
	}
	detect("missing tap/3")
	if seq, err := s.RepairDrift(t.Context(), nil); seq != api.NoSeqNum || err != nil {
		t.Errorf("nothing to repair: %d %v", seq, err)
	}
}

// What cannot be read is reported if there are values of it, and is neither missing nor there.
func TestDriftOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	s, stop := kvstest.NewScheduler(t, kvstest.NewClock())
	twice := sb.Descriptor("twice", "twice/")
	twice.Retrieve = func([]api.KVWithMetadata) ([]api.KVWithMetadata, error) {
		kv := api.KVWithMetadata{Key: "twice/1", Value: &model.Item{}}
		return []api.KVWithMetadata{kv, kv}, nil
	}
	broken := sb.Descriptor("broken", "broken/")
	broken.Retrieve = func([]api.KVWithMetadata) ([]api.KVWithMetadata, error) { return nil, errors.New("no answer") }
	wild := sb.Descriptor("wild", "wild/")
	wild.ValueComparator = func(string, proto.Message, proto.Message) bool { panic("wild") }
	blind, unused := sb.Descriptor("zblind", "zblind/"), sb.Descriptor("unused", "unused/")
	blind.Retrieve, unused.Retrieve = nil, nil
	if err := s.RegisterKVDescriptor(twice, broken, wild, blind, unused); err != nil {
		t.Fatal(err)
	}
	txn := s.StartNBTransaction()
	for _, key := range []string{"twice/1", "broken/1", "wild/1", "zblind/1"} {
		txn.SetValue(key, &model.Item{Value: 1})
	}
	if _, err := txn.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	sb.Put("wild/1", &model.Item{Value: 2})
	report, err := s.DetectDrift(t.Context())
	if err != nil || len(report.Drifts) > 0 {
		t.Errorf("%s %v", drifted(report), err)
	}
	for i, want := range []string{"no answer", "twice/1", "ValueComparator panicked at drift_test.go:148: wild", "the descriptor has no Retrieve"} {
		if len(report.Unread) != 4 || !strings.Contains(report.Unread[i].Reason, want) {
			t.Errorf("not read: %v, expected %q", report.Unread, want)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.DetectDrift(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("detection without time: %v", err)
	}
	stop()
	if _, err := s.DetectDrift(t.Context()); !errors.Is(err, api.ErrClosedScheduler) {
		t.Errorf("detection of a closed scheduler: %v", err)
	}
}

// events is what happened in the southbound, in order.
type events struct {
	mu   sync.Mutex
	list []string
}

func (e *events) add(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, what)
}

// While 100,000 values are compared, a transaction waits for one Retrieve at most: a
// transaction that is committed during a Retrieve is executed before the next one.
func TestDetectionLetsTransactionsPass(t *testing.T) {
	t.Parallel()
	var happened events
	reading, goOn := make(chan string), make(chan struct{})
	l := newLoad(100_000)
	descriptors := l.descriptors()
	var wrapped []string
	for _, d := range descriptors {
		if retrieve := d.Retrieve; retrieve != nil {
			wrapped = append(wrapped, d.Name)
			d.Retrieve = func(correlate []api.KVWithMetadata) ([]api.KVWithMetadata, error) {
				happened.add("retrieve")
				reading <- d.Name
				<-goOn
				return retrieve(correlate)
			}
		}
		create := d.Create
		d.Create = func(key string, v proto.Message) (api.Metadata, error) {
			if strings.HasPrefix(key, "config/interface/new") {
				happened.add("create")
			}
			return create(key, v)
		}
	}
	c := engine.New(engine.Options{})
	if err := c.RegisterKVDescriptor(descriptors...); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	wg.Go(func() { c.Run(ctx) })
	defer wg.Wait()
	defer cancel()
	txn := c.StartNBTransaction()
	for i, key := range l.keys {
		txn.SetValue(key, l.values[i])
	}
	if _, err := txn.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var report *api.DriftReport
	var err error
	detected := make(chan struct{})
	go func() { defer close(detected); report, err = c.DetectDrift(ctx) }()
	var want []string
	for i := range wrapped {
		<-reading // the worker is inside of a Retrieve
		if _, err := c.StartNBTransaction().SetValue(fmt.Sprintf("config/interface/new%d", i), &model.Item{}).
			Commit(t.Context(), api.WithoutBlocking()); err != nil {
			t.Fatal(err)
		}
		goOn <- struct{}{}
		want = append(want, "retrieve", "create")
	}
	<-detected
	c.TransactionBarrier()
	if err != nil || len(report.Drifts) > 0 || report.Values < len(l.keys) {
		t.Errorf("%d values, drift %s, %v", report.Values, drifted(report), err)
	}
	if !slices.Equal(happened.list, want) {
		t.Errorf("got %v, expected %v", happened.list, want)
	}
}

// readAtOnce makes Retrieve of a descriptor concurrent. The first one waits between
// reading and returning until during has been called.
func readAtOnce(d *api.KVDescriptor, during func(), first func([]api.KVWithMetadata) []api.KVWithMetadata) *int {
	d.ConcurrentRetrieve = true
	retrieve, calls := d.Retrieve, new(int)
	d.Retrieve = func(correlate []api.KVWithMetadata) ([]api.KVWithMetadata, error) {
		found, err := retrieve(correlate)
		if *calls++; *calls == 1 && during != nil {
			during()
			found = first(found)
		}
		return found, err
	}
	return calls
}

// A concurrent Retrieve delays no transaction. What transactions change meanwhile has not
// drifted, and what only the first of two Retrieves finds has not either.
func TestDriftDuringTransactions(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func([]api.KVWithMetadata) []api.KVWithMetadata{
		"outdated": func(found []api.KVWithMetadata) []api.KVWithMetadata { return found },
		"wrong": func(found []api.KVWithMetadata) []api.KVWithMetadata {
			return append(found, api.KVWithMetadata{Key: "tap/9", Value: &model.Item{}, Origin: api.FromNB})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sb := kvstest.NewMockSB()
			s, _ := kvstest.NewScheduler(t, kvstest.NewClock())
			commit := func(txn api.Txn) {
				if _, err := txn.Commit(t.Context()); err != nil {
					t.Error(err)
				}
			}
			tap := sb.Descriptor("tap", "tap/", kvstest.WithMetadata(), kvstest.WithOrigin(api.FromNB))
			var armed bool
			calls := readAtOnce(tap, func() {
				if armed { // on the worker this would never return
					commit(s.StartNBTransaction().SetValue("tap/1", &model.Item{Value: 10}).SetValue("tap/2", nil).SetValue("tap/5", &model.Item{}))
				}
			}, first)
			if err := s.RegisterKVDescriptor(tap); err != nil {
				t.Fatal(err)
			}
			commit(s.StartNBTransaction().SetValue("tap/1", &model.Item{Value: 1}).SetValue("tap/2", &model.Item{Value: 2}).
				SetValue("tap/3", &model.Item{Value: 3}).SetValue("tap/4", &model.Item{Value: 4}))
			sb.Remove("tap/3")
			*calls, armed = 0, true
			report, err := s.DetectDrift(t.Context())
			if err != nil || drifted(report) != "missing tap/3" || *calls != 2 || len(report.Unread) > 0 {
				t.Errorf("%s %v after %d calls, not read: %v", drifted(report), err, *calls, report.Unread)
			}
			if report, err = s.DetectDrift(t.Context()); err != nil || drifted(report) != "missing tap/3" || *calls != 3 {
				t.Errorf("without transactions: %s %v after %d calls", drifted(report), err, *calls)
			}
		})
	}
}

// A detection whose context ends does not wait for a concurrent Retrieve.
func TestDriftCanceledDuringRetrieve(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	s, _ := kvstest.NewScheduler(t, kvstest.NewClock())
	ctx, cancel := context.WithCancelCause(t.Context())
	proceed := make(chan struct{})
	tap := sb.Descriptor("tap", "tap/")
	readAtOnce(tap, func() {
		cancel(errInjected)
		<-proceed
	}, func(found []api.KVWithMetadata) []api.KVWithMetadata { return found })
	if err := s.RegisterKVDescriptor(tap); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DetectDrift(ctx); !errors.Is(err, errInjected) {
		t.Errorf("%v", err)
	}
	close(proceed)
}
