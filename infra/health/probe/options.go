package probe

import (
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

// DefaultName is the name of the plugin; its configuration file is probe.conf.
const DefaultName = "probe"

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

// WithNonFatalPlugins names plugins whose failures do not affect the state of
// the agent.
func WithNonFatalPlugins(names ...string) Option {
	return func(p *Plugin) { p.base.NonFatalPlugins = names }
}

// WithReadyDespite names plugins and parts of plugins ("plugin/part") whose
// failures do not make the agent unready.
func WithReadyDespite(paths ...string) Option {
	return func(p *Plugin) { p.base.ReadyDespite = paths }
}

// SetDefaults sets the default name and HTTP server if they are missing.
func (p *Plugin) SetDefaults() {
	p.SetDefaultName(DefaultName)
	if p.HTTP == nil {
		p.HTTP = &rest.DefaultPlugin
	}
}
