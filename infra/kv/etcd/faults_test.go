package etcd_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	certs, others := kvtest.NewCerts(t), kvtest.NewCerts(t)
	s := kvtest.Etcd(t, "--cert-file="+certs.Cert, "--key-file="+certs.Key, "--client-cert-auth", "--trusted-ca-file="+certs.CA)
	good := conf(s.Addr)
	good.CertFile, good.KeyFile, good.CAFile = certs.Cert, certs.Key, certs.CA
	p, _ := connect(t, good)
	put(t, p, "a=1")

	skip := good
	skip.CAFile, skip.InsecureSkipTLSVerify = "", true
	p, _ = connect(t, skip)
	put(t, p, "a=2")

	for name, c := range map[string]struct {
		change func(*etcd.Config)
		why    string
	}{
		"another authority": {func(c *etcd.Config) { c.CAFile = others.CA }, "unknown authority"},
		"another client":    {func(c *etcd.Config) { c.CertFile, c.KeyFile = others.Cert, others.Key }, ""}, // told by an alert, or a reset
		"no client":         {func(c *etcd.Config) { c.CertFile, c.KeyFile = "", "" }, ""},
		"no TLS":            {func(c *etcd.Config) { c.InsecureTransport = true }, "not connected"},
	} {
		cfg := good
		c.change(&cfg)
		tree := health.NewTree(nil)
		bad := etcd.NewPlugin(etcd.UseConf(cfg), etcd.UseDeps(func(d *etcd.Deps) { d.Health = tree.Plugin("etcd") }))
		agenttest.Start(t, bad)
		follow(t, bad)
		awaitHealth(t, tree, health.Degraded, c.why)
		if _, err := bad.DB().Get(t.Context(), "/p/a"); err == nil || errors.Is(err, kv.ErrNotFound) {
			t.Errorf("%s: get: %v", name, err)
		}
	}
	for text, c := range map[string]func(*etcd.Config){
		"cert-file, key-file: open": func(c *etcd.Config) { c.CertFile = "/nowhere" },
		"ca-file: open":             func(c *etcd.Config) { c.CAFile = "/nowhere" },
		"ca-file: " + certs.Key:     func(c *etcd.Config) { c.CAFile = certs.Key },
	} {
		cfg := good
		c(&cfg)
		err := agenttest.New(t, agent.AllPlugins(etcd.NewPlugin(etcd.UseConf(cfg)))).Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("start: %v, want %q", err, text)
		}
	}
}

// A full store can be followed, and says why it takes nothing.
func TestFull(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t, "--quota-backend-bytes=1000000")
	p, _ := connect(t, conf(s.Addr))
	put(t, p, "a=1")
	var err error
	for i := 0; err == nil && i < 100; i++ {
		err = p.DB().Put(t.Context(), "/x", make([]byte, 500_000))
	}
	if err == nil || !strings.Contains(err.Error(), "store is full") {
		t.Errorf("put into a full store: %v", err)
	}
	updates := follow(t, p)
	want(t, updates, "resync a=1")
	if existed, err := p.Delete("/p/a"); err != nil || !existed {
		t.Errorf("delete in a full store: %v, %v", existed, err)
	}
	want(t, updates, "-a")
}

// A client that may only read follows the store, and gets an error that says why it may not
// write, as an ordinary client or for its lifetime.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	certs := kvtest.NewCerts(t)
	s := kvtest.Etcd(t, "--cert-file="+certs.Cert, "--key-file="+certs.Key, "--client-cert-auth", "--trusted-ca-file="+certs.CA)
	cfg := conf(s.Addr)
	cfg.CertFile, cfg.KeyFile, cfg.CAFile = certs.Cert, certs.Key, certs.CA
	p, _ := connect(t, cfg)
	put(t, p, "a=1")
	etcdctl := func(args ...string) {
		t.Helper()
		kvtest.Etcdctl(t, append([]string{
			"--endpoints", "https://" + s.Direct, "--cert", certs.Cert, "--key", certs.Key, "--cacert", certs.CA,
		}, args...)...)
	}
	updates := follow(t, p)
	want(t, updates, "resync a=1")
	etcdctl("role", "add", "reader")
	etcdctl("role", "grant-permission", "--prefix=true", "reader", "read", "/p/")
	etcdctl("role", "grant-permission", "reader", "read", "/probe-etcd-connection")
	for _, user := range [][]string{{"root", "root"}, {kvtest.CertName, "reader"}} {
		etcdctl("user", "add", user[0]+":secret")
		etcdctl("user", "grant-role", user[0], user[1])
	}
	etcdctl("auth", "enable")
	for what, err := range map[string]error{
		"put":      p.DB().Put(t.Context(), "/p/a", []byte("2")),
		"lifetime": p.Put("/p/b", wrapperspb.Bool(true), kv.WithClientLifetimeTTL()),
		"delete":   func() error { _, err := p.Delete("/p/a"); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: %v, want that it is not permitted", what, err)
		}
	}
	s.Proxy.Cut()
	etcdctl("--user", "root:secret", "put", "/p/c", "1")
	want(t, updates, "c=1")
}

// Requests that reach the server of another cluster are the same as those to a
// server with another history: what it does not have is gone.
func TestAnotherCluster(t *testing.T) {
	t.Parallel()
	one, two := kvtest.Etcd(t), kvtest.Etcd(t, "--initial-cluster-token=another")
	p, _ := connect(t, conf(one.Addr))
	updates := follow(t, p)
	want(t, updates, "resync")
	put(t, p, "a=1", "b=1")
	for got := ""; got != "b=1" && got != "a=1 b=1"; {
		got = <-updates
	}
	put(t, direct(t, two), "a=2")
	one.Proxy.Redirect(two.Direct)
	one.Proxy.Cut()
	want(t, updates, "a=2 -b")
}
