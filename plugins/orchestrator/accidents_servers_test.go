package orchestrator_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/consul"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	"github.com/tenuto-dev/tenuto/infra/kv/redis"
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
		cfg.Endpoint = addr
		return cfg
	}
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
	})
}

// Consul that lost its data, or is another cluster.
func TestConsulThatLies(t *testing.T) {
	t.Parallel()
	conf := func(addr string) consul.Config {
		cfg := consul.DefaultConfig()
		cfg.Address = addr
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
	})
}
