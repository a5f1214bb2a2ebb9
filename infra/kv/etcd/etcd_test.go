package etcd_test

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// conf waits long for answers: a machine with much to do may stand still for
// seconds, and no test is about that.
func conf(addr string) etcd.Config {
	cfg := etcd.DefaultConfig()
	cfg.Endpoints, cfg.ReconnectInterval, cfg.SessionTTL = []string{addr}, 100*time.Millisecond, 2
	cfg.DialTimeout, cfg.OperationTimeout = time.Minute, time.Minute
	return cfg
}

func connect(tb testing.TB, cfg etcd.Config) (p *etcd.Plugin, stop func()) {
	tb.Helper()
	p = etcd.NewPlugin(etcd.UseConf(cfg))
	return p, kvtest.Start(tb, p)
}

// Children finds each part of a key once, and reads nothing below it.
func TestChildren(t *testing.T) {
	t.Parallel()
	server := kvtest.Etcd(t)
	p, stop := connect(t, conf(server.Addr))
	defer stop()
	for _, key := range []string{"/a/x/1", "/a/x/2", "/a/x-1/k", "/a/x", "/a/y/very/deep", "/a/", "/ab/z/k", "/a/z"} {
		if err := p.DB().Put(t.Context(), key, []byte("v")); err != nil {
			t.Fatal(err)
		}
	}
	for prefix, want := range map[string]string{"/a/": "x-1 x y", "/": "a ab", "/a/y/": "very", "/c/": ""} {
		got, err := p.DB().(kv.Directory).Children(t.Context(), prefix)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v, expected %q", prefix, got, err, want)
		}
	}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	server := kvtest.Etcd(t)
	kvtest.Suite{Server: server, Connect: func(tb testing.TB) (kv.Connector, func()) {
		cfg := conf(server.Addr)
		cfg.SessionTTL = 60 // an entry must not expire while its client lives
		return connect(tb, cfg)
	}}.Run(t)
}
