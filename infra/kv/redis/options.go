package redis

import "github.com/tenuto-dev/tenuto/infra"

// DefaultName is the name of the plugin; its configuration file is redis.conf.
const DefaultName = "redis"

// DefaultPlugin is a plugin with default settings, for programs with a single
// agent. Other programs use NewPlugin.
var DefaultPlugin Plugin

// Option is a setting of a Plugin.
type Option func(*Plugin)

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...Option) *Plugin {
	return infra.New(&Plugin{}, opts)
}

// UseDeps lets f change the dependencies of the plugin.
func UseDeps(f func(*Deps)) Option { return func(p *Plugin) { f(&p.Deps) } }

// UseConf sets a configuration that replaces the defaults and enables the
// plugin without a file. A file overrides it.
func UseConf(cfg Config) Option { return func(p *Plugin) { p.Base.UseConf(cfg) } }

// SetDefaults gives the plugin its name if it has none.
func (p *Plugin) SetDefaults() {
	p.SetDefaultName(DefaultName)
}
