package consul_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/consul"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// conf waits long for answers: a machine with much to do may stand still for
// seconds, and no test is about that.
func conf(addr string) consul.Config {
	cfg := consul.DefaultConfig()
	cfg.Address, cfg.OperationTimeout = addr, time.Minute
	return cfg
}

func connect(tb testing.TB, cfg consul.Config) (p *consul.Plugin, tree *health.Tree, stop func()) {
	tb.Helper()
	tree = health.NewTree(nil)
	p = consul.NewPlugin(consul.UseConf(cfg), consul.UseDeps(func(d *consul.Deps) { d.Health = tree.Plugin("consul") }))
	return p, tree, kvtest.Start(tb, p)
}

func put(t *testing.T, p *consul.Plugin, key, value string) {
	t.Helper()
	infratest.Fatal(t, p.DB().Put(t.Context(), "/p/"+key, []byte(value)))
}

func TestSuite(t *testing.T) {
	t.Parallel()
	server := kvtest.Consul(t)
	kvtest.Suite{Server: server, Late: consul.HoldsWrites, Connect: func(tb testing.TB) (kv.Connector, func()) {
		p, _, stop := connect(tb, conf(server.Addr))
		return p, stop
	}}.Run(t)
}

// The fake passes the same suite, so that it can replace Consul where Consul is
// not installed.
func TestSuiteOnFake(t *testing.T) {
	t.Parallel()
	server := newFakeConsul(t)
	kvtest.Suite{Server: server, Connect: func(tb testing.TB) (kv.Connector, func()) {
		p, _, stop := connect(tb, conf(server.Addr))
		return p, stop
	}}.Run(t)
}

func TestSilentServer(t *testing.T) {
	t.Parallel()
	server := kvtest.Consul(t)
	cfg := conf(server.Addr)
	cfg.OperationTimeout, cfg.WatchTimeout = consul.DefaultConfig().OperationTimeout, 400*time.Millisecond
	p, tree, _ := connect(t, cfg)
	other, _, _ := connect(t, conf(server.Direct))
	kvtest.Silent(t, server, p, tree, other, "no response for ")
}

func TestReconnect(t *testing.T) {
	t.Parallel()
	server := kvtest.Consul(t)
	p, tree, _ := connect(t, conf(server.Addr))
	resync := conf("http://" + server.Addr + "/")
	resync.ResyncAfterReconnect = true
	q, _, _ := connect(t, resync)
	recorder, again := kvtest.Record(t, p, "/p/"), kvtest.Record(t, q, "/p/")
	recorder.Await(1, "")
	put(t, p, "a", "1")
	recorder.Await(1, "a=1")
	again.Await(1, "a=1")
	other, _, _ := connect(t, conf(server.Direct))
	heal := server.Proxy.Partition()
	put(t, other, "b", "1")
	put(t, other, "a", "2")
	server.Proxy.Cut()
	heal()
	recorder.Await(1, "a=2 b=1")
	server.Stop()
	kvtest.AwaitHealth(t, tree, health.Degraded, "not connected")
	server.Wipe(t) // another history, with lower indexes
	server.Start(t)
	kvtest.AwaitHealth(t, tree, health.OK, "")
	recorder.Await(1, "")
	again.AwaitResyncs(2)
	put(t, other, "c", "1")
	recorder.Await(1, "c=1")
}

func TestAccessControl(t *testing.T) {
	t.Parallel()
	server := kvtest.Consul(t, "-hcl", `acl { enabled = true default_policy = "deny" tokens { master = "11111111-1111-1111-1111-111111111111" } }`)
	cfg := conf(server.Addr)
	p, _, _ := connect(t, cfg)
	if err := p.DB().Put(t.Context(), "/p/a", []byte("1")); err == nil || !strings.Contains(err.Error(), "expected a token") {
		t.Errorf("put without a token: %v", err)
	}
	cfg.Token = "11111111-1111-1111-1111-111111111111"
	p, _, _ = connect(t, cfg)
	for { // until the server has made the token
		if err := p.DB().Put(t.Context(), "/p/a", []byte("1")); err == nil {
			break
		}
	}
	kvtest.Record(t, p, "/p/").Await(1, "a=1")
}

// Errors identify servers that are not Consul, or that have failed.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status      int
		index, body string
		want        string
	}{
		{http.StatusOK, "", "<html>", "decode the response"},
		{http.StatusOK, "", "[]", "no index"},
		{http.StatusOK, "7", `[{"Key": "p/a", "Value": "!"}]`, "decode the response"},
		{http.StatusInternalServerError, "7", "No cluster leader", "no leader"},
		{http.StatusBadGateway, "7", "oops", "502 Bad Gateway: oops"},
		{http.StatusRequestEntityTooLarge, "7", "large", "512 KiB"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.index != "" {
				w.Header().Set("X-Consul-Index", c.index)
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		t.Cleanup(s.Close)
		p, tree, _ := connect(t, conf(s.URL))
		kvtest.Record(t, p, "/p/")
		kvtest.AwaitHealth(t, tree, health.Degraded, c.want)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	certs, others := kvtest.NewCerts(t), kvtest.NewCerts(t)
	server := kvtest.Consul(t)
	port := kvtest.FreePort(t)
	kvtest.Consul(t, "-hcl", `ports { https = `+port+` } ca_file = "`+certs.CA+`" cert_file = "`+certs.Cert+`" key_file = "`+certs.Key+`" verify_incoming_https = true`)
	good := conf("https://127.0.0.1:" + port)
	good.CAFile, good.CertFile, good.KeyFile = certs.CA, certs.Cert, certs.Key
	p, _, _ := connect(t, good)
	put(t, p, "a", "1")
	for why, change := range map[string]func(*consul.Config){
		"unknown authority": func(c *consul.Config) { c.CAFile = others.CA },
		"consul":            func(c *consul.Config) { c.CertFile, c.KeyFile = "", "" },
		"server gave HTTP":  func(c *consul.Config) { c.Address = "https://" + server.Addr },
	} {
		cfg := good
		change(&cfg)
		p, tree, _ := connect(t, cfg)
		kvtest.Record(t, p, "/p/")
		kvtest.AwaitHealth(t, tree, health.Degraded, why)
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	if err := config.Lint(consul.DefaultConfig()); err != nil {
		t.Error(err)
	}
	newPlugin := func() kvtest.Plugin { return consul.NewPlugin() }
	kvtest.Configuration(t, newPlugin, map[string]string{
		"":                             "",
		"address: localhost:8500":      "",
		"address: ''":                  "address",
		"address: ftp://x":             "address",
		"address: http://x/path":       "address",
		"address: 'http://[x'":         "address",
		"operation-timeout: 0":         "operation-timeout",
		"watch-timeout: 1ms":           "watch-timeout: 1ms: expected at least 100ms",
		"cert-file: x":                 "expected both",
		"ca-file: /nowhere":            "ca-file",
		"adress: x":                    "adress",
		"resync-after-reconnect: true": "",
	})
}

// The entries of a session expire with it, as if the agent had crashed; an entry that was put
// again, with another session or without one, remains.
func TestTTL(t *testing.T) {
	t.Parallel()
	server := kvtest.Consul(t)
	p, _, _ := connect(t, conf(server.Addr))
	ctx := t.Context()
	request := func(method, path string, into any) {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, method, "http://"+server.Direct+path, nil)
		infratest.Fatal(t, err)
		resp, err := http.DefaultClient.Do(req)
		infratest.Fatal(t, err)
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(into); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", path, resp.Status, err)
		}
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	sessionOf := func(key string) string {
		t.Helper()
		var pairs []struct{ Session string }
		request(http.MethodGet, "/v1/kv/p/"+key, &pairs)
		return pairs[0].Session
	}
	end := func(session string) {
		t.Helper()
		var done bool
		if request(http.MethodPut, "/v1/session/destroy/"+session, &done); session == "" || !done {
			t.Fatalf("session %q was not ended", session)
		}
	}
	exists := func(key string) bool {
		t.Helper()
		_, err := p.DB().Get(ctx, "/p/"+key)
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	expiring := func(key string) string {
		t.Helper()
		infratest.Fatal(t, p.DB().Put(ctx, "/p/"+key, []byte("1"), kv.WithTTL(30*time.Second)))
		return sessionOf(key)
	}
	first := expiring("renewed")
	second := expiring("renewed")
	var sessions []struct {
		ID, TTL, Behavior string
		NodeChecks        []string
	}
	if request(http.MethodGet, "/v1/session/info/"+second, &sessions); len(sessions) != 1 || sessions[0].TTL != "30s" || sessions[0].Behavior != "delete" || len(sessions[0].NodeChecks) > 0 {
		t.Errorf("the session of an entry: %+v", sessions)
	}
	if end(first); !exists("renewed") {
		t.Error("a renewed entry expired with its earlier session")
	}
	kept := expiring("kept")
	put(t, p, "kept", "2")
	if end(kept); !exists("kept") || sessionOf("kept") != "" {
		t.Error("an entry that was put again without a TTL expired")
	}
	if end(second); exists("renewed") {
		t.Error("the entry of a session that ended exists")
	}
	expiring("renewed") // at once
}

// Without the permission for sessions there are no TTLs.
func TestTTLNotPermitted(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "Permission denied", http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	p, _, _ := connect(t, conf(strings.TrimPrefix(server.URL, "http://")))
	err := p.DB().Put(t.Context(), "/p/x", []byte("1"), kv.WithTTL(time.Minute))
	if !errors.Is(err, kv.ErrNotSupported) || !strings.Contains(err.Error(), "not permitted") {
		t.Errorf("a TTL without the permission: %v", err)
	}
}

// One agent at a time uses the keys of a label.
func TestClaims(t *testing.T) {
	t.Parallel()
	server := newFakeConsul(t)
	kvtest.Claims(t, func(a kvtest.Agent) (kv.Connector, *health.Tree, func()) {
		tree := health.NewTree(nil)
		p := consul.NewPlugin(consul.UseConf(conf(server.Addr)), consul.UseDeps(func(d *consul.Deps) {
			d.Health = tree.Plugin("consul")
			a.Use(d)
		}))
		return p, tree, kvtest.Start(t, p)
	})
	p, _, _ := connect(t, conf(server.Addr))
	kvtest.ClaimsRace(t, p.DB())
}

// A TTL is renewed without a write of the value.
func TestRenew(t *testing.T) {
	t.Parallel()
	server := newFakeConsul(t)
	p, _, _ := connect(t, conf(server.Addr))
	r := p.DB().(kv.Renewer)
	if ok, err := r.Renew(t.Context(), "/p/none", time.Minute); ok || err != nil {
		t.Errorf("an entry that does not exist: %v, %v", ok, err)
	}
	infratest.Fatal(t, p.DB().Put(t.Context(), "/p/a", []byte("1"), kv.WithTTL(10*time.Second)))
	seen := kvtest.Record(t, p, "/p/")
	seen.Await(1, "a=1")
	for range 3 {
		if ok, err := r.Renew(t.Context(), "/p/a", 20*time.Minute); !ok || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	if server.index != 2 || server.sessions != 1 {
		t.Errorf("index %d, %d sessions: expected one write and one session", server.index, server.sessions)
	}
}
