package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// follower is a scheduler with a southbound of taps and routes.
type follower struct {
	testing.TB
	s  api.KVScheduler
	sb *kvstest.MockSB
}

func newFollower(t testing.TB) *follower {
	t.Helper()
	f := &follower{TB: t, sb: kvstest.NewMockSB()}
	f.s, _ = kvstest.NewScheduler(t, kvstest.NewClock())
	err := f.s.RegisterKVDescriptor(
		f.sb.Descriptor("tap", "tap/", kvstest.WithMetadata()),
		f.sb.Descriptor("route", "route/"),
		f.sb.Descriptor("address", "address/", kvstest.Derived()),
	)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// commit sets values; nil deletes.
func (f *follower) commit(values map[string]*model.Item, opts ...api.TxnOption) (uint64, error) {
	txn := f.s.StartNBTransaction()
	for key, v := range values {
		if v == nil {
			txn.SetValue(key, nil)
		} else {
			txn.SetValue(key, v)
		}
	}
	return txn.Commit(f.Context(), opts...)
}

func (f *follower) must(values map[string]*model.Item, opts ...api.TxnOption) {
	f.Helper()
	if _, err := f.commit(values, opts...); err != nil {
		f.Fatal(err)
	}
	f.s.TransactionBarrier()
}

// next returns an event as text.
func (f *follower) next(w api.StatusWatch) (string, api.StatusRevision) {
	f.Helper()
	ev, err := w.Next(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	text := string(ev.Kind)
	for _, s := range ev.Values {
		text += fmt.Sprintf(" %s=%v", s.GetValue().GetKey(), s.GetValue().GetState())
		for _, d := range s.GetDerivedValues() {
			text += fmt.Sprintf("[%s=%v]", d.GetKey(), d.GetState())
		}
	}
	return text, ev.Revision
}

func (f *follower) expect(w api.StatusWatch, want string) api.StatusRevision {
	f.Helper()
	got, revision := f.next(w)
	if got != want {
		f.Errorf("event %q, expected %q", got, want)
	}
	return revision
}

func withAddress(dep string) *model.Item {
	return &model.Item{Derived: []*model.Derived{{Key: "address/1", Item: &model.Item{Deps: []string{dep}}}}}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.must(map[string]*model.Item{"tap/1": {}, "route/1": {Deps: []string{"tap/2"}}})
	w := f.s.Watch(api.WatchRequest{})
	defer w.Close()
	at := f.expect(w, "snapshot route/1=PENDING tap/1=CONFIGURED")
	if at != f.s.Revision() {
		t.Errorf("revision %v, expected %v", at, f.s.Revision())
	}
	if parsed, err := api.ParseStatusRevision(at.String()); parsed != at || err != nil {
		t.Errorf("%v became %v, %v", at, parsed, err)
	}
	f.must(map[string]*model.Item{"tap/2": {}})
	f.expect(w, "delta route/1=CONFIGURED tap/2=CONFIGURED")
	// A slow watch gets the last status of each value, in the order of the changes.
	f.must(map[string]*model.Item{"tap/3": {}})
	f.must(map[string]*model.Item{"tap/2": nil})
	f.must(map[string]*model.Item{"tap/3": {Value: 1}})
	f.expect(w, "delta route/1=PENDING tap/2=NONEXISTENT tap/3=CONFIGURED")

	only := f.s.Watch(api.WatchRequest{Prefix: "tap/", Since: at})
	defer only.Close()
	f.expect(only, "delta tap/2=NONEXISTENT tap/3=CONFIGURED")
	for _, since := range []api.StatusRevision{
		{Incarnation: at.Incarnation + 1, Number: at.Number}, {Incarnation: at.Incarnation, Number: 1 << 40},
	} {
		other := f.s.Watch(api.WatchRequest{Prefix: "tap/", Since: since})
		f.expect(other, "resync tap/1=CONFIGURED tap/3=CONFIGURED")
		other.Close()
	}
	if _, err := api.ParseStatusRevision("12"); err == nil {
		t.Error("12 is a revision")
	}
}

// A watch from a revision that is no longer kept starts with a resync.
func TestWatchFromLongAgo(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.must(map[string]*model.Item{"tap/1": {}})
	at := f.s.Revision()
	const many = 1<<16 + 1
	values := make(map[string]*model.Item, many)
	for i := range many {
		values[fmt.Sprintf("route/%d", i)] = &model.Item{}
	}
	f.must(values)
	w := f.s.Watch(api.WatchRequest{Prefix: "tap/", Since: at})
	defer w.Close()
	f.expect(w, "resync tap/1=CONFIGURED")
	late := f.s.Revision()
	f.must(map[string]*model.Item{"tap/1": nil})
	again := f.s.Watch(api.WatchRequest{Since: late})
	defer again.Close()
	f.expect(again, "delta tap/1=NONEXISTENT")
}

// A watch whose client takes nothing keeps a limited number of changes, even if all are of
// different values. It continues with a resync.
func TestWatchWithoutReceiver(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	w := f.s.Watch(api.WatchRequest{NoSnapshot: true})
	defer w.Close()
	channel := make(chan *api.BaseValueStatus)
	cancel := f.s.WatchValueStatus(channel, nil)
	defer cancel()
	const limit = 1 << 16
	for part := range 4 {
		values := make(map[string]*model.Item, limit/2)
		for i := range limit / 2 {
			values[fmt.Sprintf("route/%d", part/2*limit+i)] = &model.Item{}
			if part%2 > 0 {
				values[fmt.Sprintf("route/%d", part/2*limit+i)] = nil
			}
		}
		f.must(values)
	}
	f.must(map[string]*model.Item{"tap/1": {}, "route/last": {}, "route/0": {}})
	f.expect(w, "resync route/0=CONFIGURED route/last=CONFIGURED tap/1=CONFIGURED")
	f.must(map[string]*model.Item{"tap/1": nil})
	f.expect(w, "delta tap/1=NONEXISTENT")
	for missing := limit + 2; missing > 0; missing-- { // a channel gets all of them
		<-channel
	}
}

func TestWatchEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, stop := kvstest.NewScheduler(t, kvstest.NewClock())
		w, closed := s.Watch(api.WatchRequest{NoSnapshot: true}), s.Watch(api.WatchRequest{NoSnapshot: true})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 3)
		go func() {
			_, err := w.Next(ctx)
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
		go func() {
			_, err := closed.Next(t.Context())
			ended <- err
		}()
		synctest.Wait()
		closed.Close()
		closed.Close()
		if err := <-ended; !errors.Is(err, api.ErrWatchClosed) {
			t.Errorf("closed: %v", err)
		}
		go func() {
			_, err := w.Next(t.Context())
			ended <- err
		}()
		go func() { ended <- s.WaitFor(t.Context(), api.WaitRequest{Keys: []string{"tap/1"}}) }()
		synctest.Wait()
		// A watch without a receiver and without a cancel does not delay the stop.
		s.WatchValueStatus(make(chan *api.BaseValueStatus), nil)
		stop()
		for range 2 {
			if err := <-ended; !errors.Is(err, api.ErrClosedScheduler) {
				t.Errorf("scheduler closed: %v", err)
			}
		}
		s.WatchValueStatus(make(chan *api.BaseValueStatus), nil)()
		if err := s.WaitFor(t.Context(), api.WaitRequest{Keys: []string{"tap/1"}}); !errors.Is(err, api.ErrClosedScheduler) {
			t.Errorf("wait after the end: %v", err)
		}
	})
}

// A slow client that resumes its watch after interruptions gets the final status of
// every value.
func TestResumedWatch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := newFollower(t)
		known := map[string]string{}
		var at api.StatusRevision
		w := f.s.Watch(api.WatchRequest{})
		defer func() { w.Close() }()
		follow := func() {
			for at != f.s.Revision() || at == (api.StatusRevision{}) {
				ev, err := w.Next(t.Context())
				if err != nil {
					rt.Fatal(err)
				}
				at = ev.Revision
				fold(known, ev)
			}
			there := map[string]string{}
			fold(there, &api.WatchEvent{Kind: api.WatchSnapshot, Values: f.s.ListValueStatus("")})
			if !maps.Equal(there, known) {
				rt.Fatalf("known is %v, expected %v", known, there)
			}
		}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			f.step(rt)
			switch rapid.IntRange(0, 3).Draw(rt, "follow") {
			case 0:
				follow()
			case 1:
				w.Close()
				w = f.s.Watch(api.WatchRequest{Since: at})
			}
		}
		follow()
	})
}

func (f *follower) step(rt *rapid.T) {
	key := func() string {
		return rapid.SampledFrom([]string{"tap/1", "tap/2", "tap/3", "route/1", "route/2", "odd/1"}).Draw(rt, "key")
	}
	item := func() *model.Item {
		v := &model.Item{Value: rapid.Int64Range(0, 2).Draw(rt, "value"), Invalid: rapid.IntRange(0, 9).Draw(rt, "invalid") == 0}
		for range rapid.IntRange(0, 2).Draw(rt, "deps") {
			v.Deps = append(v.Deps, key())
		}
		if rapid.Bool().Draw(rt, "derive") {
			v.Derived = []*model.Derived{{Key: "address/" + rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "address"), Item: &model.Item{Deps: []string{key()}}}}
		}
		return v
	}
	opts := []api.TxnOption{}
	switch rapid.IntRange(0, 9).Draw(rt, "step") {
	case 0:
		f.sb.Put(key(), item())
	case 1:
		f.sb.Remove(key())
	case 2:
		f.sb.Inject(kvstest.Fault{Op: rapid.SampledFrom([]api.TxnOperation{pb.TxnOperation_CREATE, pb.TxnOperation_DELETE}).Draw(rt, "op"), Key: key(), Times: 1})
	case 3:
		_, _ = f.commit(nil, api.WithResync(api.DownstreamResync, false))
	case 4:
		_, _ = f.s.StartNBTransaction().Plan(f.Context(), api.WithResync(api.DownstreamResync, false))
	case 5:
		opts = append(opts, api.WithRevert())
		fallthrough
	default:
		k := key()
		if rapid.IntRange(0, 3).Draw(rt, "delete") == 0 {
			_, _ = f.commit(map[string]*model.Item{k: nil}, opts...)
		} else {
			_, _ = f.commit(map[string]*model.Item{k: item(), key(): item()}, opts...)
		}
	}
	f.s.TransactionBarrier()
}

// fold brings an event into what is known.
func fold(known map[string]string, ev *api.WatchEvent) {
	if ev.Kind != api.WatchDelta {
		clear(known)
	}
	for _, s := range ev.Values {
		if s.GetValue().GetState() == pb.ValueState_NONEXISTENT && len(s.GetDerivedValues()) == 0 {
			delete(known, s.GetValue().GetKey())
		} else {
			known[s.GetValue().GetKey()] = appearance(s)
		}
	}
}

// appearance is a status without what other values say about it.
func appearance(s *api.BaseValueStatus) string {
	var text []string
	for _, v := range append([]*api.ValueStatus{s.GetValue()}, s.GetDerivedValues()...) {
		text = append(text, fmt.Sprintf("%s=%v(%s)", v.GetKey(), v.GetState(), v.GetError()))
	}
	slices.Sort(text[1:])
	return strings.Join(text, " ")
}
