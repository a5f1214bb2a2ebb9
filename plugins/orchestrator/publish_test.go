package orchestrator_test

import (
	"io"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/publish"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// published is a data store that states are published to.
type published struct {
	name               string
	disabled, readOnly bool

	mu      sync.Mutex
	values  map[string]string
	changed chan struct{}
}

func newPublished(name string) *published {
	return &published{name: name, values: map[string]string{}, changed: make(chan struct{}, 1)}
}

func (s *published) String() string { return s.name }
func (s *published) Disabled() bool { return s.disabled }
func (s *published) Writable() bool { return !s.readOnly }

func (s *published) Put(key string, value proto.Message, _ ...kv.PutOption) error {
	text, err := kv.Encode(value)
	if err != nil {
		return err
	}
	s.change(func() { s.values[key] = string(text) })
	return nil
}

func (s *published) Delete(key string, opts ...kv.DelOption) (bool, error) {
	s.change(func() {
		maps.DeleteFunc(s.values, func(k string, _ string) bool {
			return k == key || kv.CollectDel(opts).Prefix && strings.HasPrefix(k, key)
		})
	})
	return true, nil
}

func (s *published) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// await waits until the values are these.
func (s *published) await(t *testing.T, want map[string]string) {
	t.Helper()
	late := time.After(patience)
	for {
		s.mu.Lock()
		got := maps.Clone(s.values)
		s.mu.Unlock()
		if maps.Equal(got, want) {
			return
		}
		select {
		case <-s.changed:
		case <-late:
			t.Fatalf("published %v\nwant %v", got, want)
		}
	}
}

type label string

func (l label) GetAgentPrefix() string { return string(l) }

func publishTo(names []string, stores ...publish.Store) []orchestrator.Option {
	conf := orchestrator.DefaultConfig()
	conf.StatusPublishers = names
	return []orchestrator.Option{orchestrator.UseConf(conf), orchestrator.UseDeps(func(d *orchestrator.Deps) {
		d.Stores, d.Label = stores, label("/vnf-agent/me/")
	})}
}

// The states of items are in the store, as they change, and nothing else.
func TestPublishedStates(t *testing.T) {
	t.Parallel()
	to, other := newPublished("etcd"), newPublished("redis")
	const mine = "/vnf-agent/me/config-status/vpp/v2/"
	to.values[mine+"interfaces/left"], to.values["/vnf-agent/you/x"] = "old", "old"
	sb := kvstest.NewMockSB()
	w := start(t, sb, publishTo([]string{"etcd"}, to, other)...)
	w.waitSynced()
	route := &l3.Route{DstNetwork: "10.0.0.0/8", OutgoingInterface: "a"}
	routeKey := l3model.RouteModel.Key(route)
	w.push("x", orchestrator.KeyVal{Key: routeKey, Val: route})
	statusOf := func(key string) string { return "/vnf-agent/me/config-status/" + strings.TrimPrefix(key, "config/") }
	status := func(key, rest string) string { return `{"key":"` + key + `",` + rest + `}` }
	want := map[string]string{
		"/vnf-agent/you/x": "old",
		statusOf(routeKey): status(routeKey, `"state":"PENDING","last_operation":"CREATE","details":["interface"]`),
	}
	to.await(t, want)

	aKey, bKey := ifmodel.InterfaceModel.KeyFor("a"), ifmodel.InterfaceModel.KeyFor("b")
	w.push("x", orchestrator.KeyVal{Key: aKey, Val: &interfaces.Interface{Name: "a"}})
	want[statusOf(routeKey)] = status(routeKey, `"state":"CONFIGURED","last_operation":"CREATE"`)
	want[mine+"interfaces/a"] = status(aKey, `"state":"CONFIGURED","last_operation":"CREATE"`)
	to.await(t, want)

	// One that is invalid says why.
	if _, err := w.PushData(t.Context(), "x", []orchestrator.KeyVal{{Key: bKey, Val: &interfaces.Interface{Name: "b", Mtu: 9001}}}); err == nil {
		t.Error("no error for an invalid value")
	}
	want[mine+"interfaces/b"] = status(bKey, `"state":"INVALID","error":"mtu: the largest is 9000","last_operation":"CREATE","details":["mtu"]`)
	to.await(t, want)

	// What is gone is gone.
	w.push("x", orchestrator.KeyVal{Key: bKey}, orchestrator.KeyVal{Key: aKey})
	delete(want, mine+"interfaces/a")
	delete(want, mine+"interfaces/b")
	want[statusOf(routeKey)] = status(routeKey, `"state":"PENDING","last_operation":"DELETE","details":["interface"]`)
	to.await(t, want)
	if len(other.values) > 0 {
		t.Errorf("the other store has %v", other.values)
	}
}

func TestPublishersAreChosen(t *testing.T) {
	none, readOnly, a := newPublished("none"), newPublished("files"), newPublished("a")
	none.disabled, readOnly.readOnly = true, true
	run := func(published bool) {
		t.Helper()
		w := start(t, nil, publishTo(nil, none, readOnly, a)...)
		defer w.stop()
		w.waitSynced()
		w.push("x", orchestrator.KeyVal{Key: ifmodel.InterfaceModel.KeyFor("a"), Val: &interfaces.Interface{Name: "a"}})
		if published {
			<-a.changed // the removal of what was left, at least
		}
	}
	run(false)
	if len(a.values)+len(a.changed) > 0 {
		t.Error("published although it is not configured")
	}
	t.Setenv("ENABLE_STATUS_PUBLISHING", "1")
	run(true)
	if len(none.changed)+len(readOnly.changed) > 0 {
		t.Error("published to a store that takes nothing")
	}
	t.Setenv("ENABLE_STATUS_PUBLISHING", "")

	o := orchestrator.NewPlugin(append(publishTo([]string{"b"}, none, a), orchestrator.UseScheduler(kvscheduler.NewPlugin(kvscheduler.UseOutput(io.Discard))))...)
	err := agenttest.New(t, agent.AllPlugins(o)).Start(t.Context())
	if want := `status-publishers[0]: "b" is not a data store of this agent, expected one of ["none" "a"]`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("start: %v, want %s", err, want)
	}
}
