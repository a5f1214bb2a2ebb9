package rest_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// local is a server on a free port.
func local(more string) rest.Option {
	return rest.UseDeps(func(d *rest.Deps) {
		d.Cfg = config.Text("http", "endpoint: 127.0.0.1:0\n"+more)
	})
}

func start(t *testing.T, more string) *rest.Plugin {
	t.Helper()
	p := rest.NewPlugin(local(more))
	agenttest.Start(t, p)
	return p
}

// do sends a request and returns the answer with its body.
func do(t *testing.T, c *http.Client, method, url string, edit func(*http.Request)) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	infratest.Fatal(t, err)
	if edit != nil {
		edit(req)
	}
	if c == nil {
		c = &http.Client{}
	}
	c.Timeout = 5 * time.Minute
	defer c.CloseIdleConnections()
	resp, err := c.Do(req)
	infratest.Fatal(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	infratest.Fatal(t, err)
	return resp, string(body)
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	err := p.Register("things",
		rest.Endpoint{Path: "/things/{name}", Doc: "one <thing>", Handler: func(w http.ResponseWriter, r *http.Request) {
			rest.WriteJSON(w, http.StatusOK, r.PathValue("name"))
		}},
		rest.Endpoint{Path: "/panic", Methods: []string{"POST", "PUT"}, Handler: func(http.ResponseWriter, *http.Request) { panic("oh") }},
		rest.Endpoint{Path: "/odd", Handler: func(w http.ResponseWriter, _ *http.Request) {
			rest.WriteJSON(w, http.StatusOK, make(chan int))
		}},
	)
	infratest.Fatal(t, err)
	infratest.Fatal(t, p.RegisterHTTPHandler("/plain", plain(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hi") }), "GET"))
	for _, test := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/things/a%2Fb", 200, "\"a/b\"\n"},
		{"HEAD", "/things/x", 200, ""},
		{"GET", "/plain", 200, "hi"},
		{"GET", "/nothing", 404, "{\n  \"error\": \"no endpoint /nothing; / lists them\",\n  \"Error\": \"no endpoint /nothing; / lists them\"\n}\n"},
		{"GET", "/panic", 405, "{\n  \"error\": \"GET /panic: expected method POST, PUT\",\n  \"Error\": \"GET /panic: expected method POST, PUT\"\n}\n"},
		{"POST", "/panic", 500, "{\n  \"error\": \"POST /panic: internal error\",\n  \"Error\": \"POST /panic: internal error\"\n}\n"},
		{"GET", "/odd", 500, "{\n  \"error\": \"encode the response: json: unsupported type: chan int\",\n  \"Error\": \"encode the response: json: unsupported type: chan int\"\n}\n"},
	} {
		resp, body := do(t, nil, test.method, p.URL()+test.path, nil)
		if resp.StatusCode != test.status || body != test.body {
			t.Errorf("%s %s: got %d %q, want %d %q", test.method, test.path, resp.StatusCode, body, test.status, test.body)
		}
	}
	if err := p.Register("other", rest.Endpoint{Path: "/plain"}); err == nil || !strings.Contains(err.Error(), "register GET /plain: ") {
		t.Errorf("an endpoint that collides: %v", err)
	}
	resp, _ := do(t, nil, "POST", p.URL()+"/panic", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") })
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a change asked for by another web site: %s", resp.Status)
	}
}

func TestIndexAndVersion(t *testing.T) {
	t.Parallel()
	p := rest.NewPlugin(local(""))
	a := agenttest.New(t, agent.Version("v1", "2026-01-02T03:04:05Z", "abc"), agent.AllPlugins(p))
	infratest.Fatal(t, a.Start(t.Context()))
	if err := p.Register("things", rest.Endpoint{Path: "/things/{name}", Doc: "one <thing>"}, rest.Endpoint{Path: "/all", Doc: "all"}); err == nil {
		t.Error("an endpoint without a handler is no error")
	}
	h := func(http.ResponseWriter, *http.Request) {}
	infratest.Fatal(t, p.Register("things", rest.Endpoint{Path: "/things/{name}", Doc: "one <thing>", Handler: h}, rest.Endpoint{Path: "/all", Doc: "all", Handler: h}))
	_, page := do(t, nil, "GET", p.URL()+"/", nil)
	for _, want := range []string{
		"<title>test</title>", "<small>v1</small>", `<b class="OK">OK</b>, up `, "<h2>things</h2>",
		"<td>/things/{name}</td><td>one &lt;thing&gt;</td>", `<a href="/all">/all</a>`, `<a href="/info/version">`, `<a href="/">/</a>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing in\n%s", want, page)
		}
	}
	_, version := do(t, nil, "GET", p.URL()+"/info/version", nil)
	for _, want := range []string{`"App": "test"`, `"Version": "v1"`, `"GitCommit": "abc"`, `"BuildTime": 1767323045`, `"GoVersion": "go1.`, `"OSType": ""`} {
		if !strings.Contains(version, want) {
			t.Errorf("%q is missing in\n%s", want, version)
		}
	}
}

func TestPortThatIsTaken(t *testing.T) {
	t.Parallel()
	first := start(t, "")
	second := rest.NewPlugin(rest.UseDeps(func(d *rest.Deps) {
		d.Cfg = config.Text("http", "endpoint: "+first.Addr().String())
	}))
	err := agenttest.New(t, agent.AllPlugins(second)).Start(t.Context())
	want := fmt.Sprintf("listen on %s: the address is in use by process %d (", first.Addr(), os.Getpid())
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestPortFlagAndDisabled(t *testing.T) {
	t.Parallel()
	p := rest.NewPlugin()
	a := agenttest.New(t, agent.Args("--http-port=0"), agent.AllPlugins(p))
	infratest.Fatal(t, a.Start(t.Context()))
	if host, port, _ := net.SplitHostPort(p.Addr().String()); host != "127.0.0.1" || port == "9191" {
		t.Errorf("listens on %s", p.Addr())
	}
	off := start(t, "disable: true")
	if off.Addr() != nil || off.URL() != "" {
		t.Errorf("a disabled server listens on %s", off.Addr())
	}
	err := agenttest.New(t, agent.Args("--http-port=70000"), agent.AllPlugins(rest.NewPlugin())).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), `--http-port: endpoint: port "70000": expected a number from 0 to 65535`) {
		t.Errorf("got %v", err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	if err := config.Lint(rest.DefaultConfig()); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"endpoint: 9191":            `endpoint: "9191": expected host:port`,
		"endpoint: localhost:http":  `endpoint: port "http"`,
		"server-cert-file: x":       "server-cert-file, server-key-file: expected both or none",
		"client-cert-files: [x]":    "client-cert-files: expected server-cert-file",
		"client-basic-auth: [x]":    "client-basic-auth[0]: expected user:password",
		"client-basic-auth: ['a:']": "client-basic-auth[0]: expected a password of 1 to 72 bytes",
		"client-basic-auth: ['a:b']\nusers: [{name: a, password: c}]": `users[0]: user "a" is already in client-basic-auth[0]`,
		"users: [{name: a}]":                                         "users[0]: expected one of password-hash and password",
		"users: [{name: a, password-hash: b}]":                       "users[0].password-hash: expected a bcrypt hash",
		"users: [{name: a, password: b, permissions: [/x, host/x]}]": `users[0].permissions[1]: "host/x": expected a path`,
		"enable-token-auth: true":                                    "enable-token-auth: expected users who can log in",
		"enable-token-auth: true\nclient-basic-auth: ['a:b']\npassword-hash-cost: 4\ntoken-signature-file: /nowhere": "token-signature-file: open /nowhere",
		"anonymous: [probe]": "anonymous: expected users too",
		cheap + "client-basic-auth: ['a:b']\nanonymous: [GET x/y]": `anonymous[0]: "GET x/y": expected a path`,
		"stall-timeout: -1s":                                    "stall-timeout: -1s: expected no negative time",
		"token-expiration: 1":                                   "token-expiration: 1ns",
		"password-hash-cost: 31":                                "password-hash-cost: 31: expected 4 to 16",
		"rate-limiter: {limit: .nan}":                           "rate-limiter.limit: NaN",
		"server-cert-file: /nowhere\nserver-key-file: /nowhere": "server-cert-file, server-key-file: open /nowhere",
		"idle-timeout: -1s":                                     "idle-timeout: -1s: expected no negative time",
		"max-header-bytes: -1":                                  "max-header-bytes: -1",
	} {
		p := rest.NewPlugin(rest.UseDeps(func(d *rest.Deps) { d.Cfg = config.Text("http", text) }))
		err := agenttest.New(t, agent.AllPlugins(p)).Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestBasicAuth(t *testing.T) {
	t.Parallel()
	p := start(t, cheap+"client-basic-auth: ['a:1', 'b:2:3']")
	for user, status := range map[string]int{"": 401, "a:1": 200, "b:2:3": 200, "a:2": 401, "a": 401, "c:1": 401} {
		resp, _ := do(t, nil, "GET", p.URL()+"/info/version", func(r *http.Request) {
			if name, password, ok := strings.Cut(user, ":"); ok {
				r.SetBasicAuth(name, password)
			}
		})
		if resp.StatusCode != status {
			t.Errorf("%q: %s", user, resp.Status)
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	files, pool := certificate(t)
	cert, key := files.Cert, files.Key
	p := start(t, fmt.Sprintf("server-cert-file: %s\nserver-key-file: %s\n", cert, key))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	if resp, _ := do(t, client, "GET", p.URL()+"/info/version", nil); resp.StatusCode != 200 || resp.TLS == nil {
		t.Errorf("got %s", resp.Status)
	}

	mutual := start(t, fmt.Sprintf("server-cert-file: %s\nserver-key-file: %s\nclient-cert-files: [%s]\n", cert, key, files.CA))
	req, err := http.NewRequestWithContext(t.Context(), "GET", mutual.URL()+"/info/version", nil)
	infratest.Fatal(t, err)
	if resp, err := client.Do(req); err == nil {
		resp.Body.Close()
		t.Error("a client without a certificate was served")
	}
	own, err := tls.LoadX509KeyPair(cert, key)
	infratest.Fatal(t, err)
	known := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{own}}}}
	if resp, _ := do(t, known, "GET", mutual.URL()+"/info/version", nil); resp.StatusCode != 200 {
		t.Errorf("got %s", resp.Status)
	}
	broken := rest.NewPlugin(local(fmt.Sprintf("server-cert-file: %s\nserver-key-file: %s\nclient-cert-files: [%s]\n", cert, key, key)))
	if err := agenttest.New(t, agent.AllPlugins(broken)).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "expected certificates in PEM") {
		t.Errorf("got %v", err)
	}
}

// A certificate that is renewed is shown to the next client.
func TestCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	old, _ := certificate(t)
	p := start(t, fmt.Sprintf("server-cert-file: %s\nserver-key-file: %s\n", old.Cert, old.Key))
	renewed, pool := certificate(t)
	ask := func() (*http.Response, error) {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
		defer client.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), "GET", p.URL()+"/info/version", nil)
		infratest.Fatal(t, err)
		return client.Do(req)
	}
	if resp, err := ask(); err == nil {
		resp.Body.Close()
		t.Fatal("the new certificate is there already")
	}
	infratest.Fatal(t, errors.Join(os.Rename(renewed.Cert, old.Cert), os.Rename(renewed.Key, old.Key)))
	resp, err := ask()
	for err != nil { // until the files are looked at again
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
		resp, err = ask()
	}
	resp.Body.Close()
	if resp.StatusCode != 200 || resp.ProtoMajor != 2 {
		t.Errorf("got %s %s", resp.Proto, resp.Status)
	}
}

// certificate makes an authority, and a certificate for 127.0.0.1 that it signs.
func certificate(t *testing.T) (files kvtest.Certs, pool *x509.CertPool) {
	t.Helper()
	files, pool = kvtest.NewCerts(t), x509.NewCertPool()
	ca, err := os.ReadFile(files.CA)
	if err != nil || !pool.AppendCertsFromPEM(ca) {
		t.Fatalf("certificate of the authority: %v", err)
	}
	return files, pool
}

// A request that is being answered when the agent stops sees its context end
// and is answered; new connections are refused.
func TestGracefulShutdown(t *testing.T) {
	t.Parallel()
	p := rest.NewPlugin(local(""))
	a := agenttest.Start(t, p)
	arrived := make(chan struct{})
	if err := p.RegisterHTTPHandler("/long", plain(func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		fmt.Fprint(w, "goodbye")
	})); err != nil {
		t.Fatal(err)
	}
	answer := make(chan string, 1)
	go func() {
		_, body := do(t, nil, "GET", p.URL()+"/long", nil)
		answer <- body
	}()
	<-arrived
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
	if got := <-answer; got != "goodbye" {
		t.Errorf("got %q", got)
	}
	if conn, err := net.Dial("tcp", p.Addr().String()); err == nil {
		conn.Close()
		t.Error("the server still listens")
	}
}

func TestTwoAgentsInOneProcess(t *testing.T) {
	t.Parallel()
	first, second := start(t, ""), start(t, "")
	for _, p := range []*rest.Plugin{first, second} {
		if resp, _ := do(t, nil, "GET", p.URL()+"/info/version", nil); resp.StatusCode != 200 {
			t.Errorf("%s: %s", p.URL(), resp.Status)
		}
	}
	if first.URL() == second.URL() {
		t.Errorf("both serve %s", first.URL())
	}
}
