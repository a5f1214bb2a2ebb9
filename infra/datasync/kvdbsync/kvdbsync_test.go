package kvdbsync_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/datasync/kvdbsync"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/bolt"
	"github.com/tenuto-dev/tenuto/infra/kv/consul"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/redis"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a store whose updates are given by the test.
type memory struct {
	updates  chan kv.Update
	results  chan error
	disabled bool
	put      map[string]proto.Message
}

func (m *memory) String() string { return "memory" }
func (m *memory) Disabled() bool { return m.disabled }
func (m *memory) Put(key string, value proto.Message, _ ...kv.PutOption) error {
	m.put[key] = value
	return nil
}

func (m *memory) Delete(key string, _ ...kv.DelOption) (existed bool, err error) {
	_, existed = m.put[key]
	delete(m.put, key)
	return existed, nil
}

func (m *memory) Watch(ctx context.Context, _ string, handle func(kv.Update) error) error {
	for {
		select {
		case u := <-m.updates:
			m.results <- handle(u)
		case <-ctx.Done():
			return nil
		}
	}
}

func start(t *testing.T, m *memory) *kvdbsync.Plugin {
	t.Helper()
	p := kvdbsync.NewPlugin(kvdbsync.UseKV(m), kvdbsync.UseDeps(func(d *kvdbsync.Deps) {
		d.ServiceLabel = servicelabel.NewPlugin(servicelabel.UseLabel("me"))
	}))
	agenttest.Start(t, p)
	return p
}

func entry(key, value string) kv.Change {
	return kv.Change{Entry: kv.Entry{Key: key, Value: kv.Decoded{Message: wrapperspb.String(value)}, Revision: 3, Location: kv.At("here")}}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	m := &memory{updates: make(chan kv.Update, 1), results: make(chan error, 1)}
	p := start(t, m)
	if p.String() != "kvdb-memory-datasync" || p.Source() != "memory" {
		t.Errorf("names %q, %q", p, p.Source())
	}
	changes, resyncs := make(chan datasync.ChangeEvent), make(chan datasync.ResyncEvent)
	reg, err := p.Watch("test", changes, resyncs, "a/", "b/")
	if err != nil {
		t.Fatal(err)
	}
	m.updates <- kv.Update{Resync: true, Changes: []kv.Change{entry("a/1", "x"), entry("c/1", "y")}}
	r := <-resyncs
	values := r.GetValues()
	got := slices.Collect(values["a/"])
	if len(values) != 2 || len(got) != 1 || got[0].GetKey() != "a/1" || got[0].GetRevision() != 3 || got[0].(datasync.Located).Location().Text("") != "here" {
		t.Errorf("resync %v", got)
	}
	failure := errors.New("no")
	r.Done(failure)
	r.Done(nil) // does nothing
	if err := <-m.results; !errors.Is(err, failure) {
		t.Errorf("the store got %v, want %v", err, failure)
	}

	m.updates <- kv.Update{Changes: []kv.Change{entry("c/1", "z")}} // of no interest
	if err := <-m.results; err != nil {
		t.Error(err)
	}
	m.updates <- kv.Update{Changes: []kv.Change{entry("b/1", "z"), {Entry: kv.Entry{Key: "a/1"}, Deleted: true}}}
	c := <-changes
	var text []string
	for _, ch := range c.GetChanges() {
		v := wrapperspb.String("?")
		if err := ch.GetValue(v); err != nil {
			t.Error(err)
		}
		text = append(text, ch.GetKey(), v.Value)
	}
	if strings.Join(text, " ") != "b/1 z a/1 " || c.GetChanges()[1].GetChangeType() != datasync.Delete {
		t.Errorf("changes %q", text)
	}
	if err := c.GetChanges()[0].GetValue(wrapperspb.Bool(true)); err == nil {
		t.Error("a value was decoded into a message of another type")
	}
	c.Done(nil)
	if err := <-m.results; err != nil {
		t.Error(err)
	}

	for _, missing := range [][]string{{"x.yaml"}, nil} { // told although nothing of interest changed
		m.updates <- kv.Update{Changes: []kv.Change{entry("c/1", "z")}, Incomplete: missing}
		c = <-changes
		if got := c.(datasync.Partial).Incomplete(); !slices.Equal(got, missing) || len(c.GetChanges()) != 0 {
			t.Errorf("changes %v, incomplete %q, want none and %q", c.GetChanges(), got, missing)
		}
		if missing != nil {
			c.Done(nil)
			<-m.results
		}
	}
	if err := reg.Close(); err != nil { // while Done is outstanding
		t.Error(err)
	}
	if err := <-m.results; !errors.Is(err, context.Canceled) {
		t.Errorf("closed during an event: %v", err)
	}
}

// As the user's documents have it.
func TestDefaultPlugins(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]*kvdbsync.Plugin{
		"kvdb-etcd-datasync": kvdbsync.NewPlugin(kvdbsync.UseKV(&etcd.DefaultPlugin)), "kvdb-redis-datasync": kvdbsync.NewPlugin(kvdbsync.UseKV(&redis.DefaultPlugin)),
		"kvdb-consul-datasync": kvdbsync.NewPlugin(kvdbsync.UseKV(&consul.DefaultPlugin)), "kvdb-bolt-datasync": kvdbsync.NewPlugin(kvdbsync.UseKV(&bolt.DefaultPlugin)),
	} {
		if p.String() != want || "kvdb-"+p.Source()+"-datasync" != want {
			t.Errorf("names %q, %q, want %q", p, p.Source(), want)
		}
	}
}

func TestPut(t *testing.T) {
	t.Parallel()
	m := &memory{put: map[string]proto.Message{}}
	p := start(t, m)
	ws := datasync.KVProtoWriters{p}
	if err := ws.Put("status/x", wrapperspb.Bool(true)); err != nil || m.put["/vnf-agent/me/status/x"] == nil {
		t.Errorf("put: %v, %v", err, m.put)
	}
	if existed, err := ws.Delete("status/x", kv.WithPrefix()); err != nil || !existed || len(m.put) != 0 {
		t.Errorf("delete: %v, %v, %v", existed, err, m.put)
	}
	m.disabled = true
	if _, err := ws.Delete("status/x"); !errors.Is(err, kvdbsync.ErrNotWritable) {
		t.Errorf("delete in a disabled store: %v", err)
	}
	if err := ws.Put("status/x", nil); !errors.Is(err, kvdbsync.ErrNotWritable) {
		t.Errorf("put into a disabled store: %v", err)
	}
	reg, err := datasync.KVProtoWatchers{p}.Watch("test", nil, nil)
	if err != nil || reg.Close() != nil {
		t.Errorf("watch of a disabled store: %v", err)
	}
}
