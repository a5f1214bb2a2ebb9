package hosts

import "github.com/tenuto-dev/tenuto/plugins/kvscheduler"

// Option is a setting of the plugin.
type Option func(*Plugin)

// NewPlugin returns the plugin with the given settings.
func NewPlugin(opts ...Option) *Plugin {
	p := &Plugin{}
	for _, o := range opts {
		o(p)
	}
	p.SetDefaults()
	return p
}

// UseDeps lets f change the dependencies of the plugin.
func UseDeps(f func(*Deps)) Option { return func(p *Plugin) { f(&p.Deps) } }

// SetDefaults fills what was left nil.
func (p *Plugin) SetDefaults() {
	if p.String() == "" {
		p.SetName("hosts")
	}
	if p.Scheduler == nil {
		p.Scheduler = &kvscheduler.DefaultPlugin
	}
}
