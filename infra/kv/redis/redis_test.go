package redis_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	"github.com/tenuto-dev/tenuto/infra/kv/redis"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// conf waits long for answers: a machine with much to do may stand still for
// seconds, and no test is about that.
func conf(addr string) redis.Config {
	cfg := redis.DefaultConfig()
	cfg.Endpoint, cfg.DialTimeout, cfg.ReadTimeout = addr, time.Minute, time.Minute
	return cfg
}

func connect(tb testing.TB, cfg redis.Config) (p *redis.Plugin, tree *health.Tree, stop func()) {
	tb.Helper()
	tree = health.NewTree(nil)
	p = redis.NewPlugin(redis.UseConf(cfg), redis.UseDeps(func(d *redis.Deps) { d.Health = tree.Plugin("redis") }))
	return p, tree, kvtest.Start(tb, p)
}

func put(t *testing.T, p *redis.Plugin, key, value string) {
	t.Helper()
	if err := p.DB().Put(t.Context(), "/p/"+key, []byte(value)); err != nil {
		t.Fatal(err)
	}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	server := kvtest.Redis(t)
	kvtest.Suite{Server: server, Connect: func(tb testing.TB) (kv.Connector, func()) {
		p, _, stop := connect(tb, conf(server.Addr))
		return p, stop
	}}.Run(t)
}

func TestSuiteInDatabase(t *testing.T) {
	t.Parallel()
	server := kvtest.Redis(t)
	kvtest.Suite{Connect: func(tb testing.TB) (kv.Connector, func()) {
		cfg := conf(server.Addr)
		cfg.DB = 5
		p, _, stop := connect(tb, cfg)
		return p, stop
	}}.Run(t)
}

// Without announcements nothing could be followed: they are switched on, or it
// is said who has to.
func TestNotifications(t *testing.T) {
	t.Parallel()
	for have, enough := range map[string]bool{
		"": false, "KA": true, "AKE": true, "EA": false, "K$": false, "K$gxe": true, "Kg$x": false, "Klsh": false,
	} {
		server := kvtest.Redis(t, "--notify-keyspace-events", have)
		cfg := conf(server.Addr)
		cfg.EnableNotifications = false
		p, tree, _ := connect(t, cfg)
		recorder := kvtest.Record(t, p, "/p/")
		if !enough {
			kvtest.AwaitHealth(t, tree, health.Degraded, "config SET notify-keyspace-events KA")
			q, _, _ := connect(t, conf(server.Addr))
			kvtest.Record(t, q, "/p/").Await(1, "")
		}
		recorder.Await(1, "")
		put(t, p, "a", "1")
		recorder.Await(1, "a=1")
	}

	server := kvtest.Redis(t)
	server.Command(t, "ACL", "SETUSER", "default", "-config|set")
	p, tree, _ := connect(t, conf(server.Addr))
	recorder := kvtest.Record(t, p, "/p/")
	kvtest.AwaitHealth(t, tree, health.Degraded, "rejects the setting")
	server.Command(t, "ACL", "SETUSER", "default", "+config|set")
	recorder.Await(1, "")

	closed := kvtest.Redis(t, "--notify-keyspace-events", "KA")
	closed.Command(t, "ACL", "SETUSER", "default", "-config") // as in clouds
	p, _, _ = connect(t, conf(closed.Addr))
	recorder = kvtest.Record(t, p, "/p/")
	recorder.Await(1, "")
	put(t, p, "a", "1")
	recorder.Await(1, "a=1")
}

// The number of requests of an idle follower does not depend on the number of keys.
func TestIdleFollower(t *testing.T) {
	t.Parallel()
	server := kvtest.Redis(t)
	cfg := conf(server.Addr)
	p, _, _ := connect(t, cfg)
	var all []string
	for i := range 60 {
		put(t, p, fmt.Sprintf("%02d", i), "x")
		all = append(all, fmt.Sprintf("%02d=x", i))
	}
	server.Command(t, "CONFIG", "RESETSTAT")
	cfg.WatchTimeout = 100 * time.Millisecond
	q, _, _ := connect(t, cfg)
	kvtest.Record(t, q, "/p/").Await(1, strings.Join(all, " "))
	const inspections = 5
	for calls(t, server, "role") < inspections {
		<-time.After(10 * time.Millisecond)
	}
	if n := calls(t, server, "exists"); n == 0 || n > 2*inspections {
		t.Errorf("%d EXISTS in %d inspections of 60 keys", n, inspections)
	}
}

// calls returns how often a server has executed a command.
func calls(t *testing.T, p *kvtest.Process, command string) (n int) {
	t.Helper()
	_, rest, _ := strings.Cut(p.Info(t, "commandstats"), "cmdstat_"+command+":calls=")
	text, _, _ := strings.Cut(rest, ",")
	n, _ = strconv.Atoi(text) // 0: there is no such line
	return n
}

// A key that is evicted while its event before is handled was not deleted by a client.
func TestEvictedBehindAnotherEvent(t *testing.T) {
	t.Parallel()
	server := kvtest.Redis(t, "--maxmemory-policy", "volatile-lru")
	p, _, _ := connect(t, conf(server.Addr))
	changes := make(chan kv.Change, 100)
	ctx, cancel := context.WithCancel(t.Context())
	var followed sync.WaitGroup
	defer followed.Wait()
	defer cancel()
	followed.Go(func() {
		_ = p.Watch(ctx, "/p/", func(u kv.Update) error {
			for _, ch := range u.Changes {
				changes <- ch
			}
			return nil
		})
	})
	for range 100 {
		put(t, p, "a", "1")
		for ch := range changes {
			if !ch.Deleted {
				break
			}
		}
		server.Command(t, "EXPIRE", "/p/a", "100000")
		server.Command(t, "CONFIG", "SET", "maxmemory", "1")
		for ch := range changes {
			if ch.Deleted && !ch.Inferred {
				t.Fatal("the eviction counts as a request of a client")
			}
			if ch.Deleted {
				break
			}
		}
		server.Command(t, "CONFIG", "SET", "maxmemory", "0")
	}
}

// The log names a server that may evict configuration, and its policy, once.
func TestEvictionPolicyIsLogged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		maxMemory, policy string
		warned            bool
	}{{"0", "allkeys-lru", false}, {"100mb", "noeviction", false}, {"100mb", "allkeys-lru", true}, {"100mb", "volatile-ttl", true}} {
		server := kvtest.Redis(t, "--maxmemory", c.maxMemory, "--maxmemory-policy", c.policy)
		var log infratest.Buffer
		p := redis.NewPlugin(redis.UseConf(conf(server.Addr)), redis.UseDeps(func(d *redis.Deps) {
			d.Log = logging.NewRegistry(logging.WithWriter(&log)).PluginLogger("redis")
		}))
		kvtest.Start(t, p)
		recorder := kvtest.Record(t, p, "/p/")
		recorder.Await(1, "")
		server.Proxy.Cut()
		server.Command(t, "SET", "/p/a", "1")
		recorder.Await(1, "a=1")
		want := 0
		if c.warned {
			want = 1
		}
		text := log.String()
		if n := strings.Count(text, "set its maxmemory-policy to noeviction"); n != want || c.warned && !strings.Contains(text, c.policy) {
			t.Errorf("maxmemory %s, %s: %d warnings, want %d:\n%s", c.maxMemory, c.policy, n, want, text)
		}
	}
}

// A server that no longer announces changes is made to announce them again, and what changed
// meanwhile is not lost.
func TestNotificationsThatEnd(t *testing.T) {
	t.Parallel()
	server := kvtest.Redis(t)
	cfg := conf(server.Addr)
	cfg.WatchTimeout = 200 * time.Millisecond
	p, _, _ := connect(t, cfg)
	recorder := kvtest.Record(t, p, "/p/")
	recorder.Await(1, "")
	server.Command(t, "CONFIG", "SET", "notify-keyspace-events", `""`)
	put(t, p, "a", "1")
	recorder.Await(1, "a=1")

	other := kvtest.Redis(t, "--notify-keyspace-events", "KA")
	cfg.Endpoint, cfg.EnableNotifications = other.Addr, false
	p, tree, _ := connect(t, cfg)
	kvtest.Record(t, p, "/p/").Await(1, "")
	other.Command(t, "CONFIG", "SET", "notify-keyspace-events", `""`)
	kvtest.AwaitHealth(t, tree, health.Degraded, "does not announce changes")
}

func TestSilentServer(t *testing.T) {
	t.Parallel()
	server := kvtest.Redis(t)
	cfg := redis.DefaultConfig() // it finds out no sooner than after its timeouts
	cfg.Endpoint, cfg.WatchTimeout = server.Addr, 200*time.Millisecond
	p, tree, _ := connect(t, cfg)
	other, _, _ := connect(t, conf(server.Direct))
	kvtest.Silent(t, server, p, tree, other, "no response")
}

func TestReconnect(t *testing.T) {
	t.Parallel()
	server := kvtest.Redis(t)
	p, tree, _ := connect(t, conf(server.Addr))
	resync := conf(server.Addr)
	resync.ResyncAfterReconnect = true
	q, _, _ := connect(t, resync)
	recorder, again := kvtest.Record(t, p, "/p/"), kvtest.Record(t, q, "/p/")
	recorder.Await(1, "")
	again.Await(1, "")
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
	again.Await(2, "a=2 b=1")
	server.Stop()
	kvtest.AwaitHealth(t, tree, health.Degraded, "not connected")
	server.Start(t)
	kvtest.AwaitHealth(t, tree, health.OK, "")
	server.Command(t, "FLUSHALL")
	server.Proxy.Cut()
	recorder.Await(1, "")
}

// A value that is not a string is ignored; a string that replaces it is reported.
func TestOtherTypes(t *testing.T) {
	t.Parallel()
	server := kvtest.Redis(t)
	p, _, _ := connect(t, conf(server.Addr))
	server.Command(t, "LPUSH", "/p/list", "x")
	put(t, p, "a", "1")
	recorder := kvtest.Record(t, p, "/p/")
	recorder.Await(1, "a=1")
	server.Command(t, "DEL", "/p/list")
	put(t, p, "list", "2")
	recorder.Await(1, "a=1 list=2")
	server.Command(t, "RENAME", "/p/list", "/p/moved")
	recorder.Await(1, "a=1 moved=2")
	server.Command(t, "DEL", "/p/a")
	server.Command(t, "HSET", "/p/a", "x", "y")
	recorder.Await(1, "moved=2")
}

func TestServersThatRefuse(t *testing.T) {
	t.Parallel()
	server := kvtest.Redis(t, "--requirepass", "secret")
	p, tree, _ := connect(t, conf(server.Addr))
	kvtest.Record(t, p, "/p/")
	kvtest.AwaitHealth(t, tree, health.Degraded, "set password in redis.conf")
	cfg := conf(server.Addr)
	cfg.Password = "wrong"
	p, tree, _ = connect(t, cfg)
	kvtest.Record(t, p, "/p/")
	kvtest.AwaitHealth(t, tree, health.Degraded, "rejected the password")
	cfg.Password = "secret"
	p, _, _ = connect(t, cfg)
	kvtest.Record(t, p, "/p/").Await(1, "")

	full := kvtest.Redis(t)
	p, _, _ = connect(t, conf(full.Addr))
	put(t, p, "a", "1")
	full.Command(t, "CONFIG", "SET", "maxmemory", "1")
	if err := p.DB().Put(t.Context(), "/p/b", []byte("x")); err == nil || !strings.Contains(err.Error(), "the server is full") {
		t.Errorf("put into a full server: %v", err)
	}
	err := p.DB().Txn(t.Context(), kv.Op{Key: "/p/a"}, kv.Op{Key: "/p/b", Value: []byte("x")})
	if item, gerr := p.DB().Get(t.Context(), "/p/a"); err == nil || gerr != nil || string(item.Value) != "1" {
		t.Errorf("transaction in a full server: %v; left %+v, %v", err, item, gerr)
	}

	host, port, _ := strings.Cut(full.Direct, ":")
	replica := kvtest.Redis(t, "--replicaof", host, port)
	cfg = conf(replica.Addr)
	cfg.EnableReadOnReplica = true
	p, _, _ = connect(t, cfg)
	if err := p.DB().Put(t.Context(), "/p/b", []byte("x")); err == nil || !strings.Contains(err.Error(), "is a replica") {
		t.Errorf("put into a replica: %v", err)
	}
	kvtest.Record(t, p, "/p/").Await(1, "a=1") // and a replica can be followed
}

func TestTLS(t *testing.T) {
	t.Parallel()
	certs, others := kvtest.NewCerts(t), kvtest.NewCerts(t)
	server := kvtest.Redis(t)
	host, _, _ := strings.Cut(server.Direct, ":")
	port := kvtest.FreePort(t)
	for _, setting := range [][2]string{
		{"tls-cert-file", certs.Cert}, {"tls-key-file", certs.Key}, {"tls-ca-cert-file", certs.CA}, {"tls-port", port},
	} {
		server.Command(t, "CONFIG", "SET", setting[0], setting[1])
	}
	good := conf(host + ":" + port)
	good.TLS = redis.TLS{Enabled: true, CertFile: certs.Cert, KeyFile: certs.Key, CAFile: certs.CA}
	p, _, _ := connect(t, good)
	put(t, p, "a", "1")
	kvtest.Record(t, p, "/p/").Await(1, "a=1")
	for why, change := range map[string]func(*redis.TLS){
		"unknown authority": func(c *redis.TLS) { c.CAFile = others.CA },
		"redis":             func(c *redis.TLS) { c.CertFile, c.KeyFile = others.Cert, others.Key },
	} {
		cfg := good
		change(&cfg.TLS)
		p, tree, _ := connect(t, cfg)
		kvtest.Record(t, p, "/p/")
		kvtest.AwaitHealth(t, tree, health.Degraded, why)
	}
	cable := kvtest.NewProxy(t, host+":"+port)
	cut := good
	cut.Endpoint = cable.Addr
	p, _, stop := connect(t, cut)
	put(t, p, "a", "2")
	cable.Reset()
	stop() // although the TLS shutdown fails

	bad := good
	bad.TLS.CAFile = "/nowhere"
	if err := agenttest.New(t, agent.AllPlugins(redis.NewPlugin(redis.UseConf(bad)))).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "tls: ca-file") {
		t.Errorf("start with a missing file: %v", err)
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	if err := config.Lint(redis.DefaultConfig()); err != nil {
		t.Error(err)
	}
	newPlugin := func() kvtest.Plugin { return redis.NewPlugin() }
	kvtest.Configuration(t, newPlugin, map[string]string{
		"":                                        "",
		"endpoint: localhost:6379":                "",
		"endpoint: a\nendpoints: [b]":             "expected one of them",
		"endpoints: ['']":                         "endpoints[0]",
		"master-name: x":                          "addresses of the sentinels",
		"endpoints: [a:1]\ndb: 1":                 "db: 1",
		"db: -1":                                  "db: -1",
		"max-rediects: -1":                        "max-redirects",
		"dial-timeout: 0":                         "dial-timeout",
		"read-timeout: 0":                         "read-timeout",
		"write-timeout: -1s":                      "write-timeout",
		"watch-timeout: 1ms":                      "watch-timeout: 1ms: expected at least 100ms",
		"pool: {max-connections: -1}":             "pool.max-connections",
		"pool: {idle-timeout: -1s}":               "pool.idle-timeout",
		"endpoint: x\nadress: y":                  "adress",
		"endpoints: [a:1]\nmaster-name: x\ndb: 1": "",
		"pool: {max-connections: 3, busy-timeout: 1s, idle-timeout: 1m, idle-check-frequency: 1s}": "",
	})
}

// One agent at a time uses the keys of a label.
func TestClaims(t *testing.T) {
	t.Parallel()
	server := kvtest.Redis(t)
	kvtest.Claims(t, func(a kvtest.Agent) (kv.Connector, *health.Tree, func()) {
		tree := health.NewTree(nil)
		p := redis.NewPlugin(redis.UseConf(conf(server.Addr)), redis.UseDeps(func(d *redis.Deps) {
			d.Health = tree.Plugin("redis")
			a.Use(d)
		}))
		return p, tree, kvtest.Start(t, p)
	})
	p, _, _ := connect(t, conf(server.Addr))
	kvtest.ClaimsRace(t, p.DB())
	if value := server.Reply("PTTL", "/claim"); strings.HasPrefix(value, ":-") {
		t.Errorf("the TTL of a claim is %s", value)
	}
}

// A TTL is renewed without a write of the value.
func TestRenew(t *testing.T) {
	t.Parallel()
	server := kvtest.Redis(t)
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
	if left := server.Reply("PTTL", "/p/a"); len(left) < len(":1000000") {
		t.Errorf("the entry expires after %s ms, expected 20 minutes", left)
	}
}
