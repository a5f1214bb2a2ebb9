package kvtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// monitor guards what a follower has seen. The test waits for its changes.
type monitor struct {
	mu      sync.Mutex
	changed chan struct{} // buffered
}

func newMonitor() monitor { return monitor{changed: make(chan struct{}, 1)} }

// change calls f, which changes what was seen.
func (m *monitor) change(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// await waits until done. It fails the test with the result of problem when ctx ends.
func (m *monitor) await(ctx context.Context, tb testing.TB, done func() bool, problem func() string) {
	tb.Helper()
	for {
		m.mu.Lock()
		ok, text := done(), problem()
		m.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-m.changed:
		case <-ctx.Done():
			tb.Fatal(text)
		}
	}
}

// Record records the updates of a store, for tests of single connectors. The
// follower ends with the test.
func Record(tb testing.TB, store kv.Store, prefix string) *Recorder {
	tb.Helper()
	b := &bench{TB: tb, ctx: deadline(tb)}
	c := &Recorder{b: b, monitor: newMonitor(), known: map[string]string{}}
	b.inBackground(func(ctx context.Context) error { return store.Watch(ctx, prefix, c.handle) })
	return c
}

func deadline(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	tb.Cleanup(cancel)
	return ctx
}

// Recorder has the content that a store reported.
type Recorder struct {
	b       *bench
	monitor monitor // guards the fields below
	known   map[string]string
	resyncs int
}

func (c *Recorder) handle(u kv.Update) error {
	c.monitor.change(func() {
		if u.Resync {
			clear(c.known)
			c.resyncs++
		}
		for _, ch := range u.Changes {
			if ch.Deleted {
				delete(c.known, ch.Key)
			} else {
				c.known[ch.Key] = fmt.Sprintf("%s", ch.Value)
			}
		}
	})
	return nil
}

// content returns what the store has reported, sorted by key.
func (c *Recorder) content() string {
	var text []string
	for key, value := range c.known {
		text = append(text, key+"="+value)
	}
	slices.Sort(text)
	return strings.Join(text, " ")
}

// Await waits until the store has reported that many resyncs, and the content
// is the text ("a=1 b=2").
func (c *Recorder) Await(resyncs int, content string) {
	c.b.Helper()
	c.monitor.await(c.b.ctx, c.b, func() bool { return c.resyncs == resyncs && c.content() == content },
		func() string {
			return fmt.Sprintf("%d resyncs: %q, want %d: %q", c.resyncs, c.content(), resyncs, content)
		})
}

// AwaitResyncs waits until the store has reported at least that many resyncs.
func (c *Recorder) AwaitResyncs(n int) {
	c.b.Helper()
	c.monitor.await(c.b.ctx, c.b, func() bool { return c.resyncs >= n },
		func() string { return fmt.Sprintf("%d resyncs, want %d", c.resyncs, n) })
}

// AwaitHealth waits until the one plugin in the tree has the state, with the
// text in its reason or in the reason of a part.
func AwaitHealth(tb testing.TB, tree *health.Tree, state health.State, text string) {
	tb.Helper()
	changed, cancel := tree.Changes()
	defer cancel()
	ctx := deadline(tb)
	for {
		got := tree.Snapshot().Plugins[0]
		if got.State == state && strings.Contains(got.Reason+" "+got.Error+" "+got.Trouble(), text) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			tb.Fatalf("health %+v, want %v with %q", got, state, text)
		}
	}
}

// Silent checks the behaviour of a client whose server disappears without closing
// the connection, as when a cable is pulled: the client notices without a request,
// and gets the missed changes when the server responds again. client is connected
// through the proxy of the server, and its health is in the tree; other is
// connected directly. The same holds if only the present connection disappears. why is part of
// the health meanwhile.
func Silent(tb testing.TB, server *Process, client kv.Store, tree *health.Tree, other kv.Connector, why string) {
	tb.Helper()
	recorder := Record(tb, client, "/silent/")
	recorder.Await(1, "")
	AwaitHealth(tb, tree, health.OK, "")
	heal := server.Proxy.Partition()
	defer heal()
	AwaitHealth(tb, tree, health.Degraded, why)
	if err := other.Put("/silent/a", wrapperspb.Int32(1)); err != nil {
		tb.Fatal(err)
	}
	heal()
	AwaitHealth(tb, tree, health.OK, "")
	recorder.Await(1, "a=1")
	server.Proxy.Forget()
	if err := other.Put("/silent/b", wrapperspb.Int32(2)); err != nil {
		tb.Fatal(err)
	}
	recorder.Await(1, "a=1 b=2")
	AwaitHealth(tb, tree, health.OK, "")
}
