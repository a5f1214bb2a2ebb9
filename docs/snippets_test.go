package docs

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/tenuto-dev/tenuto/examples/tutorials/05_kv-scheduler/descriptor/adapter"
	"github.com/tenuto-dev/tenuto/examples/tutorials/05_kv-scheduler/model"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/datasync/kvdbsync"
	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/infra/kv/bolt"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/redis"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

// The code of this file is written as the documents of the predecessor teach it, with
// other import paths: it has to compile, and where it can be run, to work.

// newAgentPlugins is how an agent is put together with a store, and with another one.
func newAgentPlugins() *orchestrator.Plugin {
	etcdDataSync := kvdbsync.NewPlugin(kvdbsync.UseKV(&etcd.DefaultPlugin))
	redisDataSync := kvdbsync.NewPlugin(kvdbsync.UseKV(&redis.DefaultPlugin))
	watchers := datasync.KVProtoWatchers{
		etcdDataSync,
		redisDataSync,
	}
	p := orchestrator.NewPlugin()
	p.Watcher = watchers
	return p
}

// documented is a plugin that watches a store and publishes into it.
type documented struct {
	infra.PluginDeps

	Watcher   datasync.KeyValProtoWatcher
	Publisher datasync.KeyProtoValWriter

	resyncEventChannel chan datasync.ResyncEvent
	changeEventChannel chan datasync.ChangeEvent
	changed            chan string
}

func (p *documented) Init() error {
	p.resyncEventChannel = make(chan datasync.ResyncEvent)
	p.changeEventChannel = make(chan datasync.ChangeEvent)
	keyPrefixes := []string{"config/"}
	p.Go(p.watchEvents)
	watchRegistration, err := p.Watcher.Watch("plugin-resync-name", p.changeEventChannel, p.resyncEventChannel, keyPrefixes...)
	if err != nil {
		return err
	}
	p.Go(func(ctx context.Context) {
		<-ctx.Done()
		_ = watchRegistration.Close()
	})
	return nil
}

func (p *documented) watchEvents(ctx context.Context) {
	for {
		select {
		case e := <-p.resyncEventChannel:
			p.changed <- "resync"
			e.Done(nil)
		case e := <-p.changeEventChannel:
			for _, change := range e.GetChanges() {
				value := &structpb.Struct{}
				if change.GetChangeType() == datasync.Delete {
					p.changed <- change.GetKey() + " deleted"
				} else if err := change.GetValue(value); err == nil {
					p.changed <- change.GetKey() + " = " + value.Fields["text"].GetStringValue()
				}
			}
			e.Done(nil)
		case <-ctx.Done():
			return
		}
	}
}

// withScheduler is a plugin that has descriptors.
type withScheduler struct {
	Deps struct {
		KVScheduler kvs.KVScheduler
	}
}

func TestSnippets(t *testing.T) {
	if p := newAgentPlugins(); len(p.Watcher) != 2 {
		t.Errorf("the orchestrator has %d stores, expected 2", len(p.Watcher))
	}
	s := &withScheduler{}
	s.Deps.KVScheduler = kvscheduler.NewPlugin()

	conf := bolt.DefaultConfig()
	conf.DbPath = filepath.Join(t.TempDir(), "bolt.db")
	dataSync := kvdbsync.NewPlugin(kvdbsync.UseKV(bolt.NewPlugin(bolt.UseConf(conf))),
		kvdbsync.UseDeps(func(d *kvdbsync.Deps) { d.ServiceLabel = servicelabel.NewPlugin() }))
	p := &documented{Watcher: dataSync, Publisher: dataSync, changed: make(chan string, 8)}
	p.SetName("documented")
	agenttest.Start(t, p)
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-p.changed:
			if got != want {
				t.Errorf("told %q, expected %q", got, want)
			}
		case <-t.Context().Done():
			t.Fatalf("not told %q", want)
		}
	}
	expect("resync")
	value, err := structpb.NewStruct(map[string]any{"text": "one"})
	if err != nil {
		t.Fatal(err)
	}
	for _, put := range []struct {
		value proto.Message
		want  string
	}{{value, "config/a = one"}, {nil, "config/a deleted"}} {
		if err := p.Publisher.Put("config/a", put.value); err != nil {
			t.Fatal(err)
		}
		expect(put.want)
	}
}

const itemPrefix = "/item/"

// newItemDescriptor has every attribute that the documents explain, but for the
// factory of the metadata map.
func newItemDescriptor(done func(string)) *kvs.KVDescriptor {
	return adapter.NewInterfaceDescriptor(&adapter.InterfaceDescriptor{
		Name:          "item",
		NBKeyPrefix:   itemPrefix,
		ValueTypeName: string(proto.MessageName(&model.Interface{})),
		KeySelector:   func(key string) bool { return strings.HasPrefix(key, itemPrefix) },
		KeyLabel:      func(key string) string { return strings.TrimPrefix(key, itemPrefix) },
		ValueComparator: func(key string, oldValue, newValue *model.Interface) bool {
			return strings.EqualFold(oldValue.Name, newValue.Name)
		},
		WithMetadata: true,
		Create: func(key string, value *model.Interface) (metadata any, err error) {
			done("create " + value.Name)
			return value.Name, nil
		},
		Delete: func(key string, value *model.Interface, metadata any) error {
			done("delete " + value.Name)
			return nil
		},
		Update: func(key string, oldValue, newValue *model.Interface, oldMetadata any) (newMetadata any, err error) {
			done("update " + newValue.Name)
			return newValue.Name, nil
		},
		UpdateWithRecreate: func(key string, oldValue, newValue *model.Interface, metadata any) bool {
			return strings.HasPrefix(newValue.Name, "other")
		},
		IsRetriableFailure: func(err error) bool { return !errors.Is(err, context.Canceled) },
		Dependencies: func(key string, value *model.Interface) []kvs.Dependency {
			if value.Name == "first" {
				return nil
			}
			return []kvs.Dependency{{
				Label: "another-item",
				AnyOf: kvs.AnyOfDependency{KeySelector: func(other string) bool { return other == itemPrefix+"1" }},
			}}
		},
		DerivedValues: func(key string, value *model.Interface) []kvs.KeyValuePair {
			return []kvs.KeyValuePair{{Key: "item-of/" + value.Name, Value: value}}
		},
		Retrieve: func(correlate []adapter.InterfaceKVWithMetadata) ([]adapter.InterfaceKVWithMetadata, error) {
			return nil, nil
		},
		RetrieveDependencies: []string{},
	})
}

func TestDescriptorOfTheDocuments(t *testing.T) {
	var did []string
	s := kvscheduler.NewPlugin(kvscheduler.UseOutput(t.Output()))
	agenttest.Start(t, s)
	p := &withScheduler{}
	p.Deps.KVScheduler = s
	d := newItemDescriptor(func(what string) { did = append(did, what) })
	if err := p.Deps.KVScheduler.RegisterKVDescriptor(d); err != nil {
		t.Fatal(err)
	}
	set := func(name string, value proto.Message) {
		t.Helper()
		if _, err := p.Deps.KVScheduler.StartNBTransaction().SetValue(itemPrefix+name, value).Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	set("2", &model.Interface{Name: "second"}) // waits for the first
	set("1", &model.Interface{Name: "first"})
	set("2", &model.Interface{Name: "SECOND"}) // means the same
	set("2", &model.Interface{Name: "third"})
	names, err := idxmap.Of[any](p.Deps.KVScheduler.GetMetadataMap("item"))
	if err != nil {
		t.Fatal(err)
	}
	if name, ok := names.Get("2"); !ok || name != "third" {
		t.Errorf("the metadata of item 2 is %v", name)
	}
	set("2", &model.Interface{Name: "other"})
	set("2", nil)
	want := []string{"create first", "create second", "update third", "delete third", "create other", "delete other"}
	if !slices.Equal(did, want) {
		t.Errorf("done: %q, expected %q", did, want)
	}
}
