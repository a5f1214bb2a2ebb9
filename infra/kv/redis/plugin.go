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
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/follow"
)

// maxPause is the maximum delay between two attempts to connect.
const maxPause = 2 * time.Second

// Plugin is the connection to Redis.
type Plugin struct {
	Deps
	base *Config // of UseConf; nil if it was not used
	cfg  Config
	db   *database // nil if the plugin is disabled
}

// Deps is what the plugin needs.
type Deps struct {
	infra.PluginDeps
}

var _ kv.Connector = (*Plugin)(nil)

// ConfigSpec returns the defaults of redis.conf.
func (p *Plugin) ConfigSpec() any { return p.defaults() }

func (p *Plugin) defaults() Config {
	if p.base != nil {
		return *p.base
	}
	return DefaultConfig()
}

// Init prepares the connections, which are established on demand.
func (p *Plugin) Init() error {
	cfg, found, err := config.Load(p.Cfg, p.defaults())
	if err != nil {
		return err
	}
	if p.cfg = cfg; !found && p.base == nil {
		p.Log.Debug("disabled: there is no configuration file")
		return nil
	}
	silenceLibrary()
	secure, err := cfg.tls()
	if err != nil {
		return err
	}
	d := &database{cfg: cfg, masters: cfg.open(secure, false), log: p.Log}
	d.reads = d.masters
	if cfg.EnableReadOnReplica {
		d.reads = cfg.open(secure, true)
	}
	p.db = d
	p.Log.Info("using Redis", "server", cfg.where())
	return nil
}

// silenceLibrary prevents go-redis from writing to standard error; it returns
// its errors as well. Its logger is a global variable without a lock, so it is
// set before the first client is created.
var silenceLibrary = sync.OnceFunc(func() { goredis.SetLogger(silent{}) })

type silent struct{}

// Printf does nothing.
func (silent) Printf(context.Context, string, ...any) {}

// Close closes the connections.
func (p *Plugin) Close() error {
	p.StopGoroutines()
	if p.db == nil {
		return nil
	}
	// The TLS shutdown fails if the server has closed the connection, which is
	// harmless.
	_ = p.db.masters.Close()
	if p.db.reads != p.db.masters {
		_ = p.db.reads.Close()
	}
	return nil
}

// Disabled reports that there is no configuration file.
func (p *Plugin) Disabled() bool { return p.db == nil }

// DB provides access to the entries; nil if the plugin is disabled.
func (p *Plugin) DB() kv.DB {
	if p.db == nil {
		return nil
	}
	return p.db
}

// Watch follows the store, see kv.Store.
func (p *Plugin) Watch(ctx context.Context, prefix string, handle func(kv.Update) error) error {
	return follow.Run(ctx, follow.Options{
		Store: p.String(), Prefix: prefix, MaxPause: maxPause, Resync: p.cfg.ResyncAfterReconnect, Log: p.Log, Health: p.Health,
	}, p.db.session, handle)
}

// Put stores the value of a key as JSON; nil removes it.
func (p *Plugin) Put(key string, value proto.Message, opts ...kv.PutOption) error {
	return kv.Publish(p.Context(), p.cfg.operationTimeout(), p.DB(), key, value, opts...)
}

// Delete removes a key, or with kv.WithPrefix all keys that begin with it.
func (p *Plugin) Delete(key string, opts ...kv.DelOption) (existed bool, err error) {
	return kv.Withdraw(p.Context(), p.cfg.operationTimeout(), p.DB(), key, opts...)
}
