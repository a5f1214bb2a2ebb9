package telemetry

import (
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/rates"
)

// DefaultName is the name of the plugin; its configuration file is telemetry.conf.
const DefaultName = "telemetry"

// Option is a setting of a Plugin.
type Option func(*Plugin)

// NewPlugin returns a plugin with the given settings. It needs at least
// Deps.VPP.
func NewPlugin(opts ...Option) *Plugin {
	return infra.New(&Plugin{now: time.Now}, opts)
}

// UseDeps lets f change the dependencies of the plugin.
func UseDeps(f func(*Deps)) Option { return func(p *Plugin) { f(&p.Deps) } }

// UseClock sets the clock; default: time.Now.
func UseClock(now func() time.Time) Option { return func(p *Plugin) { p.now = now } }

// SampleEvery sets the time between two samples of the history, which has 240; default: 15s.
func SampleEvery(d time.Duration) Option { return func(p *Plugin) { p.sampling = d } }

// SetDefaults gives the plugin its name if it has none.
func (p *Plugin) SetDefaults() {
	p.SetDefaultName(DefaultName)
	if p.now == nil {
		p.now = time.Now
	}
	if p.sampling <= 0 {
		p.sampling = rates.SampleEvery
	}
}
