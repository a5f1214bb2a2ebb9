package ifplugin

import (
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/rates"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin"
)

// DefaultName is the name of the plugin; its configuration file is
// linux-ifplugin.conf.
const DefaultName = "linux-ifplugin"

// DefaultPlugin has default settings, for programs with a single agent; others
// use NewPlugin.
var DefaultPlugin Plugin

// Option is a setting of the plugin.
type Option func(*Plugin)

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...Option) *Plugin {
	return infra.New(&Plugin{}, opts)
}

// UseDeps lets f change the dependencies of the plugin.
func UseDeps(f func(*Deps)) Option { return func(p *Plugin) { f(&p.Deps) } }

// UseConf sets the values that hold where the configuration file says nothing.
func UseConf(cfg Config) Option { return func(p *Plugin) { p.defaults = &cfg } }

// SampleEvery sets the time between two samples of the history, which has 240; default: 15s.
func SampleEvery(d time.Duration) Option { return func(p *Plugin) { p.sampling = d } }

// SetDefaults fills what was left open.
func (p *Plugin) SetDefaults() {
	p.SetDefaultName(DefaultName)
	if p.sampling <= 0 {
		p.sampling = rates.SampleEvery
	}
	if p.Scheduler == nil {
		p.Scheduler = &kvscheduler.DefaultPlugin
	}
	if p.Namespaces == nil {
		p.Namespaces = &nsplugin.DefaultPlugin
	}
	if p.ServiceLabel == nil {
		p.ServiceLabel = &servicelabel.DefaultPlugin
	}
}
