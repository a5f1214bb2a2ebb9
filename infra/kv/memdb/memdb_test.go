package memdb_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	"github.com/tenuto-dev/tenuto/infra/kv/memdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// step is one call; it returns what the caller sees of it, without revisions.
func step(ctx context.Context, t *rapid.T, db kv.DB, prefix string, op int, key, value string, old []byte) string {
	switch op {
	case 0:
		return fmt.Sprint(db.Put(ctx, prefix+key, []byte(value)))
	case 1:
		n, err := db.Delete(ctx, prefix+key)
		return fmt.Sprint(n, err)
	case 2:
		n, err := db.Delete(ctx, prefix+key, kv.WithPrefix())
		return fmt.Sprint(n, err)
	case 3:
		done, err := db.CompareAndSwap(ctx, prefix+key, old, []byte(value))
		return fmt.Sprint(done, err)
	case 4:
		done, err := db.CompareAndSwap(ctx, prefix+key, old, nil)
		return fmt.Sprint(done, err)
	case 5:
		return fmt.Sprint(db.Txn(ctx, kv.PutOp(prefix+key, []byte(value)), kv.Op{Key: prefix + "b"}, kv.PutOp(prefix+"a/"+value, nil)))
	}
	item, err := db.Get(ctx, prefix+key)
	return fmt.Sprintf("%q %v", item.Value, errors.Is(err, kv.ErrNotFound))
}

// history reads the events below a prefix after a revision.
func history(ctx context.Context, t *rapid.T, db kv.DB, prefix string, revision int64) (events []string) {
	const last = "last"
	if err := db.Put(ctx, prefix+last, nil); err != nil {
		t.Fatal(err)
	}
	end := errors.New("the last event")
	err := db.WatchFrom(ctx, prefix, revision, func(batch []kv.Event) error {
		for _, e := range batch {
			if e.Key == prefix+last {
				return end
			}
			events = append(events, fmt.Sprintf("%s %q %v", e.Key, e.Value, e.Deleted))
		}
		slices.Sort(events[len(events)-len(batch):]) // within a transaction
		return nil
	})
	if !errors.Is(err, end) {
		t.Fatal(err)
	}
	_, err = db.Delete(ctx, prefix+last)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// The store answers as etcd does.
func TestLikeEtcd(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("etcd"); err != nil {
		t.Skip("NOT CHECKED: there is no etcd here (Debian: apt install etcd-server)")
	}
	server := kvtest.Etcd(t)
	conf := etcd.DefaultConfig()
	conf.Endpoints, conf.InsecureTransport = []string{server.Addr}, true
	real, closeDB, err := etcd.Open(conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closeDB(); err != nil {
			t.Error(err)
		}
	})
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		ctx, memory := t.Context(), memdb.New().Client()
		defer memory.Close()
		runs++
		prefix := fmt.Sprintf("/run/%d/", runs)
		from := map[kv.DB]int64{}
		for _, db := range []kv.DB{memory, real} {
			l, err := db.List(ctx, prefix)
			if err != nil {
				t.Fatal(err)
			}
			from[db] = l.Revision
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			op := rapid.IntRange(0, 6).Draw(t, "operation")
			key := rapid.SampledFrom([]string{"a", "a/x", "a/y", "b", "c"}).Draw(t, "key")
			value := rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "value")
			var old []byte
			if rapid.Bool().Draw(t, "expects") {
				old = []byte(rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "old"))
			}
			got, want := step(ctx, t, memory, prefix, op, key, value, old), step(ctx, t, real, prefix, op, key, value, old)
			if got != want {
				t.Fatalf("operation %d of %s: %s, etcd answers %s", op, key, got, want)
			}
		}
		if got, want := list(ctx, t, memory, prefix), list(ctx, t, real, prefix); !slices.Equal(got, want) {
			t.Fatalf("has %q, etcd has %q", got, want)
		}
		if got, want := history(ctx, t, memory, prefix, from[memory]), history(ctx, t, real, prefix, from[real]); !slices.Equal(got, want) {
			t.Fatalf("has the events %q, etcd has %q", got, want)
		}
	})
}

func list(ctx context.Context, t *rapid.T, db kv.DB, prefix string) (items []string) {
	l, err := db.List(ctx, prefix)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range l.Items {
		items = append(items, fmt.Sprintf("%s %q", it.Key, it.Value))
	}
	return items
}

// The entries of a client go with its connection, and its calls fail from then on.
func TestCut(t *testing.T) {
	t.Parallel()
	s := memdb.New()
	a, b := s.Client(), s.Client()
	defer b.Close()
	ctx := t.Context()
	if err := errors.Join(a.Put(ctx, "/hold", nil, kv.WithClientLifetimeTTL()), a.Put(ctx, "/stays", nil)); err != nil {
		t.Fatal(err)
	}
	seen := make(chan kv.Event)
	done := make(chan error)
	end := errors.New("seen")
	go func() {
		done <- b.WatchFrom(ctx, "/hold", 2, func(events []kv.Event) error { seen <- events[0]; return end })
	}()
	broken := make(chan error)
	go func() { broken <- a.WatchFrom(ctx, "/", 2, func([]kv.Event) error { return nil }) }()
	cut := errors.New("network is down")
	a.Cut(cut)
	if e := <-seen; !e.Deleted {
		t.Errorf("event %+v, expected a deletion", e)
	}
	if err := <-done; !errors.Is(err, end) {
		t.Error(err)
	}
	if err := <-broken; !errors.Is(err, cut) {
		t.Errorf("watch returned %v, expected the error of the connection", err)
	}
	if _, err := a.Get(ctx, "/stays"); !errors.Is(err, cut) {
		t.Errorf("get returned %v, expected the error of the connection", err)
	}
	if _, err := b.Get(ctx, "/stays"); err != nil {
		t.Error(err)
	}
	if err := b.Put(ctx, "/x", nil, kv.WithTTL(1)); !errors.Is(err, kv.ErrNotSupported) {
		t.Errorf("a TTL is not among the features, but: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := b.WatchFrom(ended, "/", 0, nil); err != nil {
		t.Errorf("a watch whose context ends returned %v", err)
	}
}

// One client leads at a time. What a former leader writes has no effect.
func TestElection(t *testing.T) {
	t.Parallel()
	s := memdb.New()
	ctx := t.Context()
	clients := map[string]*memdb.Client{"a": s.Client(), "b": s.Client(), "c": s.Client()}
	defer clients["c"].Close()
	campaign := func(ctx context.Context, name string) (kv.Leadership, error) {
		return clients[name].Campaign(ctx, "/lead", []byte(name), time.Second)
	}
	leads := func(want string, wantErr error) {
		t.Helper()
		if got, err := clients["c"].Leader(ctx, "/lead"); string(got) != want || !errors.Is(err, wantErr) {
			t.Errorf("%q leads (%v), expected %q (%v)", got, err, want, wantErr)
		}
	}
	leads("", kv.ErrNotFound)
	first, err := campaign(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	leads("a", nil)
	if done, err := first.CompareAndSwap(ctx, "/x", nil, []byte("1")); !done || err != nil {
		t.Errorf("write of the leader: %t, %v", done, err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := campaign(ended, "b"); !errors.Is(err, context.Canceled) {
		t.Errorf("campaign whose context ends returned %v", err)
	}
	won := make(chan kv.Leadership)
	go func() {
		l, err := campaign(ctx, "b")
		if err != nil {
			t.Error(err)
		}
		won <- l
	}()
	if err := first.Delete(ctx, "/x", "/none"); err != nil {
		t.Error(err)
	}
	if _, err := clients["c"].Get(ctx, "/x"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("error of an entry that the leader deleted: %v", err)
	}
	if err := first.Resign(); err != nil {
		t.Error(err)
	}
	<-first.Lost()
	if err := first.Delete(ctx, "/x"); !errors.Is(err, kv.ErrNotLeader) {
		t.Errorf("error of a deletion by a former leader: %v", err)
	}
	<-won
	leads("b", nil)
	if _, err := first.CompareAndSwap(ctx, "/x", []byte("1"), []byte("2")); !errors.Is(err, kv.ErrNotLeader) {
		t.Errorf("write of the former leader returned %v", err)
	}
	clients["b"].Close()
	leads("", kv.ErrNotFound)
	clients["a"].Close()
	if _, err := campaign(ctx, "a"); err == nil {
		t.Error("a client that was closed leads")
	}
}
