package govppmux

import (
	"time"

	"github.com/tenuto-dev/tenuto/infra"
)

// DefaultName is the name of the plugin; its configuration file is govpp.conf.
const DefaultName = "govpp"

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

// UseCloseTimeout sets how long the plugin waits for VPP when it closes a connection, for tests
// with a VPP that does not answer; the default is binapi.DefaultCloseTimeout.
func UseCloseTimeout(d time.Duration) Option { return func(p *Plugin) { p.closeTimeout = d } }

// SetDefaults gives the plugin its name if it has none.
func (p *Plugin) SetDefaults() {
	p.SetDefaultName(DefaultName)
}
