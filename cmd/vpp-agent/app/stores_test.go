package app_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	vppif "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Several stores at once: each is a source of its own, and what one no longer
// says another may still say.
func TestSeveralStores(t *testing.T) {
	t.Parallel()
	etcdServer, redisServer := kvtest.Etcd(t), kvtest.Redis(t)
	h := newEtcdHouse(t, etcdServer, "--simulate")
	h.write(t, "redis.conf", "endpoint: "+redisServer.Addr+"\n")
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
	enough := errors.New("enough")
	err := h.Etcd.DB().WatchFrom(t.Context(), key, 1, func(events []kv.Event) error {
		var state vppif.InterfaceState
		if err := kv.Encoded(events[0].Value).Decode(&state); err != nil {
			return err
		}
		if state.Name == "loop1" && state.OperStatus == vppif.InterfaceState_UP {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Errorf("watch: %v", err)
	}
	if text := ctl.run("get", key, "--print-value-only"); !strings.Contains(text, `"oper_status":"UP"`) {
		t.Errorf("published as %s", text)
	}
}
