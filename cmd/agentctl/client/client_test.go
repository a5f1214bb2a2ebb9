package client_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agent.sock")
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != "a" || password != "b:c" || r.URL.Path != "/log/list" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, "[]")
	}))
	_ = server.Listener.Close() // the one on TCP
	server.Listener = ln
	server.Start()
	defer server.Close()
	for _, host := range []string{path, "unix:" + path} {
		c := client.New(client.Options{Host: host, BasicAuth: "a:b:c"})
		defer c.Close()
		if _, err := c.Log.List(t.Context()); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	absent := client.New(client.Options{Host: path + "x"})
	defer absent.Close()
	if _, err := absent.Log.List(t.Context()); err == nil || !strings.Contains(err.Error(), "no agent answers at "+path+"x: there is no such socket") {
		t.Errorf("got %v", err)
	}
}
