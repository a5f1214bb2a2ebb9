package etcd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

// One client at a time is the leader. One that was cut off for longer than the TTL cannot write any longer, even if it
// does not know it.
func TestElection(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	open := func(addr string) kv.DB {
		db, closeDB, err := etcd.Open(conf(addr))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = closeDB() })
		return db
	}
	proxy := kvtest.NewProxy(t, s.Direct)
	dbs := map[string]kv.DB{"first": open(proxy.Addr), "second": open(s.Direct)}
	campaign := func(ctx context.Context, name string) (kv.Leadership, error) {
		return dbs[name].(kv.Elector).Campaign(ctx, "/lead", []byte(name), time.Second)
	}
	leads := func(want string, wantErr error) {
		t.Helper()
		got, err := dbs["second"].(kv.Elector).Leader(t.Context(), "/lead")
		if string(got) != want || !errors.Is(err, wantErr) {
			t.Errorf("%q leads (%v), expected %q (%v)", got, err, want, wantErr)
		}
	}
	leads("", kv.ErrNotFound)
	first, err := campaign(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	leads("first", nil)
	for _, c := range []struct {
		old, value string
		want       bool
	}{{"", "a", true}, {"", "b", false}, {"a", "b", true}, {"a", "c", false}} {
		var old []byte
		if c.old != "" {
			old = []byte(c.old)
		}
		if done, err := first.CompareAndSwap(t.Context(), "/x", old, []byte(c.value)); done != c.want || err != nil {
			t.Errorf("%q to %q: %t, %v", c.old, c.value, done, err)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := campaign(short, "second"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error of a campaign while another client leads: %v", err)
	}
	leads("first", nil)

	heal := proxy.Partition()
	second, err := campaign(t.Context(), "second")
	if err != nil {
		t.Fatal(err)
	}
	leads("second", nil)
	heal()
	if _, err := first.CompareAndSwap(t.Context(), "/x", []byte("b"), []byte("c")); !errors.Is(err, kv.ErrNotLeader) {
		t.Errorf("error of a write of the former leader: %v", err)
	}
	if err := first.Delete(t.Context(), "/x"); !errors.Is(err, kv.ErrNotLeader) {
		t.Errorf("error of a deletion by the former leader: %v", err)
	}
	<-first.Lost()
	if done, err := second.CompareAndSwap(t.Context(), "/x", []byte("b"), []byte("d")); !done || err != nil {
		t.Errorf("write of the leader: %t, %v", done, err)
	}
	if err := second.Delete(t.Context(), "/x", "/none"); err != nil {
		t.Error(err)
	}
	if _, err := dbs["second"].Get(t.Context(), "/x"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("error of a deleted entry: %v", err)
	}
	if err := second.Resign(); err != nil {
		t.Error(err)
	}
	<-second.Lost()
	leads("", kv.ErrNotFound)
}
