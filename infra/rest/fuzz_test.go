package rest

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// No request gets through the guard without the password, and none makes the
// server panic.
func FuzzRequests(f *testing.F) {
	f.Add("GET /secret/x HTTP/1.1\r\nHost: a\r\nAuthorization: Basic eDp5\r\n\r\n")
	f.Add("PUT //secret/../secret/%2e%2e/x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
	f.Add("POST /auth/login HTTP/1.1\r\nHost: a\r\nContent-Length: 31\r\n\r\n{\"username\":\"a\",\"password\":\"b\"}")
	f.Add("POST /auth/authenticate HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 21\r\n\r\nusername=a&password=b")
	f.Add("POST /auth/logout HTTP/1.1\r\nHost: a\r\nCookie: " + cookieName + "=a.b.c\r\nAccept: text/html\r\n\r\n")
	f.Add("GET / HTTP/1.0\r\nAuthorization: Bearer x\r\nAccept: text/html\r\n\r\n")
	p := NewPlugin(UseDeps(func(d *Deps) {
		d.Cfg = config.Text("http", "endpoint: 127.0.0.1:0\npassword-hash-cost: 4\nenable-token-auth: true\nanonymous: ['GET /open/{x}']\n"+
			"users: [{name: fuzz, password: correct-horse, permissions: [all]}]\n")
	}))
	silent := agent.Logging(logging.NewRegistry(logging.WithWriter(io.Discard))) // the log of f is not for the target
	infratest.Fatal(f, agenttest.New(f, silent, agent.AllPlugins(p)).Start(f.Context()))
	inside := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "inside") }
	outside := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "open") }
	all := []string{"GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "CONNECT"}
	infratest.Fatal(f, p.Register("test", Endpoint{Path: "/secret/", Methods: all, Handler: inside}, Endpoint{Path: "/open/{x}", Methods: all[:2], Handler: outside}))
	h := p.handler()
	f.Fuzz(func(t *testing.T, text string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil {
			return
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError || strings.Contains(w.Body.String(), "inside") {
			t.Errorf("%q: %d %s", text, w.Code, w.Body)
		}
	})
}
