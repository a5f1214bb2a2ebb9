package app_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Several stores at once: each is a source of its own, and what one no longer
// says another may still say.
func TestSeveralStores(t *testing.T) {
	t.Parallel()
	etcdServer, redisServer := kvtest.Etcd(t), kvtest.Redis(t)
	h := newEtcdHouse(t, etcdServer, "--simulate")
	h.write(t, "redis.conf", "endpoint: "+redisServer.Addr+"\ndial-timeout: 1m\nread-timeout: 1m\nwrite-timeout: 1m\n")
	h.start(t)
	h.awaitReadiness(t, http.StatusOK, "")
	put := func(key, value string) {
		t.Helper()
		if err := h.Redis.DB().Put(t.Context(), docPrefix+key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	const other = "config/vpp/v2/interfaces/loop2"
	put(loopKey, `{"name":"loop1","type":"SOFTWARE_LOOPBACK","ip_addresses":["10.1.0.1/24"]}`)
	put(other, `{"name":"loop2","type":"SOFTWARE_LOOPBACK"}`)
	h.await(t, loopKey, pb.ValueState_CONFIGURED)
	h.await(t, other, pb.ValueState_CONFIGURED)
	if err := h.Etcd.DB().Put(t.Context(), docPrefix+loopKey, []byte(`{"name":"loop1","type":"SOFTWARE_LOOPBACK","ip_addresses":["10.2.0.1/24"]}`)); err != nil {
		t.Fatal(err)
	}
	put("config/vpp/v2/interfaces/loop3", `{"name":"loop3","type":"SOFTWARE_LOOPBACK"}`)
	h.await(t, "config/vpp/v2/interfaces/loop3", pb.ValueState_CONFIGURED)
	h.awaitDump(t, "10.1.0.1/24") // redis has the higher priority
	if _, err := h.Redis.DB().Delete(t.Context(), docPrefix+loopKey); err != nil {
		t.Fatal(err)
	}
	h.awaitDump(t, "10.2.0.1/24")
	etcdServer.Stop() // and what a store said stays in effect without it
	h.awaitReadiness(t, http.StatusServiceUnavailable, "etcd")
	h.await(t, loopKey, pb.ValueState_CONFIGURED)
	put(other, `{"name":"loop2","type":"SOFTWARE_LOOPBACK","ip_addresses":["10.3.0.1/24"]}`)
	h.awaitDump(t, "10.3.0.1/24")
}

// A bolt file that another program has written, as the predecessor did, configures the agent,
// which follows what is written through it and finds all of it after a restart.
func TestBoltIsASource(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bolt.db")
	db, err := bbolt.Open(file, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		root, err := tx.CreateBucketIfNotExists([]byte("root"))
		if err != nil {
			return err
		}
		return root.Put([]byte(docPrefix+loopKey), []byte(`{"name":"loop1","type":"SOFTWARE_LOOPBACK"}`))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	const other = "config/vpp/v2/interfaces/loop2"
	for range 2 {
		h := newHouse(t, "", "--simulate")
		h.write(t, "bolt.conf", "db-path: "+file+"\n")
		h.start(t)
		h.await(t, loopKey, pb.ValueState_CONFIGURED)
		if err := h.Bolt.DB().Put(t.Context(), docPrefix+other, []byte(`{"name":"loop2","type":"SOFTWARE_LOOPBACK"}`)); err != nil {
			t.Fatal(err)
		}
		h.await(t, other, pb.ValueState_CONFIGURED)
		if err := h.agent.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// The states of interfaces are published into the stores that are named.
func TestInterfaceStatesAreInEtcd(t *testing.T) {
	t.Parallel()
	server, ctl := startEtcd(t)
	h := newEtcdHouse(t, server, "--simulate")
	h.write(t, "network.yaml", network)
	h.write(t, "vpp-ifplugin.conf", "status-publishers: [etcd]\n")
	h.start(t)
	h.await(t, loopKey, pb.ValueState_CONFIGURED)
	const key = docPrefix + "vpp/status/v2/interface/loop1"
	awaitEntry(t, directEtcd(t, server), key, `"oper_status":"UP"`)
	if text := ctl.run("get", key, "--print-value-only"); !strings.Contains(text, `"oper_status":"UP"`) {
		t.Errorf("published as %s", text)
	}
}

// States of Linux interfaces are in etcd, too.
func TestLinuxInterfaceStatesAreInEtcd(t *testing.T) {
	t.Parallel()
	server, ctl := startEtcd(t)
	h := newEtcdHouse(t, server, "--simulate")
	h.write(t, "network.yaml", "linuxConfig:\n  interfaces: [{name: lo, type: LOOPBACK, enabled: true}]\n")
	h.write(t, "linux-nsplugin.conf", "disabled: false\n") // it is simulated
	h.write(t, "linux-ifplugin.conf", "status-publishers: [etcd]\nstatistics-interval: 100ms\n")
	h.start(t)
	const key = docPrefix + "linux/status/v2/interface/lo"
	awaitEntry(t, directEtcd(t, server), key, `"statistics":{`)
	if text := ctl.run("get", key, "--print-value-only"); !strings.Contains(text, `"internal_name":"lo","type":"LOOPBACK"`) {
		t.Errorf("published as %s", text)
	}
}

// The states of items are published into the stores that are named, with what
// is derived from them, and go with the agent.
func TestItemStatesAreInEtcd(t *testing.T) {
	t.Parallel()
	server, ctl := startEtcd(t)
	h := newEtcdHouse(t, server, "--simulate")
	h.write(t, "orchestrator.conf", "status-publishers: [etcd]\n")
	h.start(t)
	db := directEtcd(t, server)
	awaitEntry(t, db, docPrefix+"check/status/v1/agent", `"state":"OK"`)
	awaitEntry(t, db, docPrefix+"check/status/v1/plugin/kvscheduler", `"state":"OK"`)
	const bdStatus, ifStatus = docPrefix + "config-status/vpp/l2/v2/bridge-domain/bd1", docPrefix + "config-status/vpp/v2/interfaces/if1"
	ctl.run("put", docPrefix+docBD, `{"name":"bd1","interfaces":[{"name":"if1"}]}`)
	awaitEntry(t, db, bdStatus, `"state":"CONFIGURED","last_operation":"CREATE","details":["vpp/bd/bd1/interface/if1 is PENDING: interface-exists"]`)
	ctl.run("put", docPrefix+docIf, `{"name":"if1","type":"TAP","enabled":true}`)
	awaitEntry(t, db, bdStatus, `"state":"CONFIGURED","last_operation":"CREATE"}`)
	awaitEntry(t, db, ifStatus, `{"key":"`+docIf+`","state":"CONFIGURED"`)
	ctl.run("put", docPrefix+docIf, `{"name":"if1","type":"TAP","mtu":100000}`)
	awaitEntry(t, db, ifStatus, `"state":"INVALID"`)
	ctl.run("del", docPrefix+docIf)
	awaitEntry(t, db, ifStatus, "")
	ctl.run("del", "--prefix", docPrefix+"config-status/") // by mistake; it is published again
	awaitEntry(t, db, bdStatus, `"details":["vpp/bd/bd1/interface/if1 is PENDING`)
	if err := h.agent.Stop(); err != nil {
		t.Error(err)
	}
	awaitEntry(t, db, bdStatus, "")
}

// directEtcd is another client of the server.
func directEtcd(t testing.TB, server *kvtest.Process) kv.DB {
	t.Helper()
	cfg := etcd.DefaultConfig()
	cfg.Endpoints, cfg.DialTimeout, cfg.OperationTimeout = []string{server.Direct}, patience, patience
	db, closeDB, err := etcd.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closeDB() })
	return db
}

// awaitEntry waits until the value of a key contains the text; if that is empty,
// until there is none.
func awaitEntry(t testing.TB, db kv.DB, key, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := db.List(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	fits := func(value string) bool { return strings.Contains(value, text) && (text != "" || value == "") }
	value := ""
	if len(l.Items) > 0 {
		value = string(l.Items[0].Value)
	}
	if fits(value) {
		return
	}
	enough := errors.New("enough")
	err = db.WatchFrom(ctx, key, l.Revision, func(events []kv.Event) error {
		if value = string(events[len(events)-1].Value); fits(value) {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatalf("%s is %q, want %q (%v)", key, value, text, err)
	}
}
