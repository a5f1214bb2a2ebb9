package orchestrator_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

// descriptors is the plugin that lets the scheduler handle interfaces, and
// routes that need them, in a mock southbound.
type descriptors struct {
	infra.PluginDeps
	Scheduler *kvscheduler.Scheduler
	sb        *kvstest.MockSB
}

func (d *descriptors) Init() error {
	return d.Scheduler.RegisterKVDescriptor(
		describe(d.sb, "interface", ifmodel.InterfaceModel, nil),
		describe(d.sb, "route", l3model.RouteModel, func(r *l3.Route) []api.Dependency {
			if r.OutgoingInterface == "" {
				return nil
			}
			return []api.Dependency{{Label: "interface", Key: ifmodel.InterfaceModel.KeyFor(r.OutgoingInterface)}}
		}))
}

var errMTU = errors.New("the largest is 9000")

func describe[V proto.Message](sb *kvstest.MockSB, name string, m models.Model[V], deps func(V) []api.Dependency) *api.KVDescriptor {
	d := api.Descriptor[V, *kvstest.Meta]{
		Name: name, WithMetadata: true, Partial: true, Timeout: patience,
		Validate: func(_ string, v V) error {
			if i, ok := proto.Message(v).(*interfaces.Interface); ok && i.Mtu > 9000 {
				return api.NewInvalidValueError(errMTU, "mtu")
			}
			return nil
		},
		Create: func(key string, v V) (*kvstest.Meta, error) { return sb.Create(key, v) },
		Update: func(key string, _, v V, meta *kvstest.Meta) (*kvstest.Meta, error) { return sb.Update(key, v, meta) },
		Delete: func(key string, _ V, meta *kvstest.Meta) error { return sb.Delete(key, meta) },
		Retrieve: func([]api.KV[V, *kvstest.Meta]) (kvs []api.KV[V, *kvstest.Meta], err error) {
			all, err := sb.Retrieve(name, m.Matches)
			for _, kv := range all {
				kvs = append(kvs, api.KV[V, *kvstest.Meta]{
					Key: kv.Key, Value: kv.Value.(V), Metadata: kv.Metadata.(*kvstest.Meta), Origin: api.Recorded, // no other process writes to it
				})
			}
			return kvs, err
		},
	}
	if deps != nil {
		d.Dependencies = func(_ string, v V) []api.Dependency { return deps(v) }
	}
	return api.Adapt(api.Describe(m, d))
}

// world is an agent with a scheduler, a mock southbound and an orchestrator.
type world struct {
	*orchestrator.Plugin
	t         testing.TB
	sb        *kvstest.MockSB
	scheduler *kvscheduler.Scheduler
	stop      func()
}

func start(t testing.TB, sb *kvstest.MockSB, opts ...orchestrator.Option) *world {
	t.Helper()
	if sb == nil {
		sb = kvstest.NewMockSB()
	}
	return startWith(t, kvscheduler.NewPlugin(kvscheduler.UseOutput(io.Discard)), sb, opts...)
}

func startWith(t testing.TB, s *kvscheduler.Scheduler, sb *kvstest.MockSB, opts ...orchestrator.Option) *world {
	t.Helper()
	d := &descriptors{Scheduler: s, sb: sb}
	d.SetName("descriptors")
	o := orchestrator.NewPlugin(append([]orchestrator.Option{orchestrator.UseScheduler(s)}, opts...)...)
	a := agenttest.Start(t, d, o)
	return &world{Plugin: o, t: t, sb: sb, scheduler: s, stop: func() {
		if err := a.Stop(); err != nil {
			t.Error(err)
		}
	}}
}

func (w *world) waitSynced() {
	w.t.Helper()
	select {
	case <-w.Synced():
	case <-time.After(patience):
		w.t.Fatal("no initial synchronisation")
	}
}

// until waits for something that no event reports.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// push changes what a source wants and fails the test if that fails.
func (w *world) push(source string, items ...orchestrator.KeyVal) []orchestrator.Result {
	w.t.Helper()
	results, err := w.PushData(w.t.Context(), source, items)
	if err != nil {
		w.t.Fatalf("push from %s: %v, %v", source, err, results)
	}
	return results
}

// mtu returns the MTU of the interface in the southbound; -1: no such
// interface.
func (w *world) mtu(name string) int {
	i, ok := w.sb.Get(ifmodel.InterfaceModel.KeyFor(name)).(*interfaces.Interface)
	if !ok {
		return -1
	}
	return int(i.Mtu)
}

func (w *world) wantMTU(name string, want int) {
	w.t.Helper()
	if got := w.mtu(name); got != want {
		w.t.Errorf("MTU of %s in the southbound is %d, want %d", name, got, want)
	}
}

func iface(name string, mtu uint32) orchestrator.KeyVal {
	return orchestrator.KeyVal{Key: ifmodel.InterfaceModel.KeyFor(name), Val: &interfaces.Interface{Name: name, Mtu: mtu}}
}

func gone(name string) orchestrator.KeyVal {
	return orchestrator.KeyVal{Key: ifmodel.InterfaceModel.KeyFor(name)}
}

// fakeStore is a watcher whose events are made by the test.
type fakeStore struct {
	name    string
	changes chan<- datasync.ChangeEvent
	resyncs chan<- datasync.ResyncEvent
}

func (s *fakeStore) String() string { return s.name }
func (s *fakeStore) Close() error   { return nil }
func (s *fakeStore) Watch(_ string, changes chan<- datasync.ChangeEvent, resyncs chan<- datasync.ResyncEvent, _ ...string) (datasync.WatchRegistration, error) {
	s.changes, s.resyncs = changes, resyncs
	return s, nil
}

// event is a change and a resync.
type event struct {
	items []orchestrator.KeyVal
	done  chan error
}

func newEvent(items []orchestrator.KeyVal) event { return event{items, make(chan error, 1)} }

func (e event) GetContext() context.Context { return context.Background() }
func (e event) Done(err error)              { e.done <- err }
func (e event) GetChanges() (all []datasync.ProtoWatchResp) {
	for _, it := range e.items {
		all = append(all, keyVal{it})
	}
	return all
}

func (e event) GetValues() map[string]datasync.KeyValIterator {
	var all []datasync.KeyVal
	for _, it := range e.items {
		all = append(all, keyVal{it})
	}
	return map[string]datasync.KeyValIterator{"config/": slices.Values(all)}
}

type keyVal struct{ orchestrator.KeyVal }

func (v keyVal) GetKey() string        { return v.Key }
func (v keyVal) GetRevision() int64    { return 0 }
func (v keyVal) Location() kv.Location { return v.KeyVal.Location }
func (v keyVal) GetChangeType() datasync.Op {
	if v.Val == nil {
		return datasync.Delete
	}
	return datasync.Put
}

func (v keyVal) GetValue(into proto.Message) error {
	if into.ProtoReflect().Descriptor() != v.Val.ProtoReflect().Descriptor() {
		return errors.New("not decodable")
	}
	proto.Merge(into, v.Val)
	return nil
}

// resync sends the whole content; the result arrives on the channel.
func (s *fakeStore) resync(items ...orchestrator.KeyVal) <-chan error {
	e := newEvent(items)
	s.resyncs <- e
	return e.done
}

// change sends changes and waits until they are applied.
func (s *fakeStore) change(items ...orchestrator.KeyVal) error {
	e := newEvent(items)
	s.changes <- e
	return <-e.done
}
