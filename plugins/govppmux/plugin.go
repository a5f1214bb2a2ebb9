// Package govppmux keeps the connection of an agent to VPP. It connects
// whenever a VPP can be reached, for as long as the agent lives, and offers one
// api.Connection that always leads to the VPP connected now. Each time it
// connects is a session with an epoch of its own; plugins learn of sessions
// with OnSession, because message variants, indexes and state belong to one
// session.
//
// A VPP that is absent, dies or hangs is never an error of Init: the agent
// starts without it, requests fail at once with ErrDisconnected, and the health
// of the plugin says why and since when.
package govppmux

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/metrics"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
)

// Plugin is the connection of an agent to one VPP. Its methods may be called
// concurrently, from Init of the plugins that depend on it on.
type Plugin struct {
	Deps

	defaults *Config
	cfg      Config
	once     sync.Once
	state    *state
	conn     *Connection
	totals   totals
	rejected atomic.Uint64 // requests made while no VPP was connected

	// Of compete, which one goroutine runs.
	yielded      time.Time // when another agent was seen last; zero: none
	yieldedTo    claim
	blind        bool          // VPP does not say who its clients are
	closeTimeout time.Duration // 0: the default
	patience     time.Duration // with a VPP that does not answer at once; 0: the default

	records atomic.Uint64 // see Records

	offered struct {
		mu  sync.Mutex
		all []binding.Capability
	}
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// HTTP serves the endpoints of the plugin, if there is a server.
	HTTP rest.HTTPHandlers `optional:"true"`
	// Metrics publishes the counters of the plugin, if there is a registry.
	Metrics metrics.Registerer `optional:"true"`
	// Identity names the agent, which shares no VPP with another agent that has the same
	// label; nil: it may. A VPP that the agent runs itself is its own.
	Identity Identity `optional:"true"`
	// Local runs a VPP for the agent, if there is one.
	Local LocalVPP `optional:"true"`
}

// LocalVPP is a VPP, or a simulator, that the agent runs itself.
type LocalVPP interface {
	// Socket returns the unix socket of its binary API, which replaces the one
	// of govpp.conf; empty if the agent runs no VPP. It is known after Init.
	Socket() string
}

// ConfigSpec returns the defaults of govpp.conf.
func (p *Plugin) ConfigSpec() any { return config.Or(p.defaults, DefaultConfig()) }

func (p *Plugin) setup() {
	p.once.Do(func() {
		p.state = newState()
		p.conn = &Connection{plugin: p}
	})
}

// Init reads the configuration and registers endpoints and metrics.
func (p *Plugin) Init() error {
	p.setup()
	cfg, _, err := config.Load(p.Cfg, config.Or(p.defaults, DefaultConfig()))
	if err != nil {
		return err
	}
	p.cfg = cfg
	if p.Local != nil && p.Local.Socket() != "" {
		p.cfg.BinAPISocketPath = p.Local.Socket()
	}
	for _, note := range cfg.notes() {
		p.Log.Warn("setting has no effect", "setting", note.key, "reason", note.reason)
	}
	if p.Metrics != nil {
		if err := p.Metrics.Registry().Register(collector{p}); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	if p.HTTP != nil {
		return p.HTTP.Register(p.String(), p.endpoints()...)
	}
	return nil
}

// AfterInit begins to connect, when all plugins that watch sessions are ready.
func (p *Plugin) AfterInit() error {
	p.Health.Starting("connecting to VPP") // until the first attempt has ended
	p.Go(p.connectForever)
	return nil
}

// Records returns how many records of dumps VPP has sent, in all sessions.
func (p *Plugin) Records() uint64 { return p.records.Load() }

// Conn returns the connection to whatever VPP is connected: the same value for
// the life of the plugin. While there is none, requests fail with
// binapi.ErrDisconnected.
func (p *Plugin) Conn() *Connection {
	p.setup()
	return p.conn
}

// Session returns the current session, or why there is none.
func (p *Plugin) Session() Session {
	p.setup()
	session, _ := p.state.get()
	return session
}

// OnSession calls f with the current state, once there is any, and with every
// change from then on: each session that comes up, and each one's end. Calls
// are made one at a time and in order; f must return soon, as it holds up the
// reconnecting, and must not call OnSession. After cancel returned, f is no
// longer called; f itself must not call cancel.
func (p *Plugin) OnSession(f func(Session)) (cancel func()) {
	p.setup()
	return p.state.watch(f)
}

// WaitSession waits for a session that is up and newer than an epoch; 0 takes
// any. The error is ctx's error.
func (p *Plugin) WaitSession(ctx context.Context, after uint64) (Session, error) {
	p.setup()
	for {
		session, changed := p.state.get()
		if session.Up && session.Epoch > after {
			return session, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return session, ctx.Err()
		}
	}
}

// Config returns the configuration; it is complete from Init on.
func (p *Plugin) Config() Config { return p.cfg }
