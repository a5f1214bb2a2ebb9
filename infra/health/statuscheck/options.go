package statuscheck

import "github.com/tenuto-dev/tenuto/infra"

// DefaultName is the name of the plugin; its configuration file is
// status-check.conf.
const DefaultName = "status-check"

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

// SetDefaults gives the plugin its name if it has none.
func (p *Plugin) SetDefaults() {
	p.SetDefaultName(DefaultName)
}
