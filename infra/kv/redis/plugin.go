// Package redis is the connector to Redis: one server, servers with sentinels,
// or a cluster.
//
// Redis has no history. It announces changed keys only to current subscribers
// (notify-keyspace-events), so a session subscribes first and then reads
// everything; for each announced key it reads the present value. Intermediate
// values may be missed, but the last one is always seen. After a failure it
// reads and compares everything. There are no revisions, no entries bound to
// the lifetime of a client, and in a cluster no transactions over keys of
// several servers.
package redis

import (
	"context"
	"io"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/connector"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// maxPause is the maximum delay between two attempts to connect.
const maxPause = 2 * time.Second

// Plugin is the connection to Redis.
type Plugin struct{ connector.Base[Config] }

// Deps are the dependencies of the plugin.
type Deps = connector.Deps

var _ kv.Connector = (*Plugin)(nil)

// ConfigSpec returns the defaults of redis.conf.
func (p *Plugin) ConfigSpec() any { return p.Defaults(DefaultConfig()) }

// Init prepares the connections, which are established on demand.
func (p *Plugin) Init() error {
	cfg, enabled, err := p.Configure(DefaultConfig())
	if !enabled {
		return err
	}
	d, err := connect(cfg, p.Log)
	if err != nil {
		return err
	}
	p.Use(connector.Store{
		DB: d, Servers: cfg.servers(), Session: d.session, Timeout: cfg.operationTimeout(), MaxPause: maxPause, Resync: cfg.ResyncAfterReconnect, Close: d.close,
	})
	p.Log.Info("using Redis", "server", cfg.where())
	return nil
}

func connect(cfg Config, log logging.Logger) (*database, error) {
	silenceLibrary()
	secure, err := cfg.tls()
	if err != nil {
		return nil, err
	}
	d := &database{cfg: cfg, masters: cfg.open(secure, false), log: log, warned: map[string]string{}}
	d.reads = d.masters
	if cfg.EnableReadOnReplica {
		d.reads = cfg.open(secure, true)
	}
	return d, nil
}

// Open connects to Redis without a plugin, for programs that are not agents. It
// connects with the first request.
func Open(cfg Config) (db kv.DB, closeDB func() error, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	d, err := connect(cfg, logging.NewRegistry(logging.WithWriter(io.Discard)).Logger("redis"))
	if err != nil {
		return nil, nil, err
	}
	return d, d.close, nil
}

// silenceLibrary prevents go-redis from writing to standard error; it returns
// its errors as well. Its logger is a global variable without a lock, so it is
// set before the first client is created.
var silenceLibrary = sync.OnceFunc(func() { goredis.SetLogger(silent{}) })

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
