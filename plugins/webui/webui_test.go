package webui_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/webui"
)

// start returns the base URL of a server with the pages.
func start(t *testing.T) string {
	t.Helper()
	server := rest.NewPlugin(rest.UseDeps(func(d *rest.Deps) { d.Cfg = config.Text("http", "endpoint: 127.0.0.1:0") }))
	agenttest.Start(t, &webui.Plugin{Deps: webui.Deps{HTTP: server}})
	return server.URL()
}

func get(t *testing.T, url string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(header) == 2 {
		req.Header.Set(header[0], header[1])
	}
	req.Close = true
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// reference finds the files that a page or a module names.
var reference = regexp.MustCompile(`(?:src|href)="([^"#{]+)"|(?:from|import\()\s*'([\w./-]+)'`)

// TestFiles follows all references from the first page. Each file has a type, forbids
// foreign content, and is not sent again while it has not changed; none is on another host.
func TestFiles(t *testing.T) {
	t.Parallel()
	base := start(t)
	todo, seen := []string{""}, map[string]bool{}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		resp, body := get(t, base+"/ui/"+name)
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") == "" {
			t.Errorf("%q: %s, type %q", name, resp.Status, resp.Header.Get("Content-Type"))
			continue
		}
		if csp := resp.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'self'") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("%q: policy %q", name, csp)
		}
		etag := resp.Header.Get("ETag")
		if again, _ := get(t, base+"/ui/"+name, "If-None-Match", etag); etag == "" || again.StatusCode != http.StatusNotModified {
			t.Errorf("%q: %s for ETag %q", name, again.Status, etag)
		}
		for _, m := range reference.FindAllStringSubmatch(body, -1) {
			to := m[1] + m[2]
			if strings.Contains(to, "://") {
				t.Errorf("%q refers to %s", name, to)
				continue
			}
			todo = append(todo, strings.TrimPrefix(to, "./"))
		}
	}
	for _, name := range []string{"app.js", "app.css", "icon.svg", "plan.js", "vendor/dagre.js"} {
		if !seen[name] {
			t.Errorf("%s is not referred to", name)
		}
	}
}

func TestOtherPaths(t *testing.T) {
	t.Parallel()
	base := start(t)
	if resp, _ := get(t, base+"/ui"); resp.StatusCode != http.StatusPermanentRedirect || resp.Header.Get("Location") != "/ui/" {
		t.Errorf("/ui: %s to %q", resp.Status, resp.Header.Get("Location"))
	}
	for _, path := range []string{"/ui/none.js", "/ui/static/", "/ui/vendor/", "/ui/%2e%2e/plugin.go"} {
		if resp, body := get(t, base+path); resp.StatusCode != http.StatusNotFound || !strings.Contains(body, "error") {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
	if _, page := get(t, base+"/"); !strings.Contains(page, `<a href="/ui/">web interface</a>`) {
		t.Errorf("the index page does not lead to the pages:\n%s", page)
	}
}
