package itemplugin

import (
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin"
)

// Option is a setting of a Plugin.
type Option func(*Plugin)

// UseDeps lets f change the dependencies of the plugin.
func UseDeps(f func(*Deps)) Option { return func(p *Plugin) { f(&p.Deps) } }

// New returns the plugin of a Spec with the given settings.
func New(spec Spec, opts []Option) *Plugin {
	return infra.New(&Plugin{spec: spec}, opts)
}

// SetDefaults gives the plugin its name, and the default plugins where dependencies are missing.
func (p *Plugin) SetDefaults() {
	p.SetDefaultName(p.spec.Name)
	if p.Scheduler == nil {
		p.Scheduler = &kvscheduler.DefaultPlugin
	}
	if p.Namespaces == nil {
		p.Namespaces = &nsplugin.DefaultPlugin
	}
	if p.Interfaces == nil {
		p.Interfaces = &ifplugin.DefaultPlugin
	}
	if p.ServiceLabel == nil {
		p.ServiceLabel = &servicelabel.DefaultPlugin
	}
}
