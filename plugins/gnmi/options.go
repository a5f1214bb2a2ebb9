package gnmi

import (
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

// DefaultName is the name of the plugin.
const DefaultName = "gnmi"

// DefaultPlugin is a plugin with default settings, for programs with a single
// agent. Other programs use NewPlugin.
var DefaultPlugin Plugin

// Option is a setting of a Plugin.
type Option func(*Plugin)

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...Option) *Plugin { return infra.New(&Plugin{}, opts) }

// UseDeps lets f change the dependencies of the plugin.
func UseDeps(f func(*Deps)) Option { return func(p *Plugin) { f(&p.Deps) } }

// SetDefaults gives the plugin its name, and the default server, orchestrator
// and scheduler where they are missing.
func (p *Plugin) SetDefaults() {
	p.SetDefaultName(DefaultName)
	if p.GRPC == nil {
		p.GRPC = &grpc.DefaultPlugin
	}
	if p.Orchestrator == nil {
		p.Orchestrator = &orchestrator.DefaultPlugin
	}
	if p.Scheduler == nil {
		p.Scheduler = &kvscheduler.DefaultPlugin
	}
}
