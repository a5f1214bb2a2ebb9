// Command 101_custom-agent is an agent made of chosen plugins: those for
// interfaces and routes of VPP, and one of its own. README.md goes through it step
// by step. Run it from the root of the repository and stop it with Ctrl-C:
//
//	go run ./examples/tutorials/101_custom-agent
//
// It also runs in a module of its own: copy the folder, and replace the import path of the
// folder by the path of the module.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tenuto-dev/tenuto/examples/tutorials/101_custom-agent/hosts"
	"github.com/tenuto-dev/tenuto/examples/tutorials/101_custom-agent/hosts/model"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/datasync/kvdbsync"
	"github.com/tenuto-dev/tenuto/infra/health/probe"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/filedb"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/simulator"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	vppif "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin"
	vppifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	vppl3 "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin"
	vppl3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
)

func main() {
	a, err := newCustomAgent(os.Stdout, networkFile())
	if err == nil {
		err = agent.NewAgent(agent.Name("custom-agent"), agent.AllPlugins(a)).Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// networkFile is network.yaml in the working directory, or the tutorial's file at the root
// of the repository.
func networkFile() string {
	tutorial := filepath.Join("examples", "tutorials", "101_custom-agent", "network.yaml")
	if _, err := os.Stat(tutorial); err == nil {
		return tutorial
	}
	return "network.yaml"
}

// CustomAgent is all plugins of the agent, and itself the plugin to run. The
// order of the fields is the order of Init where no dependency says otherwise.
type CustomAgent struct {
	infra.PluginDeps

	HTTP      *rest.Plugin
	Probe     *probe.Plugin
	Scheduler *kvscheduler.Scheduler
	VPP
	Hosts *hosts.Plugin
	Northbound
}

// VPP is what handles VPP.
type VPP struct {
	GoVPP    *govppmux.Plugin
	IfPlugin *vppif.Plugin
	L3Plugin *vppl3.Plugin
}

// Northbound is where the configuration comes from.
type Northbound struct {
	Label        *servicelabel.Plugin
	Files        *filedb.Plugin
	FilesSync    *kvdbsync.Plugin
	Etcd         *etcd.Plugin
	EtcdSync     *kvdbsync.Plugin
	Orchestrator *orchestrator.Plugin
}

// newCustomAgent wires the plugins: a plugin gets what it needs as a field of its
// Deps. Transactions are printed to out; network is the file that is followed unless
// filedb.conf names others.
func newCustomAgent(out io.Writer, network string) (*CustomAgent, error) {
	codec, err := newCodec()
	if err != nil {
		return nil, err
	}
	a := &CustomAgent{HTTP: rest.NewPlugin()}
	a.SetName("custom-agent")
	a.Probe = probe.NewPlugin(probe.UseDeps(func(d *probe.Deps) { d.HTTP = a.HTTP }))
	a.Scheduler = kvscheduler.NewPlugin(kvscheduler.UseOutput(out), kvscheduler.UseDeps(func(d *kvscheduler.Deps) { d.HTTP = a.HTTP }))
	a.VPP = newVPP(a)
	a.Hosts = hosts.NewPlugin(hosts.UseDeps(func(d *hosts.Deps) { d.Scheduler = a.Scheduler }))
	a.Northbound = newNorthbound(a, codec, network)
	return a, nil
}

// newCodec says which items the agent can be asked for, and thereby what its
// files may contain.
func newCodec() (*document.Codec, error) {
	set, err := models.NewSet(vppifmodel.InterfaceModel, vppl3model.RouteModel, vppl3model.VrfTableModel, model.HostModel)
	if err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	return document.New(set), nil
}

func newVPP(a *CustomAgent) VPP {
	v := VPP{GoVPP: govppmux.NewPlugin(govppmux.UseDeps(func(d *govppmux.Deps) {
		d.HTTP, d.Local = a.HTTP, simulator.NewPlugin()
	}))}
	v.IfPlugin = vppif.NewPlugin(vppif.UseDeps(func(d *vppif.Deps) { d.Scheduler, d.VPP = a.Scheduler, v.GoVPP }))
	v.L3Plugin = vppl3.NewPlugin(vppl3.UseDeps(func(d *vppl3.Deps) { d.Scheduler, d.IfPlugin = a.Scheduler, v.IfPlugin }))
	return v
}

// newNorthbound makes the stores and what brings them together. Another store is
// two more lines; without its configuration file it is disabled.
func newNorthbound(a *CustomAgent, codec *document.Codec, network string) Northbound {
	conf := filedb.DefaultConfig()
	conf.ConfigurationPaths = []string{network}
	n := Northbound{
		Label: servicelabel.NewPlugin(),
		Files: filedb.NewPlugin(filedb.UseFormat(codec), filedb.UseConf(conf)),
		Etcd:  etcd.NewPlugin(),
	}
	label := kvdbsync.UseDeps(func(d *kvdbsync.Deps) { d.ServiceLabel = n.Label })
	n.FilesSync = kvdbsync.NewPlugin(kvdbsync.UseKV(n.Files), label)
	n.EtcdSync = kvdbsync.NewPlugin(kvdbsync.UseKV(n.Etcd), label)
	n.Orchestrator = orchestrator.NewPlugin(orchestrator.UseScheduler(a.Scheduler), orchestrator.UseCodec(codec),
		orchestrator.UseHTTP(a.HTTP), orchestrator.UseWatchers(n.FilesSync, n.EtcdSync))
	return n
}

// Init has nothing to do: everything was wired.
func (a *CustomAgent) Init() error { return nil }
