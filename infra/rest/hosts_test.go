package rest_test

import (
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
// only to pages.
func TestUnknownHostsOfServices(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		listens      string
		header, text string
		host         string
		refused      bool
	}{
		{"10.0.0.7", "", "", "agent.default.svc.cluster.local:9191", false},
		{"10.0.0.7", "Sec-Fetch-Site", "none", "agent.example.com", false}, // typed by the user
		{"10.0.0.7", "Origin", "http://evil.example.com:9191", "evil.example.com:9191", true},
		{"10.0.0.7", "Sec-Fetch-Site", "same-origin", "evil.example.com:9191", true},
		{"10.0.0.7", "Origin", "http://10.0.0.7:9191", "10.0.0.7:9191", false},
		{"127.0.0.1", "", "", "agent.default.svc.cluster.local:9191", true},
	} {
		r := &http.Request{Host: test.host, Header: http.Header{}}
		if test.header != "" {
			r.Header.Set(test.header, test.text)
		}
		if got := rest.RefusesHost(&net.TCPAddr{IP: net.ParseIP(test.listens), Port: 9191}, r); got != test.refused {
			t.Errorf("at %s, host %s, %s %s: refused %v, expected %v", test.listens, test.host, test.header, test.text, got, test.refused)
		}
	}
}
