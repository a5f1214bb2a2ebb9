package cli

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
)

func TestTimeoutIsHonoured(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	f := &fakeAgent{Server: server}
	f.run(t, nil, "--timeout", "20ms", "values").wants(t, exit.CodeError, "did not answer within 20ms (--timeout)")
}

// A socket that takes connections and says nothing is an agent that hangs: nothing
// waits for it any longer than it may.
func TestAgentThatHangs(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // the kernel accepts the connection, but no process does
	host, port, _ := net.SplitHostPort(l.Addr().String())
	for command, want := range map[string]string{
		"values --watch":                      "did not answer within 30ms (--timeout)\n",
		"status --wait":                       "did not answer within 30ms (--timeout)\n",
		"confirm":                             "a request that has begun continues",
		"config watch":                        "did not answer within 30ms (--timeout); nothing was asked of it",
		"service call any.Service Method":     "did not answer within 30ms (--timeout); nothing was asked of it",
		"config retrieve":                     "did not answer within 30ms (--timeout); nothing was asked of it",
		"quarantine release vpp.interfaces/x": "a request that has begun continues",
	} {
		r := run(t, nil, append([]string{"--host", host, "--http-port", port, "--grpc-port", port, "--timeout", "30ms"}, strings.Fields(command)...)...)
		if r.code != exit.CodeError || !strings.Contains(r.err, want) {
			t.Errorf("%s: exit %d, %s", command, r.code, r.err)
		}
	}
}

// Errors identify a server that is not an agent.
func TestWrongPort(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t)
	host, port, _ := net.SplitHostPort(f.Listener.Addr().String())
	run(t, nil, "--host", host, "--grpc-port", port, "config", "retrieve").wants(t, exit.CodeError, "does not speak gRPC")
	f.run(t, nil, "--insecure-tls", "values").wants(t, exit.CodeError, "does not use TLS")
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	run(t, nil, "--host", "127.0.0.1", "--http-port", "1", "values").wants(t, exit.CodeError, "is it running there?")
}
