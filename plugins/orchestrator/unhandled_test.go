package orchestrator_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/datasync/kvdbsync"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/kv/bolt"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

// other is an item whose key is none of a model.
func other(key string) orchestrator.KeyVal {
	return orchestrator.KeyVal{Key: key, Val: &emptypb.Empty{}}
}

// Keys that no model handles are counted, logged once for each prefix, and shown by
// health with what they were probably meant to be. The rest takes effect.
func TestUnhandledKeys(t *testing.T) {
	t.Parallel()
	s := &fakeStore{name: "etcd"}
	seen := newWitness(t)
	w := start(t, nil, orchestrator.UseWatchers(s), seen.use())
	const nat = "vpp/config/v2/nat44/"
	if err := <-s.resync(iface("a", 1), other(nat+"dnat/one"), other(nat+"dnat/two"), other("config-status/vpp/v2/interfaces/a"),
		other("check/status/v1/agent"), other("info/v1/agent"), other("holder/v1/agent"), other("myapp/settings")); err != nil {
		t.Fatal(err)
	}
	w.wantMTU("a", 1)
	want := func(state health.State, parts ...string) {
		t.Helper()
		got := seen.tree.Snapshot().Plugins[0]
		for _, part := range parts {
			if text := got.Reason + " " + got.Error; got.State != state || !strings.Contains(text, part) {
				t.Errorf("health %v %q, expected %v with %q", got.State, text, state, part)
			}
		}
	}
	want(health.Degraded, "no model handles 3 keys", "etcd: "+nat+" (2 keys; did you mean config/vpp/nat/v2/...?)", "myapp/ (1 key)")
	if got := fmt.Sprint(w.Sources()[0].Unhandled); got != "[myapp/ (1 key) "+nat+" (2 keys; did you mean config/vpp/nat/v2/...?)]" {
		t.Errorf("unhandled %s", got)
	}
	if logged := seen.about(nat); len(logged) != 1 || !strings.Contains(logged[0], "config/vpp/nat/v2/") {
		t.Errorf("logged %q, expected one line with the suggestion", logged)
	}

	// A change of such keys alone is counted, is no transaction, and is not logged again.
	before := w.history()
	if err := s.change(other(nat + "dnat/three")); err != nil {
		t.Fatal(err)
	}
	want(health.Degraded, nat+" (3 keys;")
	if logged := seen.about(nat); len(logged) != 1 {
		t.Errorf("logged %q, expected one line", logged)
	}
	for _, name := range []string{"one", "two", "three"} {
		if err := s.change(orchestrator.KeyVal{Key: nat + "dnat/" + name}); err != nil {
			t.Fatal(err)
		}
	}
	want(health.OK, "no model handles 1 key: etcd: myapp/ (1 key)") // probably of another program
	if after := w.history(); after != before {
		t.Errorf("history %s, before the changes %s", after, before)
	}
}

// Keys that another plugin watches are handled.
func TestKeysOfOtherReceivers(t *testing.T) {
	t.Parallel()
	conf := bolt.DefaultConfig()
	conf.DbPath = filepath.Join(t.TempDir(), "bolt.db")
	store := kvdbsync.NewPlugin(kvdbsync.UseKV(bolt.NewPlugin(bolt.UseConf(conf))),
		kvdbsync.UseDeps(func(d *kvdbsync.Deps) { d.ServiceLabel = servicelabel.NewPlugin() }))
	w := start(t, nil, orchestrator.UseWatchers(store))
	w.waitSynced()
	if _, err := store.Watch("myapp", make(chan datasync.ChangeEvent), make(chan datasync.ResyncEvent), "myapp/"); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"myapp/settings", "yourapp/settings"} {
		if err := store.Put(key, &emptypb.Empty{}); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "yourapp/ is unhandled, and nothing else", func() bool {
		return fmt.Sprint(w.Sources()[0].Unhandled) == "[yourapp/ (1 key)]"
	})
}
