package nsplugin

import (
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/kernel"
)

// DefaultName is the name of the plugin; its configuration file is
// linux-nsplugin.conf.
const DefaultName = "linux-nsplugin"

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

// UseKernel replaces the running kernel, for tests; dir is the directory of
// named namespaces.
func UseKernel(k netlinkapi.Namespaces, dir string) Option {
	return func(p *Plugin) {
		p.kernel, p.dir = k, dir
		if f, ok := k.(interface{ Forget() }); ok {
			p.forget = f.Forget
		}
	}
}

// OnCreate sets a function that receives the name of every namespace that the
// plugin has made. It may be called concurrently, and must not call the plugin.
func OnCreate(f func(name string)) Option { return func(p *Plugin) { p.onCreate = f } }

// SetDefaults fills what was left open.
func (p *Plugin) SetDefaults() {
	p.SetDefaultName(DefaultName)
	if p.Scheduler == nil {
		p.Scheduler = &kvscheduler.DefaultPlugin
	}
	if p.dir == "" {
		p.dir = runDirectory
	}
	if p.kernel == nil {
		k := kernel.New()
		p.kernel = k
		p.background, p.forget, p.closeKernel = k.Run, k.Forget, k.Close
	}
}
