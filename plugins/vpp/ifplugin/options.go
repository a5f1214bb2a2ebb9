package ifplugin

import (
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
)

// DefaultName is the name of the plugin; its configuration file is
// vpp-ifplugin.conf.
const DefaultName = "vpp-ifplugin"

// DefaultPlugin is a plugin with default settings, for programs with a single
// agent; others use NewPlugin.
var DefaultPlugin Plugin

// Option is a setting of a Plugin.
type Option func(*Plugin)

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...Option) *Plugin {
	return infra.New(&Plugin{}, opts)
}

// UseDeps lets f change the dependencies of the plugin.
func UseDeps(f func(*Deps)) Option { return func(p *Plugin) { f(&p.Deps) } }

// UseConf sets the values that hold where the configuration file says nothing.
func UseConf(cfg Config) Option { return func(p *Plugin) { p.defaults = &cfg } }

// SetDefaults gives the plugin its name, the default scheduler and the default
// connection to VPP, where they are missing.
func (p *Plugin) SetDefaults() {
	p.SetDefaultName(DefaultName)
	if p.Scheduler == nil {
		p.Scheduler = &kvscheduler.DefaultPlugin
	}
	if p.VPP == nil {
		p.VPP = &govppmux.DefaultPlugin
	}
}
