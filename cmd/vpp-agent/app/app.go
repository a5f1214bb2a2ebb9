// Package app puts the plugins of vpp-agent together. An agent with plugins of
// its own starts from it:
//
//	vpp := app.New()
//	mine := &myplugin.Plugin{Deps: myplugin.Deps{Scheduler: vpp.Scheduler}}
//	err := agent.NewAgent(agent.AllPlugins(vpp, mine)).Run()
package app

import (
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/health/probe"
	"github.com/tenuto-dev/tenuto/infra/logging/logmanager"
	"github.com/tenuto-dev/tenuto/infra/metrics"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	vppif "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin"
	vppl2 "github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin"
)

// name is the name of the plugin that stands for the agent as a whole.
const name = "VPPAgent"

// VPPAgent is all plugins of vpp-agent; it is itself the plugin to run. The
// fields may be changed between New and the start.
type VPPAgent struct {
	infra.PluginDeps

	Infra
	VPP
	Scheduler *kvscheduler.Scheduler
	Cleanup   *Cleanup
}

// Infra is what any agent has.
type Infra struct {
	Label   *servicelabel.Plugin
	HTTP    *rest.Plugin
	Logs    *logmanager.Plugin
	Probe   *probe.Plugin
	Metrics *metrics.Plugin
}

// VPP is what handles VPP.
type VPP struct {
	Local    *LocalVPP
	GoVPP    *govppmux.Plugin
	IfPlugin *vppif.Plugin
	L2Plugin *vppl2.Plugin
}

// New returns the plugins with default settings, wired. Nothing is shared with
// other agents in the process.
func New() *VPPAgent {
	a := &VPPAgent{}
	a.SetName(name)
	a.Infra = newInfra()
	a.Scheduler = kvscheduler.NewPlugin(kvscheduler.UseDeps(func(d *kvscheduler.Deps) { d.HTTP = a.HTTP }))
	a.VPP = newVPP(a.Infra, a.Scheduler)
	a.Cleanup = &Cleanup{CleanupDeps: CleanupDeps{Scheduler: a.Scheduler}}
	a.Cleanup.SetName("cleanup")
	return a
}

func newInfra() Infra {
	i := Infra{Label: servicelabel.NewPlugin(), HTTP: rest.NewPlugin()}
	i.Logs = logmanager.NewPlugin(logmanager.UseDeps(func(d *logmanager.Deps) { d.HTTP = i.HTTP }))
	i.Probe = probe.NewPlugin(probe.UseDeps(func(d *probe.Deps) { d.HTTP = i.HTTP }))
	i.Metrics = metrics.NewPlugin(metrics.UseDeps(func(d *metrics.Deps) { d.HTTP = i.HTTP }))
	return i
}

func newVPP(i Infra, scheduler *kvscheduler.Scheduler) VPP {
	v := VPP{Local: &LocalVPP{}}
	v.Local.SetName("local-vpp")
	v.GoVPP = govppmux.NewPlugin(govppmux.UseDeps(func(d *govppmux.Deps) {
		d.HTTP, d.Metrics, d.Local = i.HTTP, i.Metrics, v.Local
	}))
	v.IfPlugin = vppif.NewPlugin(vppif.UseDeps(func(d *vppif.Deps) {
		d.Scheduler, d.VPP = scheduler, v.GoVPP
	}))
	v.L2Plugin = vppl2.NewPlugin(vppl2.UseDeps(func(d *vppl2.Deps) {
		d.Scheduler, d.IfPlugin = scheduler, v.IfPlugin
	}))
	return v
}

// Init tells which agent this is.
func (a *VPPAgent) Init() error {
	a.Log.Debug("agent composed", "label", a.Label.GetAgentLabel())
	return nil
}
