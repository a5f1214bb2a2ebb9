package rest_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/errtest"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

// Users follow the file while the server runs. A file without users, or that is invalid, changes nothing.
func TestUsersFollowTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(users string) {
		t.Helper()
		file := filepath.Join(dir, "http.conf")
		errtest.Fatal(t, os.WriteFile(file+".new", []byte("endpoint: 127.0.0.1:0\npassword-hash-cost: 4\n"+users), 0o600))
		errtest.Fatal(t, os.Rename(file+".new", file))
	}
	write("users:\n- {name: old, password: x, permissions: [all]}\n")
	p := rest.NewPlugin()
	errtest.Fatal(t, agenttest.New(t, agent.AllPlugins(p), agent.Args("--config-dir", dir)).Start(t.Context()))
	status := func(user, password string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL()+"/info/version", nil)
		errtest.Fatal(t, err)
		req.SetBasicAuth(user, password)
		resp, err := http.DefaultClient.Do(req)
		errtest.Fatal(t, err)
		defer resp.Body.Close()
		return resp.StatusCode
	}
	await := func(user, password string, want int) {
		t.Helper()
		for got := 0; got != want; time.Sleep(300 * time.Millisecond) {
			if got = status(user, password); t.Context().Err() != nil {
				t.Fatalf("user %s: %d, expected %d", user, got, want)
			}
		}
	}
	await("old", "x", 200)
	write("users:\n- {name: new, password: y, permissions: [all]}\n")
	await("new", "y", 200)
	await("old", "x", 401)
	write("users:\n- {name: new, password: y, permissions: []}\n")
	await("new", "y", 403)
	for _, bad := range []string{"", "users: [", "users:\n- {name: new}\n"} {
		write(bad)
		time.Sleep(1100 * time.Millisecond) // the interval of checks
		if got := status("new", "y"); got != 403 {
			t.Errorf("after %q: %d, expected that nothing changes", bad, got)
		}
	}
}

// A client that guesses passwords has to wait; one that was right before has not.
func TestGuesses(t *testing.T) {
	t.Parallel()
	p := rest.NewPlugin(rest.UseConf(func() rest.Config {
		cfg := rest.DefaultConfig()
		cfg.Endpoint, cfg.PasswordHashCost = "127.0.0.1:0", 4
		cfg.Users = []rest.User{{Name: "a", Password: "secret", Permissions: []string{"all"}}}
		return cfg
	}()))
	agenttest.Start(t, p)
	get := func(password string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL()+"/info/version", nil)
		errtest.Fatal(t, err)
		req.SetBasicAuth("a", password)
		resp, err := http.DefaultClient.Do(req)
		errtest.Fatal(t, err)
		_ = resp.Body.Close()
		return resp
	}
	if got := get("secret").StatusCode; got != 200 {
		t.Fatal(got)
	}
	refused := 0
	for range 40 {
		resp := get("guess")
		if resp.StatusCode == http.StatusTooManyRequests && strings.Trim(resp.Header.Get("Retry-After"), "0123456789") == "" && resp.Header.Get("Retry-After") != "" {
			refused++
		}
	}
	if refused == 0 {
		t.Error("40 guesses without a delay")
	}
	if got := get("secret").StatusCode; got != 200 {
		t.Errorf("the right password: %d", got)
	}
}
