// Package redis is the connector to Redis: one server, servers with sentinels,
// or a cluster.
//
// Redis has no history. It announces which keys change, to those who listen at
// that moment (notify-keyspace-events), so a session listens first and reads
// everything then; of a key that was announced the present value is read. What
// changes quickly is seen in fewer steps, the last of which is always seen;
// after any trouble everything is read and compared. There are no revisions, no
// entries that live as long as a client, and in a cluster no transactions over
// keys of several servers.
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

// maxPause is the longest pause between two attempts to connect.
const maxPause = 2 * time.Second

// Plugin is the connection to Redis.
type Plugin struct {
	Deps
	base *Config // of UseConf; nil: none
	cfg  Config
	db   *database // nil: disabled
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

// Init prepares the connections, which are made when they are needed.
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
	p.Log.Info("redis is used", "server", cfg.where())
	return nil
}

// silenceLibrary keeps go-redis from writing to standard error, past all
// loggers; its errors are returned as well. Its logger is one for the process
// and has no lock: it is set before the first client is made.
var silenceLibrary = sync.OnceFunc(func() { goredis.SetLogger(silent{}) })

type silent struct{}

// Printf does nothing.
func (silent) Printf(context.Context, string, ...any) {}

// Close ends the connections.
func (p *Plugin) Close() error {
	p.StopGoroutines()
	if p.db == nil {
		return nil
	}
	// A connection that the server has cut cannot be told of the end (TLS); nothing is
	// lost by that.
	_ = p.db.masters.Close()
	if p.db.reads != p.db.masters {
		_ = p.db.reads.Close()
	}
	return nil
}

// Disabled tells that there is no configuration file.
func (p *Plugin) Disabled() bool { return p.db == nil }

// DB gives access to the entries; nil if the plugin is disabled.
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

// Delete removes a key, or all that begin with it.
func (p *Plugin) Delete(key string, opts ...kv.DelOption) (existed bool, err error) {
	return kv.Withdraw(p.Context(), p.cfg.operationTimeout(), p.DB(), key, opts...)
}
