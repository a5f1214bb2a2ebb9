package restapi_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/restapi"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func serve(t *testing.T, f *fake) func(method, url string) *httptest.ResponseRecorder {
	t.Helper()
	return serveWith(t, f, "no-such-program")
}

func serveWith(t *testing.T, f *fake, graphviz string) func(method, url string) *httptest.ResponseRecorder {
	t.Helper()
	mux := http.NewServeMux()
	deps := restapi.Deps{Scheduler: f, Graphviz: graphviz, Now: func() time.Time { return at(100) }}
	for _, e := range restapi.Endpoints(deps) {
		for _, method := range e.Methods {
			mux.Handle(method+" "+e.Path, e.Handler)
		}
	}
	return func(method, url string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(method, url, nil))
		return w
	}
}

// Every kind of answer, as text: the contract with the clients.
func TestAnswers(t *testing.T) {
	t.Parallel()
	get := serve(t, newFake())
	for name, url := range map[string]string{
		"txn-history.json":       "/scheduler/txn-history",
		"txn-history.txt":        "/scheduler/txn-history?format=text",
		"txn-2.json":             "/scheduler/txn-history?seq-num=2",
		"txn-none.json":          "/scheduler/txn-history?since=" + fmt.Sprint(at(99).UnixNano()),
		"key-timeline.json":      "/scheduler/key-timeline?key=bd/1",
		"key-timeline-gone.json": "/scheduler/key-timeline?key=gone&time=2026-11-21T00:37:45Z",
		"graph-snapshot.json":    "/scheduler/graph-snapshot",
		"graph-past.json":        "/scheduler/graph-snapshot?time=" + fmt.Sprint(at(15).UnixNano()),
		"flag-stats.json":        "/scheduler/flag-stats?flag=value-state",
		"flag-stats-prefix.json": "/scheduler/flag-stats?flag=derived&prefix=bd/&prefix=x",
		"dump-index.json":        "/scheduler/dump",
		"dump.json":              "/scheduler/dump?descriptor=bd&view=sb",
		"status.json":            "/scheduler/status",
		"summary.json":           "/scheduler/summary",
		"summary-none.json":      "/scheduler/summary?limit=0",
		"txn-brief.json":         "/scheduler/txn-history?brief=1",
		"txn-brief-items.json":   "/scheduler/txn-history?brief=1&items=1",
		"txn-brief-one.json":     "/scheduler/txn-history?brief=1&seq-num=2",
		"status-times.json":      "/scheduler/status?times=1",
		"status-one.json":        "/scheduler/status?key=bd/1",
		"status-derived.json":    "/scheduler/status?descriptor=bd-if",
		"status-none.json":       "/scheduler/status?key-prefix=zzz",
		"stats.json":             "/scheduler/stats",
		"queue.json":             "/scheduler/queue",
		"quarantine.json":        "/scheduler/quarantine",
		"critical-path.json":     "/scheduler/txn-history?seq-num=3&critical-path=1&limit=3",
		"critical-path.txt":      "/scheduler/txn-history?seq-num=3&critical-path=1&format=text&limit=0",
		"critical-path-cut.txt":  "/scheduler/txn-history?seq-num=3&critical-path=1&format=text&limit=3",
		"critical-path-old.txt":  "/scheduler/txn-history?seq-num=2&critical-path=1&format=text",
		"why.json":               "/scheduler/why?key=bd/1/if",
		"why.txt":                "/scheduler/why?key=bd/1/if&format=text",
		"graph.dot":              "/scheduler/graph?format=dot",
		"graph-txn.dot":          "/scheduler/graph?format=raw&txn=0&prefix=bd/",
	} {
		w := get("GET", url)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", url, w.Code, w.Body)
		}
		golden(t, name, w.Body.Bytes())
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs; got:\n%s", file, got)
	}
}

// Clients of the predecessor send all arguments that they know.
func TestEmptyArgumentsAreAbsent(t *testing.T) {
	t.Parallel()
	get := serve(t, newFake())
	for url, same := range map[string]string{
		"status?key=&key-prefix=":                        "status",
		"status?key=&key-prefix=bd/":                     "status?key-prefix=bd/",
		"dump?descriptor=bd&key-prefix=&view=":           "dump?descriptor=bd",
		"txn-history?seq-num=&since=&until=&format=":     "txn-history",
		"flag-stats?flag=value-state&prefix=&prefix=bd/": "flag-stats?flag=value-state&prefix=bd/",
	} {
		got, want := get("GET", "/scheduler/"+url), get("GET", "/scheduler/"+same)
		if got.Code != http.StatusOK || got.Body.String() != want.Body.String() {
			t.Errorf("%s: %d %s\nwant the answer to %s: %s", url, got.Code, got.Body, same, want.Body)
		}
	}
}

// A wrong argument is 400, a thing that is not there 404; the reason names the
// argument and the expected values.
func TestRefusals(t *testing.T) {
	t.Parallel()
	get := serve(t, newFake())
	for _, tc := range []struct {
		url  string
		code int
		want []string
	}{
		{"txn-history?format=xml", 400, []string{"format", "xml", "json or text"}},
		{"txn-history?seq-num=x", 400, []string{"seq-num", "number"}},
		{"txn-history?critical-path=1", 400, []string{"seq-num", "critical-path"}},
		{"txn-history?seq-num=3&limit=2", 400, []string{"limit", "critical-path"}},
		{"txn-history?seq-num=3&critical-path=yes", 400, []string{"critical-path", "0 or 1"}},
		{"txn-history?seq-num=4&critical-path=1", 409, []string{"4", "still executed"}},
		{"txn-history?seq-num=-1", 400, []string{"seq-num", "number"}},
		{"txn-history?seq-num=99", 404, []string{"seq-num", "99", "history"}},
		{"txn-history?since=yesterday", 400, []string{"since", "nanoseconds"}},
		{"txn-history?since=20&until=10", 400, []string{"until", "later"}},
		{"txn-history?seqnum=1", 400, []string{"seqnum", "seq-num"}},
		{"txn-history?seq-num=1&seq-num=2", 400, []string{"seq-num", "once"}},
		{"txn-history?a=%zz", 400, []string{"query"}},
		{"key-timeline", 400, []string{"key", "missing"}},
		{"key-timeline?key=unknown", 404, []string{"unknown", "no such value"}},
		{"key-timeline?key=bd/1&time=later", 400, []string{"time", "later"}},
		{"key-timeline?key=gone&time=2026-11-21T00:37:28Z", 404, []string{"gone", "no such value at"}},
		{"graph-snapshot?time=x", 400, []string{"time"}},
		{"flag-stats", 400, []string{"flag", "value-state"}},
		{"flag-stats?flag=color", 400, []string{"flag", "color", "value-state or"}},
		{"dump?view=up&descriptor=bd", 400, []string{"view", "up", "SB, NB or cached"}},
		{"dump?descriptor=nope", 404, []string{"descriptor", "nope"}},
		{"dump?key-prefix=nope", 404, []string{"key-prefix", "nope"}},
		{"dump?descriptor=bd&key-prefix=other/", 400, []string{"descriptor", "key-prefix", "only one"}},
		{"dump?descriptor=bd-if", 400, []string{"view", "bd-if", "NB or cached"}},
		{"dump?descriptor=bd&view=NB", 500, []string{"dump failed"}},
		{"status?key=a&descriptor=b", 400, []string{"only one"}},
		{"status?descriptor=b", 404, []string{"no such descriptor"}},
		{"why?key=", 400, []string{"key", "missing"}},
		{"graph?format=gif", 400, []string{"format", "gif", "dot or raw or svg or png"}},
		{"graph?txn=77", 404, []string{"txn", "77"}},
		{"graph?txn=first", 400, []string{"txn", "number"}},
		{"graph?limit=1000000", 400, []string{"limit", "at most"}},
		{"stats?x=1", 400, []string{"x", "no arguments"}},
		{"why", 400, []string{"key", "missing"}},
		{"why?key=none", 404, []string{"none"}},
		{"why?key=bd/1&format=yaml", 400, []string{"format", "yaml"}},
	} {
		w := get("GET", "/scheduler/"+tc.url)
		if w.Code != tc.code {
			t.Errorf("%s: status %d, want %d: %s", tc.url, w.Code, tc.code, w.Body)
		}
		var body struct{ Error string }
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Errorf("%s: %v in %s", tc.url, err, w.Body)
		}
		for _, want := range tc.want {
			if !strings.Contains(body.Error, want) {
				t.Errorf("%s: error %q lacks %q", tc.url, body.Error, want)
			}
		}
	}
	if w := get("GET", "/scheduler/downstream-resync"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET of a resync: %d", w.Code)
	}
}

// Times before the start of a trimmed history are 404.
func TestTrimmedHistory(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.history = slices.Delete(f.history, 1, 2)
	get := serve(t, f)
	if w := get("GET", "/scheduler/graph-snapshot?time="+fmt.Sprint(at(5).UnixNano())); w.Code != 404 ||
		!strings.Contains(w.Body.String(), "transactions 1 to 1 are no longer in the history") {
		t.Errorf("a gap: %d %s", w.Code, w.Body)
	}
	f.history = f.history[1:]
	if w := get("GET", "/scheduler/graph-snapshot?time="+fmt.Sprint(at(5).UnixNano())); w.Code != 404 ||
		!strings.Contains(w.Body.String(), "reaches back to 2026-11-21T00:37:48Z") {
		t.Errorf("too early: %d %s", w.Code, w.Body)
	}
}

func TestDownstreamResync(t *testing.T) {
	t.Parallel()
	f := newFake()
	var got api.TxnOptions
	var result error
	f.commit = func(o api.TxnOptions) (uint64, error) { got = o; return 2, result }
	post := serve(t, f)
	w := post("POST", "/scheduler/downstream-resync?retry=1&verbose=true")
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"SeqNum": 2`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if got.Resync != api.DownstreamResync || !got.Verbose || got.Retry == nil {
		t.Errorf("options %+v", got)
	}
	for _, tc := range []struct {
		err  error
		code int
	}{
		{api.NewTransactionError(api.ErrClosedScheduler, nil, false), 503},
		{api.NewTransactionError(errors.New("x"), nil, false), 500},
		{api.NewTransactionError(nil, []api.KeyWithError{{Key: "bd/1", Error: errors.New("x")}}, false), 200},
	} {
		result = tc.err
		if w := post("POST", "/scheduler/downstream-resync"); w.Code != tc.code || got.Retry != nil {
			t.Errorf("%v: %d %s", tc.err, w.Code, w.Body)
		}
	}
	if w := post("POST", "/scheduler/downstream-resync?retry=perhaps"); w.Code != 400 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestReleaseOfQuarantined(t *testing.T) {
	t.Parallel()
	f := newFake()
	do := serve(t, f)
	for url, want := range map[string]int{
		"/scheduler/quarantine":                                 http.StatusBadRequest,
		"/scheduler/quarantine?release=0":                       http.StatusBadRequest,
		"/scheduler/quarantine?release=1&key=tap/7":             http.StatusConflict,
		"/scheduler/quarantine?release=1&keys=tap/1":            http.StatusBadRequest,
		"/scheduler/quarantine?release=1&key=tap/1&key=route/1": http.StatusOK,
		"/scheduler/quarantine?release=1":                       http.StatusOK,
	} {
		if got := do(http.MethodPost, url); got.Code != want {
			t.Errorf("%s: %d %s, want %d", url, got.Code, got.Body, want)
		}
	}
	if len(f.released) != 3 {
		t.Errorf("released %q", f.released)
	}
}
