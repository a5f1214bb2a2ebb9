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
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

// Users follow the file while the server runs. A file without users, or that is invalid, changes nothing.
func TestUsersFollowTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(users string) {
		t.Helper()
		file := filepath.Join(dir, "http.conf")
		infratest.Fatal(t, os.WriteFile(file+".new", []byte("endpoint: 127.0.0.1:0\npassword-hash-cost: 4\n"+users), 0o600))
		infratest.Fatal(t, os.Rename(file+".new", file))
	}
	write("users:\n- {name: probe, password: p, permissions: [all]}\n- {name: old, password: x, permissions: [all]}\n")
	p := rest.NewPlugin()
	infratest.Fatal(t, agenttest.New(t, agent.AllPlugins(p), agent.Args("--config-dir", dir)).Start(t.Context()))
	status := func(user, password string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL()+"/info/version", nil)
		infratest.Fatal(t, err)
		req.SetBasicAuth(user, password)
		resp, err := http.DefaultClient.Do(req)
		infratest.Fatal(t, err)
		defer resp.Body.Close()
		return resp.StatusCode
	}
	// await waits until the user probe gets the status, which says that the file was read: wrong passwords
	// would be delayed.
	await := func(want int) {
		t.Helper()
		for got := 0; got != want; {
			if got = status("probe", "p"); got != 200 && got != 403 {
				t.Fatalf("user probe: %d", got)
			}
		}
	}
	await(200)
	if got := status("old", "x"); got != 200 {
		t.Errorf("user old: %d", got)
	}
	write("users:\n- {name: probe, password: p}\n- {name: new, password: y, permissions: [all]}\n")
	await(403)
	if old, now := status("old", "x"), status("new", "y"); old != 401 || now != 200 {
		t.Errorf("user old: %d, user new: %d", old, now)
	}
	for _, bad := range []string{"", "users: [", "users:\n- {name: probe}\n"} {
		write(bad)
		for late := time.Now().Add(1200 * time.Millisecond); time.Now().Before(late); { // longer than the interval of checks
			if got := status("new", "y"); got != 200 {
				t.Fatalf("after %q: %d, expected that nothing changes", bad, got)
			}
		}
	}
	write("users:\n- {name: probe, password: p, permissions: [read]}\n")
	await(200)
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
		infratest.Fatal(t, err)
		req.SetBasicAuth("a", password)
		resp, err := http.DefaultClient.Do(req)
		infratest.Fatal(t, err)
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
