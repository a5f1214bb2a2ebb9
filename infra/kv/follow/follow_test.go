package follow_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/follow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench runs sessions that the test controls.
type bench struct {
	t       *testing.T
	updates []string
	steps   chan func(*follow.View) error // an error ends the session
	began   []time.Time
	tree    *health.Tree
	hold    chan struct{} // handle waits for it, if it is not nil
}

func start(t *testing.T, resync bool) *bench {
	b := &bench{t: t, steps: make(chan func(*follow.View) error), tree: health.NewTree(nil)}
	o := follow.Options{Store: "mem", Prefix: "/p/", MaxPause: time.Second, Resync: resync, Log: infratest.Logger(t, "x"), Health: b.tree.Plugin("mem")}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- follow.Run(ctx, o, b.session, b.handle) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return b
}

func (b *bench) session(ctx context.Context, v *follow.View) error {
	b.began = append(b.began, time.Now())
	for {
		select {
		case step := <-b.steps:
			if err := step(v); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (b *bench) handle(u kv.Update) error {
	var s []string
	if u.Resync {
		s = append(s, "resync")
	}
	for _, ch := range u.Changes {
		if ch.Deleted {
			s = append(s, "-"+ch.Key)
			continue
		}
		s = append(s, ch.Key+"="+string(ch.Value.(kv.Encoded)))
	}
	b.updates = append(b.updates, strings.Join(s, " "))
	if b.hold != nil {
		<-b.hold
	}
	return errors.New("not all of it")
}

func items(revision int64, kvs ...string) kv.Listing {
	l := kv.Listing{Revision: revision}
	for i, s := range kvs {
		k, v, _ := strings.Cut(s, "=")
		l.Items = append(l.Items, kv.Item{Key: "/p/" + k, Value: []byte(v), Revision: revision - int64(len(kvs)) + int64(i)})
	}
	return l
}

func events(kvs ...string) (evs []kv.Event) {
	for i, s := range kvs {
		k, v, put := strings.Cut(s, "=")
		evs = append(evs, kv.Event{Item: kv.Item{Key: "/p/" + k, Value: []byte(v), Revision: 100 + int64(i)}, Deleted: !put})
	}
	return evs
}

// do lets the session do something, and waits until everything rests.
func (b *bench) do(step func(*follow.View)) {
	b.steps <- func(v *follow.View) error { step(v); return nil }
	synctest.Wait()
}

func (b *bench) breakDown(err error) {
	b.steps <- func(*follow.View) error { return err }
	synctest.Wait()
}

func (b *bench) want(updates ...string) {
	b.t.Helper()
	if got := strings.Join(b.updates, "; "); got != strings.Join(updates, "; ") {
		b.t.Errorf("got %q, want %q", b.updates, updates)
	}
	b.updates = nil
}

func (b *bench) state() health.State { return b.tree.Snapshot().Plugins[0].State }

func TestDifferencesAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := start(t, false)
		b.do(func(v *follow.View) {
			if _, ok := v.Last(); ok {
				t.Error("a view that knows nothing can be resumed")
			}
			v.Replace(items(7, "a=1", "b=1"))
			if last, ok := v.Last(); !ok || last.Key != "/p/b" || last.Revision != 6 {
				t.Errorf("last %+v, %v", last, ok)
			}
		})
		b.want("resync a=1 b=1")
		b.do(func(v *follow.View) { v.Apply(events("a=1", "c=1", "x")) })
		b.want("a=1 c=1")
		b.do(func(v *follow.View) { v.ApplyNew(events("a=1", "c=2", "b", "x")) })
		b.want("c=2 -b")
		b.do(func(v *follow.View) { v.Replace(items(9, "a=1", "c=3", "d=1")) })
		b.want("c=3 d=1")
		b.do(func(v *follow.View) { v.Replace(items(9, "d=1")) })
		b.want("-a -c")
		b.do(func(v *follow.View) { v.Replace(items(9, "d=1")) })
		b.want()
	})
}

// While the receiver is busy the last change of each key waits, no more.
func TestSlowReceiver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := start(t, false)
		b.hold = make(chan struct{})
		b.do(func(v *follow.View) { v.Replace(items(3, "a=1")) })
		b.want("resync a=1")
		b.do(func(v *follow.View) { v.Apply(events("a=2", "b=1", "a")) })
		b.do(func(v *follow.View) { v.Apply(events("b=2", "c=1", "d=1", "d", "e=1", "e", "e=2")) })
		b.want()
		b.hold <- struct{}{}
		synctest.Wait()
		b.want("b=2 c=1 -a e=2")
		b.do(func(v *follow.View) { v.Apply(events("b=3")) })
		close(b.hold)
		synctest.Wait()
		b.want("b=3")
	})
}

func TestSessionsAreRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := start(t, false)
		synctest.Wait()
		for range 8 {
			b.breakDown(errors.New("refused"))
		}
		if b.state() != health.Degraded {
			t.Errorf("health without the store: %v", b.state())
		}
		for i := 1; i < len(b.began); i++ {
			limit := min(time.Second, 50*time.Millisecond<<(i-1))
			if pause := b.began[i].Sub(b.began[i-1]); pause > limit || pause < limit*3/4 {
				t.Errorf("pause %d is %v, want up to %v", i, pause, limit)
			}
		}
		b.do(func(v *follow.View) { v.Replace(items(3, "a=1")) })
		if b.state() != health.OK {
			t.Errorf("health with the store: %v", b.state())
		}
		b.want("resync a=1")
		n := len(b.began)
		b.breakDown(errors.New("reset"))
		b.do(func(v *follow.View) { v.Connected(); v.Apply(events("b=1")) })
		if pause := b.began[n].Sub(b.began[n-1]); pause > time.Minute {
			t.Errorf("pause %v", pause)
		}
		b.want("b=1")
		if b.state() != health.OK {
			t.Errorf("health after the reconnect: %v", b.state())
		}
	})
}

func TestResyncAfterReconnect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := start(t, true)
		b.do(func(v *follow.View) { v.Replace(items(3, "a=1")) })
		b.do(func(v *follow.View) { v.Replace(items(4, "a=1", "b=1")) }) // the same connection
		b.want("resync a=1", "b=1")
		b.breakDown(errors.New("reset"))
		b.do(func(v *follow.View) {
			if _, ok := v.Last(); ok {
				t.Error("a view that must list again can be resumed")
			}
			v.Replace(items(4, "a=1", "b=1"))
		})
		b.want("resync a=1 b=1")
	})
}
