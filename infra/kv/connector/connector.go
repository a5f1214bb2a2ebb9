// Package connector is what the plugins that connect to stores have in common: they are
// disabled without a configuration, follow the store by sessions, and publish values within
// a timeout.
package connector

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/holder"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/follow"
	"github.com/tenuto-dev/tenuto/infra/kv/keyval"
)

// Base is embedded in the plugin of a connector, and makes it a kv.Connector. C is its
// configuration. The plugin needs an Init, which calls Configure and Use, and a ConfigSpec.
type Base[C any] struct {
	Deps
	base  *C     // of UseConf; nil if it was not used
	store Store  // zero if the plugin is disabled
	claim *claim // nil: several agents may use the label

	remembered kv.Identity // see kv.Rememberer
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// Label and Identity name the agent. With them, an agent does not use the part of the store that
	// belongs to its label while another agent has the label. If one is nil, several agents may use it.
	Label    AgentPrefix `optional:"true"`
	Identity Identity    `optional:"true"`
}

// AgentPrefix provides the prefix of this agent's keys in a data store.
type AgentPrefix interface {
	GetAgentPrefix() string
}

// Identity provides the identity of the agent.
type Identity interface {
	Identity() holder.Identity
}

// Store is a store that is in use.
type Store struct {
	DB      kv.DB
	Session follow.Session
	// Servers are the addresses of servers of the store, host:port; none if it has no servers.
	Servers []string
	// Timeout of Put and Delete.
	Timeout time.Duration
	// MaxPause, Resync and Value are as in follow.Options.
	MaxPause time.Duration
	Resync   bool
	Value    func([]byte) kv.Value
	// Close closes the store, after everything else of the plugin has ended.
	Close func() error
}

// UseConf sets a configuration that replaces the defaults and enables the plugin without a
// file. It must not be called after Init.
func (b *Base[C]) UseConf(cfg C) { b.base = &cfg }

// Defaults returns what holds where the configuration file says nothing: the configuration of
// UseConf, else def.
func (b *Base[C]) Defaults(def C) C { return config.Or(b.base, def) }

// Configure reads the configuration file. Without it and without UseConf the plugin is
// disabled.
func (b *Base[C]) Configure(def C) (cfg C, enabled bool, err error) {
	cfg, found, err := config.Load(b.Cfg, b.Defaults(def))
	enabled = found || b.base != nil
	if err == nil && !enabled {
		b.Log.Debug("disabled: there is no configuration file")
	}
	return cfg, enabled && err == nil, err
}

// Use sets the store. It is called once, in Init.
func (b *Base[C]) Use(s Store) {
	b.store = s
	if _, can := s.DB.(kv.Claimer); !can || b.Label == nil || b.Identity == nil {
		return
	}
	c, err := newClaim(s.DB, b.Label.GetAgentPrefix(), b.Identity.Identity())
	if err != nil {
		b.Log.Warn("cannot claim the label in the store", "store", b.String(), "error", err)
		return
	}
	b.claim = c
	b.Go(b.hold)
}

// Close closes the store.
func (b *Base[C]) Close() error {
	b.StopGoroutines()
	if b.Disabled() {
		return nil
	}
	if b.claim != nil {
		ctx, cancel := context.WithTimeout(context.Background(), b.store.Timeout)
		defer cancel()
		if err := b.claim.release(ctx); err != nil {
			b.Log.Debug("cannot release the label; it expires", "store", b.String(), "error", err)
		}
	}
	return b.store.Close()
}

// Usable returns an error if another agent has the label: then this agent must not use what the store has
// for it. It waits for the first attempt to claim the label. DB does not check it.
func (b *Base[C]) Usable() error {
	if b.claim == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(b.Context(), b.store.Timeout)
	defer cancel()
	other, _, err := b.claim.state(ctx)
	if other != nil {
		return fmt.Errorf("%s: %w", b, other)
	}
	return err
}

// Disabled reports that there is no configuration file.
func (b *Base[C]) Disabled() bool { return b.store.DB == nil }

// Servers returns the addresses of servers of the store, host:port.
func (b *Base[C]) Servers() []string { return b.store.Servers }

// DB provides access to the entries; nil if the plugin is disabled.
func (b *Base[C]) DB() kv.DB { return b.store.DB }

// Remember implements kv.Rememberer.
func (b *Base[C]) Remember(last kv.Identity) { b.remembered = last }

// Watch follows the store, see kv.Store.
func (b *Base[C]) Watch(ctx context.Context, prefix string, handle func(kv.Update) error) error {
	run := func(ctx context.Context) error {
		return follow.Run(ctx, follow.Options{
			Store: b.String(), Prefix: prefix, MaxPause: b.store.MaxPause, Resync: b.store.Resync, Value: b.store.Value, Remembered: b.remembered,
			Log: b.Log, Health: b.Health,
		}, b.store.Session, handle)
	}
	if b.claim == nil {
		return run(ctx)
	}
	return b.claim.while(ctx, run)
}

// Put stores the value of a key as JSON; nil removes it.
func (b *Base[C]) Put(key string, value proto.Message, opts ...kv.PutOption) error {
	if err := b.Usable(); err != nil {
		return err
	}
	return kv.Publish(b.Context(), b.store.Timeout, b.store.DB, key, value, opts...)
}

// Delete removes a key, or with kv.WithPrefix all keys that begin with it.
func (b *Base[C]) Delete(key string, opts ...kv.DelOption) (existed bool, err error) {
	if err := b.Usable(); err != nil {
		return false, err
	}
	return kv.Withdraw(b.Context(), b.store.Timeout, b.store.DB, key, opts...)
}

// NewBroker returns a broker, see keyval.KvProtoPlugin.
func (b *Base[C]) NewBroker(keyPrefix string) keyval.ProtoBroker {
	return keyval.NewBroker(b.keyval, keyPrefix)
}

// NewWatcher returns a watcher, see keyval.KvProtoPlugin.
func (b *Base[C]) NewWatcher(keyPrefix string) keyval.ProtoWatcher {
	return keyval.NewWatcher(b.keyval, keyPrefix)
}

// OnConnect calls the function once, as soon as the store can be read. It must be called
// after Init of the connector.
func (b *Base[C]) OnConnect(callback func() error) {
	if b.Disabled() {
		return
	}
	b.Go(func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		_ = b.Watch(ctx, noKeys, func(kv.Update) error { // it ends with the context
			cancel()
			return nil
		})
		if b.Context().Err() != nil {
			return
		}
		if err := callback(); err != nil {
			b.Log.Error("callback of OnConnect failed", "error", err)
		}
	})
}

// noKeys is a prefix that no key has.
const noKeys = "/on-connect/no-keys/"

func (b *Base[C]) keyval() keyval.Store {
	return keyval.Store{
		Name: b.String(), DB: b.store.DB, Timeout: b.store.Timeout, Context: b.Context(), Value: b.store.Value,
		Watch: b.Watch, Go: b.Go,
	}
}
