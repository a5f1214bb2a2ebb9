package kvtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// Record records the updates of a store, for tests of single connectors. The
// follower ends with the test.
func Record(tb testing.TB, store kv.Store, prefix string) *Recorder {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	c := &Recorder{t: newUpdateLog(&bench{TB: tb, ctx: deadline(tb)}), known: map[string]string{}}
	ended := make(chan error, 1)
	go func() { ended <- store.Watch(ctx, prefix, c.handle) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("watch: %v", err)
		}
	})
	return c
}

func deadline(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	tb.Cleanup(cancel)
	return ctx
}

// Recorder has the content that a store reported.
type Recorder struct {
	t       *updateLog
	known   map[string]string // guarded by t.mu
	resyncs int
}

func (c *Recorder) handle(u kv.Update) error {
	c.t.mu.Lock()
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
	var text []string
	for key, value := range c.known {
		text = append(text, key+"="+value)
	}
	slices.Sort(text)
	c.t.text = []string{fmt.Sprintf("%d resyncs: %s", c.resyncs, strings.Join(text, " "))}
	c.t.mu.Unlock()
	select {
	case c.t.more <- struct{}{}:
	default:
	}
	return nil
}

// Await waits until the store has reported that many resyncs, and the content
// is the text ("a=1 b=2").
func (c *Recorder) Await(resyncs int, content string) {
	c.t.b.Helper()
	c.t.await(fmt.Sprintf("%d resyncs: %s", resyncs, content))
}

// AwaitResyncs waits until the store has reported at least that many resyncs.
func (c *Recorder) AwaitResyncs(n int) {
	c.t.b.Helper()
	late := time.After(patience)
	for {
		c.t.mu.Lock()
		now := c.resyncs
		c.t.mu.Unlock()
		if now >= n {
			return
		}
		select {
		case <-c.t.more:
		case <-late:
			c.t.b.Fatalf("%d resyncs, want %d", now, n)
		}
	}
}

// AwaitHealth waits until the one plugin in the tree has the state, with the
// text as part of its reason.
func AwaitHealth(tb testing.TB, tree *health.Tree, state health.State, text string) {
	tb.Helper()
	changed, ctx := tick(tb), deadline(tb)
	for {
		got := tree.Snapshot().Plugins[0]
		if got.State == state && strings.Contains(got.Reason+" "+got.Error, text) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			tb.Fatalf("health %+v, want %v with %q", got, state, text)
		}
	}
}

func tick(tb testing.TB) <-chan time.Time {
	t := time.NewTicker(10 * time.Millisecond)
	tb.Cleanup(t.Stop)
	return t.C
}
