package restapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/restapi"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// stream is an answer that is received piece by piece.
type stream struct {
	*httptest.ResponseRecorder
	pieces chan string
}

func (s stream) Write(data []byte) (int, error) {
	s.pieces <- string(data)
	return len(data), nil
}

// live serves a scheduler with a descriptor of taps.
func live(t *testing.T) (mux *http.ServeMux, s api.KVScheduler, sb *kvstest.MockSB, stop func()) {
	t.Helper()
	sb = kvstest.NewMockSB()
	s, stop = kvstest.NewScheduler(t, kvstest.NewClock())
	if err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/")); err != nil {
		t.Fatal(err)
	}
	mux = http.NewServeMux()
	for _, e := range restapi.Endpoints(restapi.Deps{Scheduler: s.(restapi.Scheduler)}) {
		for _, method := range e.Methods {
			mux.Handle(method+" "+e.Path, e.Handler)
		}
	}
	return mux, s, sb, stop
}

// follow asks for a stream; its pieces end with the answer.
func follow(ctx context.Context, mux *http.ServeMux, url string) <-chan string {
	w := stream{httptest.NewRecorder(), make(chan string)}
	go func() {
		defer close(w.pieces)
		mux.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, url, nil))
	}()
	return w.pieces
}

func set(t *testing.T, s api.KVScheduler, key string, v *model.Item) {
	t.Helper()
	if _, err := s.StartNBTransaction().SetValue(key, v).Commit(t.Context()); err != nil {
		t.Error(err)
	}
	s.TransactionBarrier()
}

func TestWatchStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mux, s, _, stop := live(t)
		set(t, s, "tap/1", &model.Item{Deps: []string{"tap/2"}})
		events := follow(t.Context(), mux, "/scheduler/watch")
		first := <-events
		if !strings.Contains(first, "event: snapshot\n") || !strings.Contains(first, "PENDING") || !strings.HasSuffix(first, "}\n\n") {
			t.Errorf("first event %q", first)
		}
		begin := time.Now()
		if beat := <-events; beat != ":\n\n" || time.Since(begin) != 15*time.Second {
			t.Errorf("heartbeat %q after %v", beat, time.Since(begin))
		}
		set(t, s, "tap/2", &model.Item{})
		delta := <-events
		if !strings.Contains(delta, "event: delta\n") || strings.Count(delta, "CONFIGURED") != 2 {
			t.Errorf("second event %q", delta)
		}
		revision := strings.TrimPrefix(strings.Split(first, "\n")[0], "id: ")
		ctx, cancel := context.WithCancel(t.Context())
		again := follow(ctx, mux, "/scheduler/watch?prefix=tap/2&since="+revision)
		if ev := <-again; !strings.Contains(ev, "event: delta\n") || strings.Contains(ev, `"tap/1"`) {
			t.Errorf("resumed with %q", ev)
		}
		cancel()
		if last := <-again; last != ": the end\n\n" {
			t.Errorf("the client left: %q", last)
		}
		go stop()
		if last := <-events; last != ": the end\n\n" {
			t.Errorf("the scheduler ended: %q", last)
		}
		if _, more := <-events; more {
			t.Error("the stream continues")
		}
	})
}

func TestWaitEndpoint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mux, s, sb, stop := live(t)
		set(t, s, "tap/1", &model.Item{Deps: []string{"tap/2"}})
		ask := func(query string) (int, string) {
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/scheduler/wait?"+query, nil))
			return w.Code, w.Body.String()
		}
		answers := make(chan int, 1)
		go func() {
			code, _ := ask("key=tap/1&key=tap/2&timeout=1m")
			answers <- code
		}()
		synctest.Wait()
		set(t, s, "tap/2", &model.Item{})
		if code := <-answers; code != http.StatusOK {
			t.Errorf("status %d", code)
		}
		sb.Inject(kvstest.Fault{Op: pb.TxnOperation_CREATE, Key: "tap/3"})
		_, _ = s.StartNBTransaction().SetValue("tap/3", &model.Item{}).Commit(t.Context())
		for query, want := range map[string]struct {
			code int
			text string
		}{
			"prefix=tap/":                       {http.StatusConflict, "injected failure"},
			"key=tap/4&timeout=10s":             {http.StatusGatewayTimeout, "not within 10s: tap/4 is NONEXISTENT (not configured)"},
			"key=tap/1&state=failed,configured": {http.StatusOK, "revision"},
			"key=tap/4&state=absent":            {http.StatusOK, "revision"},
			"txn=0":                             {http.StatusOK, "revision"},
			"txn=9":                             {http.StatusNotFound, "transaction 9"},
			"txn=x":                             {http.StatusBadRequest, "txn"},
			"key=tap/1&state=NICE":              {http.StatusBadRequest, "NICE"},
			"key=tap/1&timeout=soon":            {http.StatusBadRequest, "soon"},
			"revision=1":                        {http.StatusBadRequest, "revision"},
			"revision=" + s.Revision().String(): {http.StatusOK, "revision"},
			"":                                  {http.StatusConflict, "injected failure"},
			"state=pending,failed,configured":   {http.StatusOK, "revision"},
			"txn=1&txn=2":                       {http.StatusBadRequest, "once"},
		} {
			if code, text := ask(query); code != want.code || !strings.Contains(text, want.text) {
				t.Errorf("%s: %d %s, expected %d with %q", query, code, text, want.code, want.text)
			}
		}
		stop()
		if code, text := ask("key=tap/4"); code != http.StatusServiceUnavailable {
			t.Errorf("after the end: %d %s", code, text)
		}
	})
}
