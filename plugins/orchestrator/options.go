package orchestrator

import (
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// DefaultName is the name of the plugin; its configuration file is
// orchestrator.conf.
const DefaultName = "orchestrator"

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

// UseConf sets the defaults of the configuration file.
func UseConf(cfg Config) Option { return func(p *Plugin) { p.base = &cfg } }

// UseScheduler sets the scheduler.
func UseScheduler(s Scheduler) Option { return func(p *Plugin) { p.Scheduler = s } }

// UseWatchers sets the stores to watch, the one with the lowest priority first.
func UseWatchers(ws ...datasync.KeyValProtoWatcher) Option {
	return func(p *Plugin) { p.Watcher = ws }
}

// UseCodec sets the models and the parser of documents.
func UseCodec(c *document.Codec) Option { return func(p *Plugin) { p.Codec = c } }

// UseHTTP sets the server for the endpoints under /configuration.
func UseHTTP(h rest.HTTPHandlers) Option { return func(p *Plugin) { p.HTTP = h } }

// SetDefaults sets the default name and scheduler if they are missing.
func (p *Plugin) SetDefaults() {
	p.SetDefaultName(DefaultName)
	if p.Scheduler == nil {
		p.Scheduler = &kvscheduler.DefaultPlugin
	}
}
