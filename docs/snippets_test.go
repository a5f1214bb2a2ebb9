package docs

import (
	"context"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/datasync/kvdbsync"
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
