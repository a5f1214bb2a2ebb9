package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

// patience is how long a test waits for what must come; it is no measure.
const patience = 90 * time.Second

// follow returns what is told, as text.
func follow(t *testing.T, p *etcd.Plugin) <-chan string {
	t.Helper()
	told := make(chan string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- p.Watch(ctx, "/p/", func(u kv.Update) error {
			var s []string
			if u.Resync {
				s = append(s, "resync")
			}
			for _, ch := range u.Changes {
				if ch.Deleted {
					s = append(s, "-"+ch.Key)
				} else {
					s = append(s, fmt.Sprintf("%s=%s", ch.Key, ch.Value))
				}
			}
			told <- strings.Join(s, " ")
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	return told
}

func want(t *testing.T, told <-chan string, text string) {
	t.Helper()
	select {
	case got := <-told:
		if got != text {
			t.Errorf("told %q, want %q", got, text)
		}
	case <-time.After(patience):
		t.Fatalf("nothing was told, want %q", text)
	}
}

func put(t *testing.T, p *etcd.Plugin, kvs ...string) {
	t.Helper()
	for _, s := range kvs {
		key, value, _ := strings.Cut(s, "=")
		if err := p.DB().Put(t.Context(), "/p/"+key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
}

// health waits until the state of the plugin has the text.
func awaitHealth(t *testing.T, tree *health.Tree, state health.State, text string) {
	t.Helper()
	late := time.After(patience)
	for {
		got := tree.Snapshot().Plugins[0]
		if got.State == state && strings.Contains(got.Reason+got.Error, text) {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-late:
			t.Fatalf("health %+v, want %v with %q", got, state, text)
		}
	}
}

// direct is a second client, which sees the server when others do not.
func direct(t *testing.T, s *kvtest.Process) *etcd.Plugin {
	t.Helper()
	cfg := conf(s.Direct)
	cfg.ReconnectInterval = 10 * time.Millisecond
	p, _ := connect(t, cfg)
	return p
}

// cutOff does something while the proxy lets nothing through, and cuts the
// connections then.
func cutOff(s *kvtest.Process, f func()) {
	heal := s.Proxy.Partition()
	f()
	s.Proxy.Cut()
	heal()
}

func TestChangesMeanwhile(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	p, _ := connect(t, conf(s.Addr))
	other := direct(t, s)
	put(t, other, "a=1", "b=1")
	told := follow(t, p)
	want(t, told, "resync a=1 b=1")
	put(t, other, "c=1")
	want(t, told, "c=1")

	t.Log("the history is there: the changes are told, not the state")
	cutOff(s, func() { put(t, other, "a=2", "d=1", "a=3") })
	want(t, told, "d=1 a=3")
	if _, err := other.Delete("/p/b"); err != nil {
		t.Fatal(err)
	}
	want(t, told, "-b")

	t.Log("the history was compacted: the state is read, the differences are told")
	cutOff(s, func() {
		put(t, other, "a=4", "d=1", "e=1")
		if _, err := other.Delete("/p/c"); err != nil {
			t.Fatal(err)
		}
		l, err := other.DB().List(t.Context(), "/p/")
		if err != nil {
			t.Fatal(err)
		}
		compact(t, other, l.Revision)
	})
	want(t, told, "a=4 e=1 -c")
}

func compact(t *testing.T, p *etcd.Plugin, revision int64) {
	t.Helper()
	if err := p.DB().(interface {
		Compact(ctx context.Context, revision int64) error
	}).Compact(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
}

// Another store at the same address has another history, whatever its
// revisions.
func TestAnotherStore(t *testing.T) {
	t.Parallel()
	for _, puts := range []int{0, 1, 20} { // with a lower, the same and a higher revision
		s := kvtest.Etcd(t)
		p, _ := connect(t, conf(s.Addr))
		told := follow(t, p)
		want(t, told, "resync")
		put(t, p, "a=1")
		want(t, told, "a=1")
		heal := s.Proxy.Partition()
		s.Stop()
		s.Wipe(t)
		s.Start(t)
		s.Proxy.Cut()
		for range puts {
			put(t, direct(t, s), "b=1")
		}
		heal()
		if puts == 0 {
			want(t, told, "-a")
			continue
		}
		want(t, told, "b=1 -a")
	}
}

func TestResyncAfterReconnect(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	cfg := conf(s.Addr)
	cfg.ResyncAfterReconnect = true
	p, _ := connect(t, cfg)
	told := follow(t, p)
	want(t, told, "resync")
	put(t, p, "a=1")
	want(t, told, "a=1")
	s.Proxy.Cut()
	want(t, told, "resync a=1")
}

func TestStartWithoutServer(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	s.Stop()
	tree := health.NewTree(nil)
	p := etcd.NewPlugin(etcd.UseConf(conf(s.Addr)), etcd.UseDeps(func(d *etcd.Deps) { d.Health = tree.Plugin("etcd") }))
	agenttest.Start(t, p)
	told := follow(t, p)
	awaitHealth(t, tree, health.Degraded, "not connected")
	if err := p.Put("/p/a", wrapperspb.Bool(true)); err == nil || !strings.Contains(err.Error(), "put /p/a") {
		t.Errorf("put without a server: %v", err)
	}
	s.Start(t)
	want(t, told, "resync")
	awaitHealth(t, tree, health.OK, "")

	cfg := conf(s.Addr)
	cfg.AllowDelayedStart = false
	connect(t, cfg)
	s.Stop()
	err := agenttest.New(t, agent.AllPlugins(etcd.NewPlugin(etcd.UseConf(cfg)))).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no answer from "+s.Addr) {
		t.Errorf("start that must have a server: %v", err)
	}
}

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
	told := follow(t, p)
	want(t, told, "resync a=1")
	if existed, err := p.Delete("/p/a"); err != nil || !existed {
		t.Errorf("delete in a full store: %v, %v", existed, err)
	}
	want(t, told, "-a")
}

// What is published for the lifetime of an agent comes back if the lease was
// lost while the agent lives.
func TestLifetimeIsRestored(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	p, _ := connect(t, conf(s.Addr))
	told := follow(t, p)
	want(t, told, "resync")
	if err := p.Put("/p/status", wrapperspb.Int64(1), kv.WithClientLifetimeTTL()); err != nil {
		t.Fatal(err)
	}
	want(t, told, `status="1"`)
	revokeAll(t, s)
	want(t, told, "-status")
	want(t, told, `status="1"`)
	revokeAll(t, s) // and a put that finds the lease gone takes a new one
	want(t, told, "-status")
	if err := p.Put("/p/status", wrapperspb.Int64(2), kv.WithClientLifetimeTTL()); err != nil {
		t.Fatal(err)
	}
	for got := ""; got != `status="2"`; {
		select {
		case got = <-told:
		case <-time.After(patience):
			t.Fatal("the new value was not told")
		}
	}
}

// revokeAll takes all leases away, with the tool of etcd.
func revokeAll(t *testing.T, s *kvtest.Process) {
	t.Helper()
	if _, err := exec.LookPath("etcdctl"); err != nil {
		t.Skip("SKIPPED: there is no etcdctl here (Debian: apt install etcd-client)")
	}
	script := `for l in $(etcdctl --endpoints "$0" lease list | grep -v found); do etcdctl --endpoints "$0" lease revoke $l; done`
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", script, s.Direct)
	cmd.Env = append(os.Environ(), "ETCDCTL_API=3")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("revoke: %v\n%s", err, out)
	}
}

func TestAutoCompact(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	other := direct(t, s)
	put(t, other, "a=1", "a=2")
	l, err := other.DB().List(t.Context(), "/p/")
	if err != nil {
		t.Fatal(err)
	}
	cfg := conf(s.Addr)
	cfg.AutoCompact = time.Second
	connect(t, cfg)
	enough := errors.New("enough")
	late := time.After(patience)
	for {
		err := other.DB().WatchFrom(t.Context(), "/p/", l.Revision-1, func([]kv.Event) error { return enough })
		if errors.Is(err, kv.ErrCompacted) {
			return
		}
		put(t, other, "a=3")
		select {
		case <-time.After(20 * time.Millisecond):
		case <-late:
			t.Fatalf("the history is still there: %v", err)
		}
	}
}

func TestVariables(t *testing.T) {
	t.Setenv("TENUTO_TEST_VALUE", "from the environment")
	s := kvtest.Etcd(t)
	t.Setenv("ETCD_ENDPOINTS", " , "+s.Addr)
	for _, expand := range []bool{true, false} {
		cfg := conf(s.Addr)
		cfg.Endpoints, cfg.ExpandEnvVars = nil, expand
		p, _ := connect(t, cfg)
		put(t, p, `v={"name": "$TENUTO_TEST_VALUE"}`)
		values := make(chan kv.Value, 1)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- p.Watch(ctx, "/p/", func(u kv.Update) error { values <- u.Changes[0].Value; return nil })
		}()
		_, expanding := (<-values).(kv.Expanding)
		if expanding != expand {
			t.Errorf("expand-env-variables %v: values are expanded %v", expand, expanding)
		}
		cancel()
		<-ended
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	if err := config.Lint(etcd.DefaultConfig()); err != nil {
		t.Error(err)
	}
	dir := t.TempDir()
	for text, want := range map[string]string{
		"":                               "",
		"endpoints: ['']":                "endpoints[0]",
		"dial-timeout: 0":                "dial-timeout",
		"operation-timeout: -1s":         "operation-timeout",
		"reconnect-interval: 0s":         "reconnect-interval",
		"session-ttl: 0":                 "session-ttl",
		"auto-compact: 1ms":              "auto-compact",
		"cert-file: x":                   "expected both",
		"endpoint: x":                    "endpoints",
		"insecure-transport: true\n":     "",
		"endpoints: [https://127.0.0.1]": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, "etcd.conf"), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		err := agenttest.New(t, agent.AllPlugins(etcd.NewPlugin()), agent.Args("--config-dir", dir)).Start(t.Context())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	p := etcd.NewPlugin()
	agenttest.Start(t, p)
	if !p.Disabled() || p.DB() != nil {
		t.Error("enabled without a configuration")
	}
	if err := p.Put("x", nil); !errors.Is(err, kv.ErrDisabled) {
		t.Errorf("put into a disabled store: %v", err)
	}
}
