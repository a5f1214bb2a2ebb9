package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/rest/render"
)

// plain is a provider, as RegisterHTTPHandler expects it, of a handler that needs no
// formatter.
func plain(h http.HandlerFunc) func(*render.Render) http.HandlerFunc {
	return func(*render.Render) http.HandlerFunc { return h }
}

// Handlers of code that was written for cn-infra write with the formatter.
func TestFormatter(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	register := func(path string, provider func(*render.Render) http.HandlerFunc, methods ...string) {
		t.Helper()
		if err := p.RegisterHTTPHandler(path, provider, methods...); err != nil {
			t.Fatal(err)
		}
	}
	register("/greeting/{name}", func(formatter *render.Render) http.HandlerFunc {
		return func(w http.ResponseWriter, req *http.Request) {
			if err := formatter.JSON(w, http.StatusOK, map[string]string{"greeting": "Hello " + req.PathValue("name")}); err != nil {
				t.Error(err)
			}
		}
	}, http.MethodGet, http.MethodPost)
	register("/text", func(formatter *render.Render) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if err := formatter.Text(w, http.StatusTeapot, "short and stout"); err != nil {
				t.Error(err)
			}
		}
	})
	register("/bad", func(formatter *render.Render) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _ = formatter.JSON(w, http.StatusOK, make(chan int)) }
	})
	for _, test := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/greeting/Ada", 200, "{\n  \"greeting\": \"Hello Ada\"\n}\n"},
		{"POST", "/greeting/Ada", 200, "{\n  \"greeting\": \"Hello Ada\"\n}\n"},
		{"GET", "/text", 418, "short and stout"},
		{"GET", "/bad", 500, "json: unsupported type: chan int\n"},
	} {
		resp, body := do(t, nil, test.method, p.URL()+test.path, nil)
		if resp.StatusCode != test.status || body != test.body {
			t.Errorf("%s %s: %d %q, expected %d %q", test.method, test.path, resp.StatusCode, body, test.status, test.body)
		}
	}

	err := p.RegisterHTTPHandler("/none", func(*render.Render) http.HandlerFunc { return nil })
	if want := "register /none: the provider returned no handler"; fmt.Sprint(err) != want {
		t.Errorf("got error %v, expected %q", err, want)
	}
	err = p.RegisterHTTPHandler("/text", plain(func(http.ResponseWriter, *http.Request) {}))
	if !strings.Contains(fmt.Sprint(err), "register GET /text") {
		t.Errorf("got error %v, expected one for an endpoint that exists", err)
	}
}
