package rest_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

// A web site whose name resolves to the address of the server gets nothing from it.
func TestUnknownHosts(t *testing.T) {
	t.Parallel()
	self, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	open := start(t, "allowed-hosts: [Agent.example.org]")
	any := start(t, "allowed-hosts: ['*']")
	users := start(t, cheap+"client-basic-auth: ['a:b']")
	for _, test := range []struct {
		server *rest.Plugin
		host   string
		status int
	}{
		{open, "127.0.0.1:9191", 200}, {open, "localhost", 200}, {open, "LOCALHOST.:80", 200}, {open, "[::1]:9191", 200}, {open, "app.localhost:1", 200},
		{open, "vpp-agent", 200}, {open, self + ":9191", 200}, {open, self + ".lan", 200}, {open, "agent.example.org:443", 200},
		{open, "evil.example.com:9191", 403}, {open, "127.0.0.1.evil.example.com", 403}, {open, "agent.example.org.evil.example.com", 403},
		{any, "evil.example.com", 200},
		{users, "evil.example.com", 200}, // which does not have the password
	} {
		for _, method := range []string{"GET", "HEAD"} {
			resp, body := do(t, nil, method, test.server.URL()+"/info/version", func(r *http.Request) {
				r.SetBasicAuth("a", "b")
				r.Host = test.host
			})
			if resp.StatusCode != test.status || method == "GET" && test.status == 403 && !strings.Contains(body, "allowed-hosts in http.conf") {
				t.Errorf("%s of host %s: %d %s, expected %d", method, test.host, resp.StatusCode, body, test.status)
			}
		}
	}
	for text, want := range map[string]string{"allowed-hosts: ['a:80']": "allowed-hosts[0]", "allowed-hosts: [ok, '']": "allowed-hosts[1]"} {
		if _, _, err := config.Load(config.Text("http", text), rest.DefaultConfig()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A server that others can reach, for example as a service of Kubernetes, refuses unknown names
// only to browsers. Over plain HTTP these send neither Sec-Fetch-Site nor, for a GET of what they
// regard as the same origin, Origin.
func TestUnknownHostsOfServices(t *testing.T) {
	t.Parallel()
	const service, evil = "agent.default.svc.cluster.local:9191", "evil.example.com:9191"
	for _, test := range []struct {
		listens string
		header  map[string]string
		host    string
		refused bool
	}{
		{"10.0.0.7", nil, service, false},
		{"10.0.0.7", map[string]string{"User-Agent": "curl/8.14.1", "Accept": "*/*"}, service, false},
		{"10.0.0.7", map[string]string{"User-Agent": "Go-http-client/1.1", "Accept-Encoding": "gzip"}, service, false},
		{"10.0.0.7", map[string]string{"User-Agent": "Prometheus/3.5.0", "Accept": "application/openmetrics-text"}, service, false},
		{"10.0.0.7", map[string]string{"User-Agent": "kube-probe/1.34", "Connection": "close"}, service, false},
		{"10.0.0.7", map[string]string{"User-Agent": "python-requests/2.32", "Accept-Encoding": "gzip, deflate"}, service, false},
		{"10.0.0.7", map[string]string{"Sec-Fetch-Site": "none", "User-Agent": "Mozilla/5.0"}, "agent.example.com", false}, // typed by the user
		{"10.0.0.7", map[string]string{"Origin": "http://evil.example.com:9191"}, evil, true},
		{"10.0.0.7", map[string]string{"Sec-Fetch-Site": "same-origin"}, evil, true},
		{"10.0.0.7", map[string]string{"User-Agent": "Mozilla/5.0 (X11; Linux x86_64)"}, evil, true},
		{"10.0.0.7", map[string]string{"User-Agent": "curl/8.14.1", "Accept-Language": ""}, evil, true}, // set by a script
		{"10.0.0.7", map[string]string{"User-Agent": "Mozilla/5.0", "Accept-Language": "en"}, "10.0.0.7:9191", false},
		{"10.0.0.7", map[string]string{"User-Agent": "Mozilla/5.0", "Accept-Language": "en"}, "agent:9191", false},
		{"10.0.0.7", map[string]string{"Origin": "http://10.0.0.7:9191"}, "10.0.0.7:9191", false},
		{"127.0.0.1", nil, service, true},
	} {
		r := &http.Request{Host: test.host, Header: http.Header{}}
		for name, value := range test.header {
			r.Header.Set(name, value)
		}
		listens := &net.TCPAddr{IP: net.ParseIP(test.listens), Port: 9191}
		if got := rest.RefusesHost(listens, r); got != test.refused {
			t.Errorf("at %s, host %s, %v: refused %v, expected %v", test.listens, test.host, test.header, got, test.refused)
		}
		if r.TLS = (&tls.ConnectionState{}); rest.RefusesHost(listens, r) { // a browser would have refused the certificate
			t.Errorf("at %s, host %s, %v: refused over TLS", test.listens, test.host, test.header)
		}
	}
}

// A name that another plugin knows needs no configuration.
func TestAllowHosts(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	get := func() int {
		resp, _ := do(t, nil, "GET", p.URL()+"/info/version", func(r *http.Request) { r.Host = "agent7.example.org:9191" })
		return resp.StatusCode
	}
	if status := get(); status != 403 {
		t.Errorf("before: %d", status)
	}
	p.AllowHosts("a", "Agent7.example.org")
	if status := get(); status != 200 {
		t.Errorf("after: %d", status)
	}
}

// Pages of other web sites cannot read with the password that the browser remembers, and need
// none if the server has no users; links work.
func TestReadsOfOtherSites(t *testing.T) {
	t.Parallel()
	for _, p := range []*rest.Plugin{start(t, ""), start(t, cheap+"client-basic-auth: ['a:b']")} {
		for _, test := range []struct {
			site, mode, dest, origin string
			status                   int
		}{
			{"cross-site", "no-cors", "script", "", 403}, {"same-site", "no-cors", "image", "", 403}, {"cross-site", "cors", "empty", "http://evil.example.com", 403},
			{"cross-site", "navigate", "iframe", "", 403},
			{"", "", "", "http://evil.example.com", 403}, {"", "", "", "null", 403},
			{"cross-site", "navigate", "document", "", 200}, {"same-origin", "cors", "empty", "", 200}, {"none", "navigate", "document", "", 200},
			{"", "", "", p.URL(), 200}, {"", "", "", "", 200},
		} {
			resp, body := do(t, nil, "GET", p.URL()+"/info/version?show-secrets", func(r *http.Request) {
				r.SetBasicAuth("a", "b")
				for name, value := range map[string]string{"Sec-Fetch-Site": test.site, "Sec-Fetch-Mode": test.mode, "Sec-Fetch-Dest": test.dest, "Origin": test.origin} {
					if value != "" {
						r.Header.Set(name, value)
					}
				}
			})
			if resp.StatusCode != test.status || test.status == 403 && (!strings.Contains(body, "pages of other web sites may not read") || resp.Header.Get("X-Frame-Options") != "DENY") {
				t.Errorf("%+v: %d %s", test, resp.StatusCode, body)
			}
		}
	}
}
