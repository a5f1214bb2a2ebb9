package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
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
	infratest.Fatal(t, err)
	return l.Revision
}

// Keys that are published for the lifetime of an agent are published again if the
// lease was lost while the agent lives: all of them, whether the renewal or a put
// detects it.
func TestLifetimeIsRestored(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	p, stop := connect(t, conf(s.Addr))
	client := lowLevel(t, s)
	const entries = 300 // more than one transaction has
	all := map[string]string{}
	publish := func(key string, value int64) {
		if err := p.Put(key, wrapperspb.Int64(value), kv.WithClientLifetimeTTL()); err != nil {
			t.Error(err)
		}
	}
	var wg sync.WaitGroup
	for i := range entries {
		key := fmt.Sprintf("/p/%03d", i)
		all[key] = `"1"`
		wg.Go(func() { publish(key, 1) })
	}
	wg.Wait()
	restored(t, client, all, nil)
	restored(t, client, all, revokeAll(t, client))
	revoked := revokeAll(t, client)
	publish("/p/007", 2)
	all["/p/007"] = `"2"`
	restored(t, client, all, revoked)

	if err := p.DB().Put(t.Context(), "/p/000", []byte("kept")); err != nil { // by an ordinary put
		t.Fatal(err)
	}
	stop()
	restored(t, client, map[string]string{"/p/000": "kept"}, nil)
}

// A server that was emptied gets everything again, on a new lease.
func TestPublishedAgain(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	p, _ := connect(t, conf(s.Addr))
	infratest.Fatal(t, p.Put("/p/a", wrapperspb.Int64(1), kv.WithClientLifetimeTTL()))
	s.Stop()
	s.Wipe(t)
	s.Start(t)
	await(t, direct(t, s).DB(), 1, map[string]string{"/p/a": `"1"`})
}

// An entry expires without its agent, by the clock of the server: the clock of
// the agent does not matter. It is published again with the agent.
func TestLifetimeEnds(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	p, _ := connect(t, conf(s.Addr))
	db := direct(t, s).DB()
	at := present(t, db) // whenever the entry goes, also if this machine stands still for longer than a lease lasts
	infratest.Fatal(t, p.Put("/p/a", wrapperspb.Int64(1), kv.WithClientLifetimeTTL()))
	heal := s.Proxy.Partition()
	at = await(t, db, at, map[string]string{"/p/a": ""})
	s.Proxy.Cut()
	heal()
	await(t, db, at, map[string]string{"/p/a": `"1"`})
}

// lowLevel is the client that the plugin stands on.
func lowLevel(t *testing.T, s *kvtest.Process) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Direct}, Logger: zap.NewNop()})
	infratest.Fatal(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// revokeAll takes all leases away and returns them.
func revokeAll(t *testing.T, client *clientv3.Client) map[clientv3.LeaseID]bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	resp, err := client.Leases(ctx)
	infratest.Fatal(t, err)
	all := map[clientv3.LeaseID]bool{}
	for _, l := range resp.Leases {
		all[l.ID] = true
		if _, err := client.Revoke(ctx, l.ID); err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) { // it may have ended by itself
			t.Fatal(err)
		}
	}
	return all
}

// restored waits until the store has the entries and no others, none of them on a
// lease that was revoked.
func restored(t *testing.T, client *clientv3.Client, want map[string]string, revoked map[clientv3.LeaseID]bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		resp, err := client.Get(ctx, "/p/", clientv3.WithPrefix())
		infratest.Fatal(t, err)
		got, old := map[string]string{}, 0
		for _, kv := range resp.Kvs {
			got[string(kv.Key)] = string(kv.Value)
			if revoked[clientv3.LeaseID(kv.Lease)] {
				old++
			}
		}
		if maps.Equal(got, want) && old == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%d entries, %d of them on revoked leases, want %d", len(got), old, len(want))
		}
	}
}

// One agent at a time uses the keys of a label.
func TestClaims(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	connectAs := func(a kvtest.Agent, addr string) (kv.Connector, *health.Tree, func()) {
		tree := health.NewTree(nil)
		p := etcd.NewPlugin(etcd.UseConf(conf(addr)), etcd.UseDeps(func(d *etcd.Deps) {
			d.Health = tree.Plugin("etcd")
			a.Use(d)
		}))
		return p, tree, kvtest.Start(t, p)
	}
	kvtest.Claims(t, func(a kvtest.Agent) (kv.Connector, *health.Tree, func()) { return connectAs(a, s.Direct) })
	kvtest.ClaimsRace(t, direct(t, s).DB())
}

// An agent whose lease expired in a partition does not write over what the agent published
// that took its label meanwhile.
func TestClaimLostInPartition(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	connectAs := func(a kvtest.Agent, addr string) (*etcd.Plugin, *health.Tree) {
		tree := health.NewTree(nil)
		p := etcd.NewPlugin(etcd.UseConf(conf(addr)), etcd.UseDeps(func(d *etcd.Deps) {
			d.Health = tree.Plugin("etcd")
			a.Use(d)
		}))
		kvtest.Start(t, p)
		return p, tree
	}
	const key = "/vnf-agent/me/check/x"
	a, treeA := connectAs(kvtest.NewAgent("a", 1), s.Addr)
	infratest.Fatal(t, a.Put(key, wrapperspb.String("of a"), kv.WithClientLifetimeTTL()))
	heal := s.Proxy.Partition()
	s.Proxy.Cut()
	b, treeB := connectAs(kvtest.NewAgent("b", 2), s.Direct)
	kvtest.AwaitHealth(t, treeB, health.Degraded, "held by agent-a")
	kvtest.AwaitHealth(t, treeB, health.OK, "") // the lease of a has expired
	infratest.Fatal(t, b.Put(key, wrapperspb.String("of b"), kv.WithClientLifetimeTTL()))
	at := present(t, b.DB())
	heal()
	kvtest.AwaitHealth(t, treeA, health.Degraded, "held by agent-b")
	if item, err := b.DB().Get(t.Context(), key); err != nil || string(item.Value) != `"of b"` || item.Revision > at {
		t.Errorf("published: %s at revision %d, %v; expected what b wrote at %d or before", item.Value, item.Revision, err, at)
	}
}
