package orchestrator_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/consul"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	"github.com/tenuto-dev/tenuto/infra/kv/redis"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

// serverCase is what happens to a server.
type serverCase struct {
	name     string
	accident func(t *testing.T, s *serverUnderTest)
	reason   string // empty: it is followed
	left     int
	onlyStop bool
	older    bool // the accident uses restore
}

// serverUnderTest is a server with the items of the test.
type serverUnderTest struct {
	start   func(t *testing.T) *kvtest.Process
	open    func(t *testing.T, addr string) kv.DB
	process *kvtest.Process
	db      kv.DB // of process, beside the proxy
	addr    string
	restore func() // the data from when an item was missing
}

func (s *serverUnderTest) prepare(t *testing.T, older bool) {
	t.Helper()
	s.use(t, s.start(t))
	if older {
		putAll(t, s.db, some(tamperedItems, 1)[1:])
		s.process.Stop()
		s.restore = s.process.Backup(t)
		s.process.Start(t)
	}
	fill(t, s.db)
}

func (s *serverUnderTest) use(t *testing.T, p *kvtest.Process) {
	t.Helper()
	s.process, s.addr, s.db = p, p.Addr, s.open(t, p.Direct)
}

// replace starts another server, which the agent connects to from now on.
func (s *serverUnderTest) replace(t *testing.T, items int) {
	t.Helper()
	s.use(t, s.start(t))
	putAll(t, s.db, some(tamperedItems, 1)[:items])
}

func runServers(t *testing.T, s serverUnderTest, connector func(addr string) kv.Store, cases []serverCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := s
			runStore(t, tampering{
				accident: func(t *testing.T) { c.accident(t, &s) }, followed: c.reason == "", reason: c.reason, left: c.left, onlyStop: c.onlyStop,
				repair: func(t *testing.T) { fill(t, s.db) },
			}, func(t *testing.T) { s.prepare(t, c.older) }, func() kv.Store { return connector(s.addr) })
		})
	}
}

// Redis that was flushed, lost its data in a restart, or has older data.
func TestRedisThatLies(t *testing.T) {
	t.Parallel()
	conf := func(addr string) redis.Config {
		cfg := redis.DefaultConfig()
		cfg.Endpoint, cfg.WatchTimeout = addr, shortWatch
		return cfg
	}
	const evicted = "the server evicted items to free memory (set its maxmemory-policy to noeviction); its content would delete "
	const restarted = "the server was restarted or is another one, and has lost items"
	runServers(t, serverUnderTest{
		start: func(t *testing.T) *kvtest.Process {
			return kvtest.Redis(t, "--notify-keyspace-events", "KA")
		},
		open: func(t *testing.T, addr string) kv.DB {
			db, closeDB, err := redis.Open(conf(addr))
			fatal(t, err)
			t.Cleanup(func() { _ = closeDB() })
			return db
		},
	}, func(addr string) kv.Store { return redis.NewPlugin(redis.UseConf(conf(addr))) }, []serverCase{
		{name: "FLUSHALL", reason: "the store is empty", accident: func(t *testing.T, s *serverUnderTest) { s.process.Command(t, "FLUSHALL") }},
		{name: "restarted empty", reason: restarted, accident: func(t *testing.T, s *serverUnderTest) {
			s.process.Stop()
			s.process.WipeAll(t)
			s.process.Start(t)
		}},
		{name: "older data", reason: restarted, older: true, accident: func(t *testing.T, s *serverUnderTest) {
			s.process.Stop()
			s.restore()
			s.process.Start(t)
		}},
		{name: "other server with less", reason: restarted, onlyStop: true, accident: func(t *testing.T, s *serverUnderTest) { s.replace(t, tamperedItems-1) }},
		{name: "other server with all", left: tamperedItems, onlyStop: true, accident: func(t *testing.T, s *serverUnderTest) { s.replace(t, tamperedItems) }},
		{name: "restarted with all data", left: tamperedItems, accident: func(t *testing.T, s *serverUnderTest) {
			s.process.Restart(t)
		}},
		{name: "connection silently dead", left: tamperedItems - 1, accident: deadConnection},
		{name: "all keys evicted", reason: evicted, accident: func(t *testing.T, s *serverUnderTest) {
			evict(t, s.process, "allkeys-lru", 0)
		}},
		{name: "one key evicted", reason: evicted + "1 of 6 items", accident: func(t *testing.T, s *serverUnderTest) {
			s.process.Command(t, "EXPIRE", storedKey(t, s.db), "100000")
			evict(t, s.process, "volatile-lru", tamperedItems-1)
			s.process.Command(t, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
		}},
		{name: "other keys evicted", left: tamperedItems, accident: func(t *testing.T, s *serverUnderTest) {
			s.process.Command(t, "SET", "/cache", "x", "EX", "100000")
			evict(t, s.process, "volatile-lru", tamperedItems)
		}},
		{name: "a key expired", left: tamperedItems - 1, accident: func(t *testing.T, s *serverUnderTest) {
			s.process.Command(t, "PEXPIRE", storedKey(t, s.db), "1")
			until(t, "the key expires", func() bool { return keyCount(t, s.process) == tamperedItems-1 })
		}},
	})
}

// An agent that restarts remembers that a missing item was evicted, although INFO does not
// report it: the policy covers no keys without a TTL.
func TestEvictionIsRemembered(t *testing.T) {
	t.Parallel()
	server := kvtest.Redis(t, "--notify-keyspace-events", "KA")
	cfg := redis.DefaultConfig()
	cfg.Endpoint = server.Addr
	db, closeDB, err := redis.Open(cfg)
	fatal(t, err)
	defer func() { _ = closeDB() }()
	fill(t, db)
	c, m := tampering{store: func(*testing.T) kv.Store { return redis.NewPlugin(redis.UseConf(cfg)) }}, &memory{}
	w := c.start(t, nil, m)
	until(t, "the items are configured", func() bool { return w.present() == tamperedItems })
	server.Command(t, "EXPIRE", storedKey(t, db), "100000")
	evict(t, server, "volatile-lru", tamperedItems-1)
	until(t, "the eviction is noticed", func() bool { return w.onlyGuard() != nil })
	w.stop()
	w = c.start(t, w.sb, m)
	w.waitSynced()
	if g := w.onlyGuard(); g == nil || !strings.Contains(g.Reason, "evicted") || w.present() != tamperedItems {
		t.Errorf("after a restart: guard %+v, %d interfaces", g, w.present())
	}
	_, err = w.AcceptSource(t.Context(), "redis", orchestrator.Caller{})
	if fatal(t, err); w.onlyGuard() != nil || w.present() != tamperedItems-1 {
		t.Errorf("accepted: guard %+v, %d interfaces", w.onlyGuard(), w.present())
	}
	w.stop()
}

// shortWatch is the watch-timeout of the tests.
const shortWatch = 400 * time.Millisecond

// deadConnection lets the network drop all packets of the agent's connection, and a client
// deletes an item.
func deadConnection(t *testing.T, s *serverUnderTest) {
	s.process.Proxy.Forget()
	_, err := s.db.Delete(t.Context(), storedKey(t, s.db))
	fatal(t, err)
}

// storedKey returns the key of an item.
func storedKey(t *testing.T, db kv.DB) string {
	t.Helper()
	l, err := db.List(t.Context(), prefix)
	fatal(t, err)
	return l.Items[2].Key
}

// keyCount returns the number of keys of a Redis.
func keyCount(t *testing.T, p *kvtest.Process) int {
	t.Helper()
	n, err := strconv.Atoi(strings.Trim(p.Reply("DBSIZE"), ":\r\n"))
	fatal(t, err)
	return n
}

// evict makes a Redis evict all keys that a policy covers, and waits until so many are left.
func evict(t *testing.T, p *kvtest.Process, policy string, left int) {
	t.Helper()
	p.Command(t, "CONFIG", "SET", "maxmemory-policy", policy)
	p.Command(t, "CONFIG", "SET", "maxmemory", "1")
	until(t, "the keys are evicted", func() bool { return keyCount(t, p) == left })
	p.Command(t, "CONFIG", "SET", "maxmemory", "0")
}

// Consul that lost its data, or is another cluster.
func TestConsulThatLies(t *testing.T) {
	t.Parallel()
	conf := func(addr string) consul.Config {
		cfg := consul.DefaultConfig()
		cfg.Address, cfg.WatchTimeout = addr, shortWatch
		return cfg
	}
	runServers(t, serverUnderTest{
		start: func(t *testing.T) *kvtest.Process {
			p := kvtest.Consul(t, "-hcl", "connect { enabled = true }")
			db, closeDB, err := consul.Open(conf(p.Direct))
			fatal(t, err)
			defer func() { _ = closeDB() }()
			for range 30 {
				fatal(t, db.Put(t.Context(), "/other", []byte("x")))
			}
			return p
		},
		open: func(t *testing.T, addr string) kv.DB {
			db, closeDB, err := consul.Open(conf(addr))
			fatal(t, err)
			t.Cleanup(func() { _ = closeDB() })
			return db
		},
	}, func(addr string) kv.Store { return consul.NewPlugin(consul.UseConf(conf(addr))) }, []serverCase{
		{name: "restarted empty", reason: "this is another store (cluster ", accident: func(t *testing.T, s *serverUnderTest) {
			s.process.Stop()
			s.process.Wipe(t)
			s.process.Start(t)
		}},
		{name: "older data", reason: "the store went back from ", older: true, accident: func(t *testing.T, s *serverUnderTest) {
			s.process.Stop()
			s.restore()
			s.process.Start(t)
		}},
		{name: "other cluster with less", reason: "this is another store (cluster ", onlyStop: true, accident: func(t *testing.T, s *serverUnderTest) {
			s.replace(t, tamperedItems-1)
			for range 100 { // its index is larger
				fatal(t, s.db.Put(t.Context(), "/other", []byte("x")))
			}
		}},
		{name: "other cluster with all", left: tamperedItems, onlyStop: true, accident: func(t *testing.T, s *serverUnderTest) { s.replace(t, tamperedItems) }},
		{name: "restarted with all data", left: tamperedItems, accident: func(t *testing.T, s *serverUnderTest) { s.process.Restart(t) }},
		{name: "connection silently dead", left: tamperedItems - 1, accident: deadConnection},
	})
}
