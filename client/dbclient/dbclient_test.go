package dbclient_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/client/dbclient"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/bolt"
	"github.com/tenuto-dev/tenuto/infra/kv/keyval"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	linuxinterfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRequests(t *testing.T) {
	t.Parallel()
	conf := bolt.DefaultConfig()
	conf.DbPath = filepath.Join(t.TempDir(), "bolt.db")
	store := bolt.NewPlugin(bolt.UseConf(conf))
	agenttest.Start(t, store)
	all := store.NewBroker("")
	broker := store.NewBroker("/vnf-agent/vpp1/")
	for _, key := range []string{"/vnf-agent/vpp2/config/vpp/v2/interfaces/other", "/vnf-agent/vpp1/mine"} {
		if err := all.Put(key, &interfaces.Interface{Name: "other"}); err != nil {
			t.Fatal(err)
		}
	}
	others := []string{"/vnf-agent/vpp1/mine", "/vnf-agent/vpp2/config/vpp/v2/interfaces/other"}
	expect := func(want ...string) {
		t.Helper()
		want = append(want, others...)
		slices.Sort(want)
		if got := keys(t, all); !slices.Equal(got, want) {
			t.Errorf("the store has %q, expected %q", got, want)
		}
	}
	err := dbclient.DataChangeRequestDB("test", broker).
		Put().VppInterface(&interfaces.Interface{Name: "a"}).LinuxInterface(&linuxinterfaces.Interface{Name: "b"}).
		Send().ReceiveReply()
	if err != nil {
		t.Fatal(err)
	}
	expect("/vnf-agent/vpp1/config/vpp/v2/interfaces/a", "/vnf-agent/vpp1/config/linux/interfaces/v2/interface/b")
	if err := dbclient.DataChangeRequestDB("test", broker).Delete().VppInterface("a").Send().ReceiveReply(); err != nil {
		t.Fatal(err)
	}
	expect("/vnf-agent/vpp1/config/linux/interfaces/v2/interface/b")
	// A resync removes the items of this agent, and nothing else.
	if err := dbclient.DataResyncRequestDB("test", broker).VppInterface(&interfaces.Interface{Name: "c"}).Send().ReceiveReply(); err != nil {
		t.Fatal(err)
	}
	expect("/vnf-agent/vpp1/config/vpp/v2/interfaces/c")
	var stored interfaces.Interface
	if found, _, err := broker.GetValue("config/vpp/v2/interfaces/c", &stored); !found || err != nil || stored.Name != "c" {
		t.Errorf("got %v, %v, %v", &stored, found, err)
	}
}

func keys(t *testing.T, broker keyval.ProtoBroker) (all []string) {
	t.Helper()
	it, err := broker.ListKeys("")
	if err != nil {
		t.Fatal(err)
	}
	for {
		key, _, stop := it.GetNext()
		if stop {
			return all
		}
		all = append(all, key)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	store := bolt.NewPlugin()
	agenttest.Start(t, store)
	c := dbclient.New(store.NewBroker("/vnf-agent/vpp1/"), allmodels.MustSet())
	a := &interfaces.Interface{Name: "a"}
	if _, err := c.ChangeRequest().Update(a).WithRevert().Send(t.Context()); !errors.Is(err, dbclient.ErrRevert) {
		t.Errorf("revert: got %v", err)
	}
	for _, r := range []string{"change", "resync"} {
		req := c.ChangeRequest().Update(a)
		if r == "resync" {
			req.Replace()
		}
		if _, err := req.Send(t.Context()); !errors.Is(err, kv.ErrDisabled) {
			t.Errorf("%s of a disabled store: got %v", r, err)
		}
	}
}
