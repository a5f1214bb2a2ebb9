package topology

import (
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
)

// DefaultName is the name of the plugin.
const DefaultName = "topology"

// DefaultPlugin is a plugin with default settings, for programs with a single agent. Other
// programs use NewPlugin.
var DefaultPlugin Plugin

// Option is a setting of a Plugin.
type Option func(*Plugin)

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...Option) *Plugin {
	return infra.New(&Plugin{}, opts)
}

// UseDeps lets f change the dependencies of the plugin.
func UseDeps(f func(*Deps)) Option { return func(p *Plugin) { f(&p.Deps) } }

// SetDefaults gives the plugin its name, and the default server and scheduler where they are
// missing.
func (p *Plugin) SetDefaults() {
	p.SetDefaultName(DefaultName)
	if p.HTTP == nil {
		p.HTTP = &rest.DefaultPlugin
	}
	if p.Scheduler == nil {
		p.Scheduler = &kvscheduler.DefaultPlugin
	}
}
