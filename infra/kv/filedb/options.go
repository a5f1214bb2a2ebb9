package filedb

import (
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// DefaultName is the name of the plugin; its configuration file is filedb.conf.
const DefaultName = "filedb"

// DefaultPlugin is a plugin with default settings, for programs with a single
// agent; others use NewPlugin. Its Format has to be set.
var DefaultPlugin Plugin

// Option is a setting of a Plugin.
type Option func(*Plugin)

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...Option) *Plugin {
	return infra.New(&Plugin{}, opts)
}

// UseDeps lets f change the dependencies of the plugin.
func UseDeps(f func(*Deps)) Option { return func(p *Plugin) { f(&p.Deps) } }

// UseFormat sets the format of files.
func UseFormat(f kv.Format) Option { return func(p *Plugin) { p.Format = f } }

// UseConf gives the plugin a configuration that needs no file; a file overrides
// it.
func UseConf(cfg Config) Option { return func(p *Plugin) { p.base = &cfg } }

// SetDefaults gives the plugin its name if it has none.
func (p *Plugin) SetDefaults() {
	p.SetDefaultName(DefaultName)
}
