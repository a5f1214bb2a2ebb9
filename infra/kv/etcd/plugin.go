// Package etcd is the connector to etcd, version 3.
//
// After a failure, a watch continues from the last change that it received, if
// the server still has exactly that change in its history. Otherwise, because
// it was compacted or the server has another history (restored from a backup,
// emptied, another cluster), the connector reads everything and compares.
// Requests do not wait for a connection, so that errors contain its failure.
//
// A connection that is silently dead is closed by keepalive pings, a watch on which
// the server sends nothing by progress requests (watch-timeout).
package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/connector"
)

const (
	// keepaliveTime is the time without traffic after which the connector pings
	// the server, keepaliveTimeout how long it waits for the reply. The server
	// allows one ping in 5 s (grpc-keepalive-min-time).
	keepaliveTime    = 10 * time.Second
	keepaliveTimeout = 5 * time.Second
	// firstPause is the delay after the first failed attempt to connect.
	firstPause = 50 * time.Millisecond
)

// Plugin is the connection to etcd.
type Plugin struct {
	connector.Base[Config]
	cfg Config
	db  *database
}

// Deps are the dependencies of the plugin.
type Deps = connector.Deps

var _ kv.Connector = (*Plugin)(nil)

// ConfigSpec returns the defaults of etcd.conf.
func (p *Plugin) ConfigSpec() any { return p.Defaults(DefaultConfig()) }

// Init prepares the connection, which is established in the background unless
// allow-delayed-start is false.
func (p *Plugin) Init() error {
	cfg, enabled, err := p.Configure(DefaultConfig())
	if !enabled {
		return err
	}
	p.cfg = cfg
	client, err := connect(cfg)
	if err != nil {
		return err
	}
	p.db = newDatabase(client, cfg)
	if !cfg.AllowDelayedStart {
		if _, err := p.db.revision(p.Context(), cfg.DialTimeout+cfg.OperationTimeout); err != nil {
			return errors.Join(fmt.Errorf("no response from %s (allow-delayed-start is false): %w", strings.Join(cfg.endpoints(), ", "), err),
				client.Close())
		}
	}
	p.db.lifetime = newLifetime(p.db, int64(cfg.SessionTTL), p.Log)
	store := connector.Store{
		DB: p.db, Session: p.db.session, Timeout: cfg.OperationTimeout, MaxPause: cfg.ReconnectInterval, Resync: cfg.ResyncAfterReconnect,
		Servers: cfg.servers(), Close: p.close,
	}
	if cfg.ExpandEnvVars {
		store.Value = func(b []byte) kv.Value { return kv.Expanding{Encoded: b, Lookup: config.ProcessEnviron} }
	}
	p.Use(store)
	p.Go(p.db.lifetime.keep)
	if cfg.AutoCompact > 0 {
		if cfg.AutoCompact < minAutoCompact {
			p.Log.Warn("auto-compact is short; a client that is disconnected for longer has to read everything again", "auto-compact", cfg.AutoCompact)
		}
		p.Go(p.compact)
	}
	p.Log.Info("using etcd", "endpoints", strings.Join(cfg.endpoints(), ","))
	return nil
}

func connect(cfg Config) (*clientv3.Client, error) {
	secure, err := cfg.tls()
	if err != nil {
		return nil, err
	}
	pauses := backoff.Config{BaseDelay: firstPause, Multiplier: 2, Jitter: 0.2, MaxDelay: cfg.ReconnectInterval}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: cfg.endpoints(), DialTimeout: cfg.DialTimeout, TLS: secure, Logger: zap.NewNop(),
		DialKeepAliveTime: keepaliveTime, DialKeepAliveTimeout: keepaliveTimeout,
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{Backoff: pauses, MinConnectTimeout: cfg.DialTimeout})},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", strings.Join(cfg.endpoints(), ", "), err)
	}
	return client, nil
}

// Open connects to etcd without a plugin, for programs that are not agents. It
// connects with the first request. WithClientLifetimeTTL is not supported.
func Open(cfg Config) (db kv.DB, closeDB func() error, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	client, err := connect(cfg)
	if err != nil {
		return nil, nil, err
	}
	d := newDatabase(client, cfg)
	d.lifetime = newLifetime(nil, 0, nil)
	return d, client.Close, nil
}

// close removes the entries with the lifetime of this agent, and closes the
// connection.
func (p *Plugin) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), p.cfg.OperationTimeout)
	defer cancel()
	err := p.db.lifetime.end(ctx)
	if cerr := p.db.client.Close(); !errors.Is(cerr, context.Canceled) {
		err = errors.Join(err, cerr)
	}
	return err
}

// compact periodically drops history that is older than one interval.
func (p *Plugin) compact(ctx context.Context) {
	tick := time.NewTicker(p.cfg.AutoCompact)
	defer tick.Stop()
	var before int64
	for {
		now, err := p.db.revision(ctx, p.cfg.OperationTimeout)
		if err == nil && before > 0 {
			err = p.db.Compact(ctx, before)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil, errors.Is(err, kv.ErrCompacted): // compacted by others, or nothing has changed since
			before = now
		default:
			p.Log.Warn("cannot compact the history", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
