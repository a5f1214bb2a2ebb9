package tracing

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// collector is an exporter that fails while err is set.
type collector struct {
	mu    sync.Mutex
	err   error
	tries int
	got   []string
}

func (c *collector) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func (c *collector) state() (tries int, got []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tries, slices.Clone(c.got)
}

func (c *collector) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tries++
	for _, s := range spans {
		if c.err == nil {
			c.got = append(c.got, s.Name())
		}
	}
	return c.err
}

func (c *collector) Shutdown(context.Context) error { return nil }

// A collector that is away degrades health, with the cause; nothing waits for it;
// and it is well again when it works, also without further spans.
func TestDeadCollector(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tree := health.NewTree(time.Now)
		c := &collector{}
		w := newWatched(c, "collector", infratest.Logger(t, "tracing"), tree.Plugin("tracing"))
		tree.Ready("tracing")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan struct{})
		go func() { defer close(done); w.retry(ctx) }()
		provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(w, sdktrace.WithBatchTimeout(time.Second)))
		defer func() { _ = provider.Shutdown(context.Background()) }()
		span := func(names ...string) {
			for _, name := range names {
				_, s := provider.Tracer("test").Start(context.Background(), name)
				s.End()
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
		want := func(state string, got ...string) {
			t.Helper()
			p := tree.Snapshot().Plugins[0]
			_, has := c.state()
			if text := strings.TrimSpace(p.State.String() + " " + p.Trouble()); !strings.HasPrefix(text, state) || !slices.Equal(has, got) {
				t.Errorf("health %q, the collector has %v; want %q and %v", text, has, state, got)
			}
		}
		span("a")
		want("OK", "a")
		c.fail(errors.New("connection refused"))
		span("lost", "gone")
		want("DEGRADED spans are not exported: connection refused", "a")
		c.fail(errors.New("no such host"))
		span("b")
		want("DEGRADED spans are not exported: no such host", "a")
		before, _ := c.state()
		time.Sleep(time.Minute)
		synctest.Wait()
		if tries, _ := c.state(); tries-before != int(time.Minute/retryPause) {
			t.Errorf("%d attempts in a minute", tries-before)
		}
		c.fail(nil)
		time.Sleep(retryPause)
		synctest.Wait()
		want("OK", "a", "b")
		before, _ = c.state()
		time.Sleep(time.Hour)
		if tries, _ := c.state(); tries != before {
			t.Errorf("%d attempts without spans", tries-before)
		}
		c.fail(errors.New("full"))
		span("c")
		c.fail(nil)
		span("d") // works before the other attempt
		want("OK", "a", "b", "d")
		cancel()
		<-done
	})
}
