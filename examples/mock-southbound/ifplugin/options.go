package ifplugin

import (
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
)

// Option is a setting of the plugin.
type Option func(*Plugin)

// NewPlugin returns the plugin with the given settings.
func NewPlugin(opts ...Option) *Plugin {
	return infra.New(&Plugin{}, opts)
}

// UseDeps lets f change the dependencies of the plugin.
func UseDeps(f func(*Deps)) Option { return func(p *Plugin) { f(&p.Deps) } }

// SetDefaults fills what was left nil.
func (p *Plugin) SetDefaults() {
	if p.String() == "" {
		p.SetName("mock-ifplugin")
	}
	if p.Scheduler == nil {
		p.Scheduler = &kvscheduler.DefaultPlugin
	}
}
