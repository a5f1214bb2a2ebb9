package rest_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/metrics"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

// trusting is a client for servers whose certificate is in the pool.
func trusting(pool *x509.CertPool) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
}

// scrape returns the metrics of a server.
func scrape(t *testing.T, p *rest.Plugin, edit func(*http.Request)) string {
	t.Helper()
	resp, text := do(t, nil, "GET", p.URL()+"/metrics", edit)
	if resp.StatusCode != 200 {
		t.Fatalf("/metrics: %s\n%s", resp.Status, text)
	}
	return text
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	files, pool := certificate(t)
	p := rest.NewPlugin(local(cheap + `
users: [{name: a, password: p, permissions: [things]}]
anonymous: [prometheus, 'GET /open/{x}']
`))
	agenttest.Start(t, metrics.NewPlugin(metrics.UseDeps(func(d *metrics.Deps) { d.HTTP = p })))
	ok := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }
	if err := p.Register("things",
		rest.Endpoint{Path: "/thing/{name}", Methods: []string{"GET", "PUT"}, Handler: ok},
		rest.Endpoint{Path: "/open/{x}", Methods: []string{"GET", "PUT"}, Handler: ok},
		rest.Endpoint{Path: "/abort", Handler: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		rest.Endpoint{Path: "/teapot", Handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path, user string
		status             int
	}{
		{"GET", "/thing/a", "a", 200}, {"GET", "/thing/b", "a", 200}, {"PUT", "/thing/a", "a", 200}, {"GET", "/thing/c", "", 401},
		{"GET", "/open/x", "", 200}, {"PUT", "/open/x", "", 401}, {"GET", "/open/x", "b", 401}, {"GET", "/teapot", "a", 418},
		{"FROB", "/thing/a", "a", 403}, {"GET", "/info/version", "a", 403},
	} {
		resp, text := do(t, nil, c.method, p.URL()+c.path, func(r *http.Request) {
			if c.user != "" {
				r.SetBasicAuth(c.user, "p")
			}
		})
		if resp.StatusCode != c.status {
			t.Errorf("%s %s as %q: %s %s", c.method, c.path, c.user, resp.Status, text)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", p.URL()+"/abort", nil)
	infratest.Fatal(t, err)
	req.SetBasicAuth("a", "p")
	client := &http.Client{}
	if resp, err := client.Do(req); err == nil {
		resp.Body.Close()
		t.Error("an answer that was aborted has arrived")
	}
	client.CloseIdleConnections()
	text := scrape(t, p, nil)
	for _, want := range []string{
		`http_server_requests_total{code="200",method="GET",pattern="/thing/{name}"} 2`,
		`http_server_requests_total{code="200",method="PUT",pattern="/thing/{name}"} 1`,
		`http_server_requests_total{code="401",method="GET",pattern="none"} 2`,
		`http_server_requests_total{code="401",method="PUT",pattern="none"} 1`,
		`http_server_requests_total{code="403",method="other",pattern="none"} 1`,
		`http_server_requests_total{code="418",method="GET",pattern="/teapot"} 1`,
		`http_server_request_duration_seconds_count{method="GET",pattern="/abort"} 1`,
		"http_server_requests_in_flight 1\n", // this one
		"http_server_connections ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "certificate") {
		t.Error("a server without TLS has a certificate")
	}
	secure := rest.NewPlugin(local(fmt.Sprintf("server-cert-file: %s\nserver-key-file: %s\n", files.Cert, files.Key)))
	agenttest.Start(t, metrics.NewPlugin(metrics.UseDeps(func(d *metrics.Deps) { d.HTTP = secure })))
	resp, text := do(t, trusting(pool), "GET", secure.URL()+"/metrics", nil)
	if resp.StatusCode != 200 || !strings.Contains(text, "http_server_certificate_not_after_timestamp_seconds 1") {
		t.Errorf("%s\n%s", resp.Status, text)
	}
}

// A client that reads nothing is disconnected, and the handler gets an error.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	stall(t, start(t, "stall-timeout: 500ms\n"))
}

// stall asks for much, reads nothing and waits until the server has given up.
func stall(t *testing.T, p *rest.Plugin) {
	t.Helper()
	written := make(chan error, 1)
	if err := p.RegisterHTTPHandler("/much", plain(func(w http.ResponseWriter, _ *http.Request) {
		buf, err := make([]byte, 1<<20), error(nil)
		for i := 0; i < 1<<10 && err == nil; i++ {
			_, err = w.Write(buf)
		}
		written <- err
	})); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", p.Addr().String())
	infratest.Fatal(t, err)
	defer conn.Close()
	fmt.Fprint(conn, "GET /much HTTP/1.1\r\nHost: x\r\n\r\n")
	if err := <-written; err == nil || !os.IsTimeout(err) {
		t.Errorf("the handler got %v", err)
	}
}

// A stream lives longer than stall-timeout if its client reads, and ends with
// the server.
func TestStreamsEndWithTheServer(t *testing.T) {
	t.Parallel()
	p := rest.NewPlugin(local("stall-timeout: 500ms\n"))
	a := agenttest.Start(t, p)
	next := make(chan struct{})
	if err := p.RegisterHTTPHandler("/events", plain(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := 0; ; i++ {
			select {
			case <-next:
				fmt.Fprintf(w, "data: %d\n\n", i)
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Error(err)
				}
			case <-r.Context().Done():
				fmt.Fprint(w, "data: goodbye\n\n")
				return
			}
		}
	})); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", p.Addr().String())
	infratest.Fatal(t, err)
	defer conn.Close()
	fmt.Fprint(conn, "GET /events HTTP/1.0\r\nHost: x\r\n\r\n")
	next <- struct{}{}
	in := bufio.NewReader(conn)
	until := func(want string) {
		t.Helper()
		for {
			line, err := in.ReadString('\n')
			if strings.TrimSpace(line) == want {
				return
			}
			if err != nil {
				t.Fatalf("no %q: %v", want, err)
			}
		}
	}
	until("data: 0")
	stall(t, p) // takes longer than stall-timeout, with nothing to say on the stream
	next <- struct{}{}
	until("data: 1")
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
	until("data: goodbye")
	if rest, err := io.ReadAll(in); err != nil || strings.TrimSpace(string(rest)) != "" {
		t.Errorf("after the end: %q, %v", rest, err)
	}
}

// As many connections as 10,000 that send nothing useful do not keep others
// from being served, and end with the server.
func TestTenThousandConnections(t *testing.T) {
	p := rest.NewPlugin(local("max-connections: 0\nread-header-timeout: 10m\n"))
	a := agenttest.Start(t, metrics.NewPlugin(metrics.UseDeps(func(d *metrics.Deps) { d.HTTP = p })))
	n := infratest.Crowd(t, p.Addr(), "GET / HT")
	for { // accepted in order, but counted a moment later
		text := scrape(t, p, nil)
		if strings.Contains(text, fmt.Sprintf("http_server_connections %d\n", n+1)) {
			break
		}
	}
	if resp, _ := do(t, nil, "GET", p.URL()+"/info/version", nil); resp.StatusCode != 200 {
		t.Errorf("got %s", resp.Status)
	}
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
}
