package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"sync"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

// await waits until, after a revision, all the entries were seen with their
// values ("" for a deletion), and returns the revision of the last one.
func await(t *testing.T, db kv.DB, revision int64, want map[string]string) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	want = maps.Clone(want)
	enough := errors.New("enough")
	err := db.WatchFrom(ctx, "/p/", revision, func(events []kv.Event) error {
		for _, ev := range events {
			if value, ok := want[ev.Key]; ok && value == string(ev.Value) {
				delete(want, ev.Key)
			}
			revision = ev.Revision
		}
		if len(want) == 0 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatalf("watch: %v; not seen: %v", err, want)
	}
	return revision
}

// present is the present revision of the store.
func present(t *testing.T, db kv.DB) int64 {
	t.Helper()
	l, err := db.List(t.Context(), "/p/", kv.KeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	return l.Revision
}

// What is published for the lifetime of an agent comes back if the lease was
// lost while the agent lives: all of it, whether the renewal or a put finds out.
func TestLifetimeIsRestored(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	p, stop := connect(t, conf(s.Addr))
	db := direct(t, s).DB()
	const entries = 300 // more than one transaction has
	all, gone := map[string]string{}, map[string]string{}
	publish := func(key string, value int64) {
		if err := p.Put(key, wrapperspb.Int64(value), kv.WithClientLifetimeTTL()); err != nil {
			t.Error(err)
		}
	}
	var wg sync.WaitGroup
	for i := range entries {
		key := fmt.Sprintf("/p/%03d", i)
		all[key], gone[key] = `"1"`, ""
		wg.Go(func() { publish(key, 1) })
	}
	wg.Wait()
	at := await(t, db, 1, all)
	revokeAll(t, s)
	at = await(t, db, at, gone)
	at = await(t, db, at, all)
	revokeAll(t, s)
	publish("/p/007", 2)
	all["/p/007"] = `"2"`
	at = await(t, db, at, gone)
	at = await(t, db, at, all)

	if err := p.DB().Put(t.Context(), "/p/000", []byte("kept")); err != nil { // by an ordinary put
		t.Fatal(err)
	}
	stop()
	delete(gone, "/p/000")
	await(t, db, at, gone)
	if _, err := db.Get(t.Context(), "/p/000"); err != nil {
		t.Error(err)
	}
}

// A server that was emptied gets everything again, on a new lease.
func TestPublishedAgain(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	p, _ := connect(t, conf(s.Addr))
	if err := p.Put("/p/a", wrapperspb.Int64(1), kv.WithClientLifetimeTTL()); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	s.Wipe(t)
	s.Start(t)
	await(t, direct(t, s).DB(), 1, map[string]string{"/p/a": `"1"`})
}

// Without its agent an entry goes, by the clock of the server: that of the
// agent does not matter. It comes back with the agent.
func TestLifetimeEnds(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	p, _ := connect(t, conf(s.Addr))
	if err := p.Put("/p/a", wrapperspb.Int64(1), kv.WithClientLifetimeTTL()); err != nil {
		t.Fatal(err)
	}
	db := direct(t, s).DB()
	at := present(t, db)
	heal := s.Proxy.Partition()
	at = await(t, db, at, map[string]string{"/p/a": ""})
	s.Proxy.Cut()
	heal()
	await(t, db, at, map[string]string{"/p/a": `"1"`})
}

// revokeAll takes all leases away, with the tool of etcd.
func revokeAll(t *testing.T, s *kvtest.Process) {
	t.Helper()
	if _, err := exec.LookPath("etcdctl"); err != nil {
		t.Skip("SKIPPED: there is no etcdctl here (Debian: apt install etcd-client)")
	}
	script := `for l in $(etcdctl --endpoints "$0" lease list | grep -v found); do etcdctl --endpoints "$0" lease revoke $l; done`
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", script, s.Direct)
	cmd.Env = append(os.Environ(), "ETCDCTL_API=3")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("revoke: %v\n%s", err, out)
	}
}
