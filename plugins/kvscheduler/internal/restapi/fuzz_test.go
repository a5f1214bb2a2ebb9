package restapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/restapi"
)

// Whatever is asked for, the answer is one: arguments that make no sense are
// errors of the client (4xx), which say why.
func FuzzArguments(f *testing.F) {
	for _, query := range []string{
		"key=bd/1&time=2026-11-21T00:37:45Z", "seq-num=2&format=text&critical-path=1&limit=0", "since=-1&until=99999999999999999999",
		"view=nb&descriptor=bd", "flag=value-state&prefix=a&prefix=b", "key=a&key=b&state=CONFIGURED&timeout=1ms&revision=x", "%zz", "format=dot&txn=18446744073709551615",
	} {
		for i := range uint8(20) {
			f.Add(i, query)
		}
	}
	var endpoints []http.HandlerFunc
	for _, e := range restapi.Endpoints(restapi.Deps{Scheduler: newFake(), Graphviz: "no-such-program", Now: func() time.Time { return at(100) }}) {
		if e.Methods[0] == http.MethodGet {
			endpoints = append(endpoints, e.Handler)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, query string) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // a watch ends at once
		r := (&http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/", RawQuery: query}, Header: http.Header{}}).WithContext(ctx)
		w := httptest.NewRecorder()
		endpoints[int(which)%len(endpoints)](w, r)
		if w.Code < 400 {
			return
		}
		var refusal struct{ Error string }
		if err := json.Unmarshal(w.Body.Bytes(), &refusal); err != nil || refusal.Error == "" {
			t.Errorf("%q: %d %s", query, w.Code, w.Body)
		}
		if w.Code >= 500 && !strings.Contains(refusal.Error, context.Canceled.Error()) && refusal.Error != "dump failed" {
			t.Errorf("%q: %d %s", query, w.Code, refusal.Error)
		}
	})
}
