// Package statuscheck is the plugin that publishes the health of the agent and
// of its plugins to data stores, and that calls health probes of components that
// do not report by themselves.
//
// It publishes changes at once, and everything periodically, so that readers can
// detect stale data. The states come from the health tree. The state of the
// agent is the worst of its plugins, except those that probe.conf declares
// non-fatal, and the text of a plugin names the cause of its failure.
package statuscheck

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/health/statuscheck/status"
	"github.com/tenuto-dev/tenuto/infra/kv/publish"
)

// Plugin publishes health. Probe may be called concurrently.
type Plugin struct {
	Deps
	cfg  Config
	host infra.Host

	publishers []*publish.Publisher
	prefix     string // of the agent

	mu     sync.Mutex
	probes []probe // waiting for AfterInit
	begun  bool    // AfterInit was called
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// Stores are the data stores that health can be published to; publishers
	// selects some of them.
	Stores []publish.Store `optional:"true"`
	// Default are those that health is published to unless the configuration names others.
	Default []publish.Store `optional:"true"`
	// Label provides the key prefix; nil: no prefix.
	Label AgentPrefix `optional:"true"`
	// NonFatal provides the non-fatal plugins; nil: all plugins count.
	NonFatal NonFatal `optional:"true"`
}

// AgentPrefix provides the prefix of this agent's keys in a data store.
type AgentPrefix interface {
	GetAgentPrefix() string
}

// NonFatal provides the plugins that do not affect the state of the agent, as
// the probe plugin does.
type NonFatal interface {
	NonFatalPlugins() []string
}

// Config is the file status-check.conf.
type Config struct {
	Publishers      []string      `json:"publishers" desc:"names of the data stores that the health of the agent is published to, below check/status/v1/; the default of vpp-agent is etcd if it is configured, an empty list is none"`
	PublishInterval time.Duration `json:"publish-interval" desc:"how often unchanged health is published again, with a new last_update; 0: only changes are written, and the lifetime of the keys shows that the agent is alive"`
	ProbeInterval   time.Duration `json:"probe-interval" desc:"interval and timeout of probes"`
}

// DefaultConfig returns the configuration without a file.
func DefaultConfig() Config {
	return Config{ProbeInterval: 5 * time.Second}
}

// Validate returns an error for invalid values.
func (c Config) Validate() error {
	var check config.Checks
	check.Expect(c.PublishInterval == 0 || c.PublishInterval >= minInterval, "publish-interval: %v: expected 0, or at least %v", c.PublishInterval, minInterval)
	check.Expect(c.ProbeInterval >= minInterval, "probe-interval: %v: expected at least %v", c.ProbeInterval, minInterval)
	return check.Err()
}

const minInterval = 100 * time.Millisecond

var _ infra.PostInit = (*Plugin)(nil)

// ConfigSpec returns the defaults of status-check.conf.
func (p *Plugin) ConfigSpec() any { return DefaultConfig() }

// SetHost sets the agent whose health the plugin publishes.
func (p *Plugin) SetHost(h infra.Host) { p.host = h }

// Init reads the configuration.
func (p *Plugin) Init() error {
	if p.host == nil {
		return fmt.Errorf("plugin %s: needs an agent", p)
	}
	cfg, _, err := config.Load(p.Cfg, DefaultConfig())
	if err != nil {
		return err
	}
	p.cfg = cfg
	if p.Label != nil {
		p.prefix = p.Label.GetAgentPrefix()
	}
	stores, err := publish.Choose("publishers", cfg.Publishers, p.Stores, p.Log)
	if err != nil {
		return err
	}
	for _, s := range stores {
		p.publishTo(s, p.Health.Scope("publish to "+s.String()))
	}
	if cfg.Publishers == nil {
		for _, s := range p.Default {
			if !s.Disabled() {
				p.publishTo(s, nil) // by default, so a failure does not change the health
			}
		}
	}
	return nil
}

func (p *Plugin) publishTo(s publish.Store, trouble health.Reporter) {
	p.publishers = append(p.publishers, publish.New(publish.Options{
		Store: s, Prefix: p.prefix + status.Prefix, What: "health", Log: p.Log, Health: trouble,
	}))
}

// AfterInit starts publishing and calling the probes.
func (p *Plugin) AfterInit() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = true
	for _, pr := range p.probes {
		p.Go(func(ctx context.Context) { p.ask(ctx, pr) })
	}
	if len(p.publishers) == 0 {
		return nil
	}
	for _, pub := range p.publishers {
		p.Go(pub.Run)
	}
	p.Go(p.follow)
	return nil
}

// follow publishes changes until ctx ends, and with publish-interval unchanged health too.
func (p *Plugin) follow(ctx context.Context) {
	changed, cancel := p.host.Health().Changes()
	defer cancel()
	var again <-chan time.Time
	if p.cfg.PublishInterval > 0 {
		tick := time.NewTicker(p.cfg.PublishInterval)
		defer tick.Stop()
		again = tick.C
	}
	var before *status.AgentStatus
	for {
		before = p.publish(before)
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-again:
			before = nil
		}
	}
}

// publish publishes the differences from the previous status; everything if it
// is nil.
func (p *Plugin) publish(before *status.AgentStatus) *status.AgentStatus {
	now := p.status(before)
	for _, pub := range p.publishers {
		gone := map[string]bool{}
		for _, key := range pub.Keys() {
			gone[key] = true
		}
		for _, s := range now.Plugins {
			key := p.prefix + status.PluginPrefix + s.Name
			delete(gone, key)
			pub.Set(key, s)
		}
		key := p.prefix + status.AgentKey
		delete(gone, key)
		pub.Set(key, now)
		for key := range gone {
			pub.Set(key, nil)
		}
	}
	return now
}

// status returns the health of the agent. Parts with the state and error that they had before
// keep their times, and so does the agent if no part has changed: new times
// alone are no reason to write.
func (p *Plugin) status(before *status.AgentStatus) *status.AgentStatus {
	var ignored []string
	if p.NonFatal != nil {
		ignored = p.NonFatal.NonFatalPlugins()
	}
	b, s := p.host.Build(), p.host.Health().Snapshot(ignored...)
	known := map[string]*status.PluginStatus{}
	for _, ps := range before.GetPlugins() {
		known[ps.Name] = ps
	}
	now := &status.AgentStatus{
		BuildVersion: b.Version, BuildDate: b.Date, CommitHash: b.Commit, State: state(s.State),
		StartTime: s.Started.Unix(), LastChange: s.LastChange.Unix(), LastUpdate: s.Taken.Unix(),
	}
	changed := len(s.Plugins) != len(known) || before.GetState() != now.State
	for _, ps := range s.Plugins {
		plugin := &status.PluginStatus{
			Name: ps.Name, State: state(ps.State), Error: ps.Trouble(), LastChange: ps.LastChange.Unix(), LastUpdate: s.Taken.Unix(),
		}
		if causes := ps.Causes(); causes != "" {
			plugin.Error += " (caused by " + causes + ")"
		}
		if old := known[ps.Name]; old != nil && old.State == plugin.State && old.Error == plugin.Error {
			plugin = old
		} else {
			changed = true
		}
		now.Plugins = append(now.Plugins, plugin)
	}
	if before != nil && !changed {
		return before
	}
	return now
}

func state(s health.State) status.OperationalState { return status.OperationalState(s.Number()) }
