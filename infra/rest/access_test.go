package rest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

// TestAccess checks that clients learn what they may do.
func TestAccess(t *testing.T) {
	t.Parallel()
	ok := func(http.ResponseWriter, *http.Request) {}
	thing := rest.Endpoint{Path: "/thing/{name}", Methods: []string{"PUT"}, Handler: ok}
	of := func(p *rest.Plugin, edit func(*http.Request)) (status int, a rest.Access) {
		resp, body := do(t, nil, "GET", p.URL()+"/info/access", edit)
		if resp.StatusCode == http.StatusOK {
			infratest.Fatal(t, json.Unmarshal([]byte(body), &a))
		}
		return resp.StatusCode, a
	}
	open := start(t, "")
	infratest.Fatal(t, open.Register("things", thing))
	if _, a := of(open, nil); a.User != "" || a.Login != "" || !slices.Contains(a.Endpoints, "PUT /thing/{name}") || !slices.Contains(a.Endpoints, "GET /") {
		t.Errorf("without users: %+v", a)
	}

	p := start(t, cheap+`
enable-token-auth: true
anonymous: ['GET /openapi.json']
users:
- {name: viewer, password: v, permissions: [read]}
- {name: maker, password: m, permissions: [things]}
- {name: guest, password: g}
`)
	infratest.Fatal(t, p.Register("things", thing))
	for user, want := range map[string][]string{
		"viewer": {"GET /", "GET /auth/login", "GET /info/access", "GET /info/version", "GET /openapi.json"},
		"maker":  {"GET /openapi.json", "PUT /thing/{name}"}, "guest": {"GET /openapi.json"},
	} {
		if _, a := of(p, as(user, user[:1])); a.User != user || a.Login != "/auth/login" || !slices.Equal(a.Endpoints, want) {
			t.Errorf("%s: %+v, expected %v", user, a, want)
		}
	}
	if status, _ := of(p, nil); status != http.StatusUnauthorized {
		t.Errorf("without credentials: status %d", status)
	}
}

// TestLoginReturns checks that the form leads back to the page that was asked for, and to
// no other server.
func TestLoginReturns(t *testing.T) {
	t.Parallel()
	p := start(t, cheap+"enable-token-auth: true\nusers: [{name: viewer, password: v, permissions: [read]}]\n")
	jar, err := cookiejar.New(nil)
	infratest.Fatal(t, err)
	last := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	html := func(r *http.Request) { r.Header.Set("Accept", "text/html") }
	if resp, _ := do(t, last, "GET", p.URL()+"/info/version", html); resp.Header.Get("Location") != "/auth/login?next=%2Finfo%2Fversion" {
		t.Errorf("redirected to %q", resp.Header.Get("Location"))
	}
	script := func(r *http.Request) { r.Header.Set("Sec-Fetch-Dest", "empty") }
	if resp, _ := do(t, last, "GET", p.URL()+"/info/version", script); resp.StatusCode != http.StatusUnauthorized || strings.Contains(strings.Join(resp.Header.Values("WWW-Authenticate"), " "), "Basic") {
		t.Errorf("a script: %s, %q; the browser would ask for a password", resp.Status, resp.Header.Values("WWW-Authenticate"))
	}
	for next, want := range map[string]string{
		"/info/version": "/info/version", "": "/", "//example.com/x": "/", "https://example.com/": "/", `/\example.com`: "/", "x": "/", "/\t/example.com": "/",
	} {
		_, page := do(t, last, "GET", p.URL()+"/auth/login?next="+url.QueryEscape(next), html)
		if !strings.Contains(page, `name="next" value="`+want+`"`) {
			t.Errorf("form for %q: %s", next, page)
		}
		resp, _ := do(t, last, "POST", p.URL()+"/auth/authenticate", func(r *http.Request) {
			form := url.Values{"username": {"viewer"}, "password": {"v"}, "next": {next}}.Encode()
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Body = io.NopCloser(strings.NewReader(form))
		})
		if got := resp.Header.Get("Location"); resp.StatusCode != http.StatusSeeOther || got != want {
			t.Errorf("next %q: status %d, to %q, expected %q", next, resp.StatusCode, got, want)
		}
	}
}
