package app_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// What the scheduler does to the interface comes to the collector as spans.
func TestSpansReachTheCollector(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got strings.Builder
	more := make(chan struct{}, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(&got, r.Body)
		select {
		case more <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(collector.Close)
	h := newHouse(t, network, "--simulate")
	h.write(t, "tracing.conf", "exporter: otlp\nendpoint: "+collector.URL+"\n")
	h.start(t)
	h.await(t, loopKey, pb.ValueState_CONFIGURED)
	late := time.After(patience)
	for _, want := range []string{"service.instance.id", "transaction", "refresh", loopKey} {
		for {
			mu.Lock()
			found := strings.Contains(got.String(), want)
			mu.Unlock()
			if found {
				break
			}
			select {
			case <-more:
			case <-late:
				t.Fatalf("%q did not come to the collector", want)
			}
		}
	}
}
