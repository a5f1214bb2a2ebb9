// Package app assembles the plugins of vpp-agent. A custom agent starts from
// it, with models and plugins of its own:
//
//	vpp, err := app.New(app.WithModels(model.ItemModel), app.WithPlugins(func(a *app.VPPAgent) infra.Plugin {
//		return myplugin.NewPlugin(myplugin.UseDeps(func(d *myplugin.Deps) { d.Scheduler = a.Scheduler }))
//	}))
//	...
//	err = agent.NewAgent(agent.AllPlugins(vpp)).Run()
package app

import (
	"context"
	"fmt"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/announce"
	"github.com/tenuto-dev/tenuto/infra/cryptodata"
	"github.com/tenuto-dev/tenuto/infra/datasync/kvdbsync"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/health/probe"
	"github.com/tenuto-dev/tenuto/infra/health/statuscheck"
	"github.com/tenuto-dev/tenuto/infra/holder"
	"github.com/tenuto-dev/tenuto/infra/kv/bolt"
	"github.com/tenuto-dev/tenuto/infra/kv/consul"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/filedb"
	"github.com/tenuto-dev/tenuto/infra/kv/initfile"
	"github.com/tenuto-dev/tenuto/infra/kv/publish"
	"github.com/tenuto-dev/tenuto/infra/kv/redis"
	"github.com/tenuto-dev/tenuto/infra/logging/logmanager"
	"github.com/tenuto-dev/tenuto/infra/metrics"
	"github.com/tenuto-dev/tenuto/infra/rates"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/infra/tracing"
	"github.com/tenuto-dev/tenuto/plugins/agentapi"
	"github.com/tenuto-dev/tenuto/plugins/configurator"
	"github.com/tenuto-dev/tenuto/plugins/dumpapi"
	"github.com/tenuto-dev/tenuto/plugins/fleetagent"
	"github.com/tenuto-dev/tenuto/plugins/gnmi"
	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	linuxif "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/linux/iptablesplugin"
	linuxitems "github.com/tenuto-dev/tenuto/plugins/linux/itemplugin"
	linuxl3 "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/nftablesplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin"
	linuxpunt "github.com/tenuto-dev/tenuto/plugins/linux/puntplugin"
	"github.com/tenuto-dev/tenuto/plugins/netalloc"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/telemetry"
	"github.com/tenuto-dev/tenuto/plugins/topology"
	vppif "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	vppl2 "github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin"
	vppl3 "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vppplugins"
	"github.com/tenuto-dev/tenuto/plugins/webui"
	linuxifpb "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// name is the name of the plugin that represents the agent.
const name = "VPPAgent"

// VPPAgent has all plugins of vpp-agent; it is itself the plugin to run. The
// fields may be changed between New and the start.
//
// The order of the fields is the order of Init, except for dependencies: the
// last plugin is closed first.
type VPPAgent struct {
	infra.PluginDeps
	opts []Option // of New

	Former *Former // first: a flag that must be replaced ends the start
	Infra
	Simulation *Simulation
	Scheduler  *kvscheduler.Scheduler
	Identity   *holder.Plugin
	NetAlloc   *netalloc.Plugin
	Linux
	VPP
	Custom []infra.Plugin // of WithPlugins; before Northbound, which sends values to their descriptors
	Northbound
	Cleanup *Cleanup
}

// Infra are the plugins of any agent.
type Infra struct {
	Label   *servicelabel.Plugin
	HTTP    *rest.Plugin
	Logs    *logmanager.Plugin
	Probe   *probe.Plugin
	Status  *statuscheck.Plugin
	Metrics *metrics.Plugin
	Tracing *tracing.Plugin
	GRPC    *grpc.Plugin
}

// Linux are the plugins of Linux networking.
type Linux struct {
	OwnNamespaces *OwnNamespaces
	Namespaces    *nsplugin.Plugin
	LinuxIfPlugin *linuxif.Plugin
	LinuxL3Plugin *linuxl3.Plugin
	IPTables      *linuxitems.Plugin
	NFTables      *linuxitems.Plugin
	LinuxPunt     *linuxpunt.Plugin
}

// VPP are the plugins of VPP.
type VPP struct {
	LocalVPP    *LocalVPP
	GoVPP       *govppmux.Plugin
	VPPIfPlugin *vppif.Plugin
	VPPL2Plugin *vppl2.Plugin
	VPPL3Plugin *vppl3.Plugin
	VPPItems    []*itemplugin.Plugin
	Telemetry   *telemetry.Plugin
}

// Northbound are the sources of the configuration.
type Northbound struct {
	Crypto          *cryptodata.Plugin
	InitialFile     *initfile.Plugin
	InitialFileSync *kvdbsync.Plugin
	Files           *filedb.Plugin
	FilesSync       *kvdbsync.Plugin
	Etcd            *etcd.Plugin
	EtcdSync        *kvdbsync.Plugin
	Consul          *consul.Plugin
	ConsulSync      *kvdbsync.Plugin
	Redis           *redis.Plugin
	RedisSync       *kvdbsync.Plugin
	Bolt            *bolt.Plugin
	BoltSync        *kvdbsync.Plugin
	Orchestrator    *orchestrator.Plugin
	Configurator    *configurator.Plugin
	Fleet           *fleetagent.Plugin
	AgentAPI        *agentapi.Plugin
	GNMI            *gnmi.Plugin
	DumpAPI         *dumpapi.Plugin
	Topology        *topology.Plugin
	WebUI           *webui.Plugin
	Announce        *announce.Plugin
}

// New returns the plugins with default settings, wired. Agents in the same
// process share nothing.
func New(opts ...Option) (*VPPAgent, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	set, err := o.modelSet()
	if err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	a := &VPPAgent{opts: opts, Cleanup: newCleanup(), Former: newFormer(), Infra: newInfra()}
	a.SetName(name)
	a.addSouthbound(kvscheduler.NewPlugin())
	a.Northbound = newNorthbound(a, document.New(set))
	a.Orchestrator.State = a.Scheduler
	stores := []publish.Store{a.Files, a.Etcd, a.Consul, a.Redis, a.Bolt}
	a.Orchestrator.Stores, a.Orchestrator.Label = stores, a.Label
	a.Status.Stores, a.Status.Default = stores, []publish.Store{a.Etcd}
	a.LinuxIfPlugin.Stores = stores
	a.VPPIfPlugin.Stores, a.VPPIfPlugin.Label, a.VPPIfPlugin.Counters = stores, a.Label, vppCounters{a}
	a.Configurator = configurator.NewPlugin(configurator.UseDeps(func(d *configurator.Deps) {
		d.GRPC, d.Orchestrator, d.Scheduler, d.Interfaces, d.Stats = a.GRPC, a.Orchestrator, a.Scheduler, vppStates{a}, a.Telemetry
		d.LinuxInterfaces, d.LinuxStats, d.HTTP = linuxStates{a}, linuxStates{a}, a.HTTP
	}))
	a.Fleet = &fleetagent.Plugin{Deps: fleetagent.Deps{
		Engine: a.Etcd, Orchestrator: a.Orchestrator, State: a.Scheduler, Identity: a.Identity, Values: a.Scheduler, Metrics: a.Metrics,
	}}
	a.AgentAPI = &agentapi.Plugin{Deps: agentapi.Deps{GRPC: a.GRPC, HTTP: a.HTTP, Orchestrator: a.Orchestrator, Scheduler: a.Scheduler}}
	a.GNMI = &gnmi.Plugin{Deps: gnmi.Deps{
		GRPC: a.GRPC, Orchestrator: a.Orchestrator, Scheduler: a.Scheduler, Label: a.Label,
		Stats: a.Telemetry, Links: vppStates{a}, Linux: linuxStates{a},
	}}
	a.DumpAPI = dumpapi.NewPlugin(dumpapi.UseDeps(func(d *dumpapi.Deps) {
		d.HTTP, d.Scheduler, d.Codec, d.Interfaces, d.VPP = a.HTTP, a.Scheduler, a.Orchestrator.Codec, vppInterfaces{a}, a.GoVPP
		d.Links = linuxLinks{a}
	}))
	a.Topology = &topology.Plugin{Deps: topology.Deps{
		HTTP: a.HTTP, Scheduler: a.Scheduler, Models: a.Orchestrator, Planner: a.Orchestrator,
		VPP: vppStates{a}, Linux: linuxStates{a}, Simulation: simulated{a},
		VPPRates: a.Telemetry, LinuxRates: linuxStates{a},
	}}
	a.WebUI = &webui.Plugin{Deps: webui.Deps{HTTP: a.HTTP}}
	a.Announce = &announce.Plugin{Deps: announce.Deps{HTTP: a.HTTP, GRPC: a.GRPC, Label: a.Label, Identity: a.Identity, Stores: stores}}
	a.Cleanup.Northbound = a.Orchestrator
	for _, build := range o.plugins {
		a.Custom = append(a.Custom, build(a))
	}
	return a, nil
}

// addSouthbound adds the scheduler and everything that it configures.
func (a *VPPAgent) addSouthbound(scheduler *kvscheduler.Scheduler) {
	a.Simulation = newSimulation(a.HTTP, func() govppmux.Session { return a.GoVPP.Session() })
	for _, set := range []kvscheduler.Option{kvscheduler.ResyncFirst(), kvscheduler.UseDeps(func(d *kvscheduler.Deps) {
		d.HTTP, d.Metrics, d.Label, d.Tracing, d.Records = a.HTTP, a.Metrics, a.Label, a.Tracing, vppRecords{a}
	})} {
		set(scheduler)
	}
	a.Scheduler = scheduler
	a.Identity = holder.NewPlugin(a.Label, a.Scheduler)
	a.NetAlloc = netalloc.NewPlugin(netalloc.UseDeps(func(d *netalloc.Deps) { d.Scheduler = a.Scheduler }))
	a.Linux = newLinux(a)
	a.VPP = newVPP(a)
}

func newInfra() Infra {
	i := Infra{Label: servicelabel.NewPlugin(), HTTP: rest.NewPlugin()}
	i.Logs = logmanager.NewPlugin(logmanager.UseDeps(func(d *logmanager.Deps) { d.HTTP = i.HTTP }))
	// Lost spans do not affect the network. A value with a problem, or a mistake in a file
	// or store, makes the agent DEGRADED but not unready: the other values work, and taking
	// the agent out of service would stop them too. Everything else counts, including
	// published data, because others act on it.
	i.Probe = probe.NewPlugin(probe.UseDeps(func(d *probe.Deps) { d.HTTP = i.HTTP }), probe.WithNonFatalPlugins(tracing.DefaultName),
		probe.WithReadyDespite(kvscheduler.DefaultName+"/"+kvscheduler.HealthValues, kvscheduler.DefaultName+"/"+kvscheduler.HealthQuarantine,
			orchestrator.DefaultName+"/"+orchestrator.HealthItems, orchestrator.DefaultName+"/"+orchestrator.HealthGuard,
			nsplugin.DefaultName+"/"+nsplugin.HealthEngine, telemetry.DefaultName+"/"+telemetry.HealthBuffers, filedb.DefaultName))
	i.Status = statuscheck.NewPlugin(statuscheck.UseDeps(func(d *statuscheck.Deps) { d.Label, d.NonFatal = i.Label, i.Probe }))
	i.Metrics = metrics.NewPlugin(metrics.UseDeps(func(d *metrics.Deps) { d.HTTP = i.HTTP }))
	i.Tracing = tracing.NewPlugin(tracing.UseDeps(func(d *tracing.Deps) { d.ServiceLabel = i.Label }))
	i.GRPC = grpc.NewPlugin(grpc.UseMetrics(i.Metrics))
	return i
}

func newLinux(a *VPPAgent) Linux {
	l := Linux{OwnNamespaces: newOwnNamespaces(a.Label,
		func() bool { return a.Cleanup.Enabled() && !a.Simulation.SimulatesLinux() }, func() bool { return a.Namespaces.Held() })}
	l.Namespaces = nsplugin.NewPlugin(nsplugin.OnCreate(l.OwnNamespaces.created),
		nsplugin.UseDeps(func(d *nsplugin.Deps) {
			d.Scheduler, d.Simulation, d.Identity, d.State = a.Scheduler, a.Simulation, a.Identity, a.Scheduler
		}))
	l.LinuxIfPlugin = linuxif.NewPlugin(linuxif.UseDeps(func(d *linuxif.Deps) {
		d.Scheduler, d.Namespaces, d.ServiceLabel, d.TAPs, d.NetAlloc = a.Scheduler, l.Namespaces, a.Label, taps{a}, a.NetAlloc
		d.HTTP, d.Metrics = a.HTTP, a.Metrics
	}))
	l.LinuxL3Plugin = linuxl3.NewPlugin(linuxl3.UseDeps(func(d *linuxl3.Deps) {
		d.Scheduler, d.Namespaces, d.Interfaces, d.NetAlloc = a.Scheduler, l.Namespaces, l.LinuxIfPlugin, a.NetAlloc
	}))
	items := linuxitems.UseDeps(func(d *linuxitems.Deps) {
		d.Scheduler, d.Namespaces, d.Interfaces, d.ServiceLabel = a.Scheduler, l.Namespaces, l.LinuxIfPlugin, a.Label
	})
	l.IPTables, l.NFTables = iptablesplugin.NewPlugin(items), nftablesplugin.NewPlugin(items)
	l.LinuxPunt = linuxpunt.NewPlugin(linuxpunt.UseDeps(func(d *linuxpunt.Deps) {
		d.Scheduler, d.Namespaces, d.ServiceLabel, d.Metrics = a.Scheduler, l.Namespaces, a.Label, a.Metrics
	}))
	return l
}

func newVPP(a *VPPAgent) VPP {
	v := VPP{LocalVPP: newLocalVPP(a.Simulation)}
	v.GoVPP = govppmux.NewPlugin(govppmux.UseDeps(func(d *govppmux.Deps) {
		d.HTTP, d.Metrics, d.Local, d.Identity = a.HTTP, a.Metrics, v.LocalVPP, a.Identity
	}))
	v.VPPIfPlugin = vppif.NewPlugin(vppif.UseDeps(func(d *vppif.Deps) {
		d.Scheduler, d.VPP, d.Host, d.NetAlloc = a.Scheduler, v.GoVPP, a.LinuxIfPlugin, a.NetAlloc
	}))
	v.VPPL2Plugin = vppl2.NewPlugin(vppl2.UseDeps(func(d *vppl2.Deps) {
		d.Scheduler, d.IfPlugin = a.Scheduler, v.VPPIfPlugin
	}))
	v.VPPL3Plugin = vppl3.NewPlugin(vppl3.UseDeps(func(d *vppl3.Deps) {
		d.Scheduler, d.IfPlugin = a.Scheduler, v.VPPIfPlugin
	}))
	v.VPPItems = vppplugins.New(itemplugin.UseDeps(func(d *itemplugin.Deps) {
		d.Scheduler, d.IfPlugin = a.Scheduler, v.VPPIfPlugin
	}))
	v.Telemetry = newTelemetry(a, v.GoVPP)
	return v
}

func newNorthbound(a *VPPAgent, codec *document.Codec) Northbound {
	n := Northbound{
		Crypto:      cryptodata.NewPlugin(),
		InitialFile: initfile.NewPlugin(initfile.UseFormat(codec)),
		Files:       filedb.NewPlugin(filedb.UseFormat(codec)),
		Etcd:        etcd.NewPlugin(etcd.UseDeps(func(d *etcd.Deps) { d.Label, d.Identity = a.Label, a.Identity })),
		Consul:      consul.NewPlugin(consul.UseDeps(func(d *consul.Deps) { d.Label, d.Identity = a.Label, a.Identity })),
		Redis:       redis.NewPlugin(redis.UseDeps(func(d *redis.Deps) { d.Label, d.Identity = a.Label, a.Identity })),
		Bolt:        bolt.NewPlugin(),
	}
	label := kvdbsync.UseDeps(func(d *kvdbsync.Deps) { d.ServiceLabel, d.Decrypter = a.Label, n.Crypto })
	n.InitialFileSync = kvdbsync.NewPlugin(kvdbsync.UseKV(n.InitialFile), label)
	n.FilesSync = kvdbsync.NewPlugin(kvdbsync.UseKV(n.Files), label)
	n.EtcdSync = kvdbsync.NewPlugin(kvdbsync.UseKV(n.Etcd), label)
	n.ConsulSync = kvdbsync.NewPlugin(kvdbsync.UseKV(n.Consul), label)
	n.RedisSync = kvdbsync.NewPlugin(kvdbsync.UseKV(n.Redis), label)
	n.BoltSync = kvdbsync.NewPlugin(kvdbsync.UseKV(n.Bolt), label)
	n.Orchestrator = orchestrator.NewPlugin(orchestrator.UseScheduler(a.Scheduler), orchestrator.UseCodec(codec),
		orchestrator.UseHTTP(a.HTTP), orchestrator.UseWatchers(n.InitialFileSync, n.FilesSync, n.EtcdSync, n.ConsulSync, n.RedisSync, n.BoltSync),
		orchestrator.UseDeps(func(d *orchestrator.Deps) { d.Metrics = a.Metrics }))
	return n
}

// Init logs the identity of the agent.
func (a *VPPAgent) Init() error {
	a.Log.Debug("agent composed", "label", a.Label.GetAgentLabel())
	return nil
}

// taps gives the Linux interface plugin the TAPs of VPP, without a mutual
// dependency between the two plugins.
type taps struct{ agent *VPPAgent }

// TapHostName returns the name that the Linux side of a TAP has in the kernel.
func (t taps) TapHostName(name string) (host string, ok bool) {
	meta, ok := t.agent.VPPIfPlugin.Interfaces().LookupByName(name)
	if !ok || meta.TAPHostIfName == "" {
		return "", false
	}
	return meta.TAPHostIfName, true
}

// vppStates gives clients the states of VPP interfaces. They exist from Init
// of the interface plugin on.
type vppStates struct{ agent *VPPAgent }

// Watch calls f with every state and with each that changes.
func (s vppStates) Watch(f func(*interfaces.InterfaceNotification)) (cancel func()) {
	return s.agent.VPPIfPlugin.States().Watch(f)
}

// List returns all states.
func (s vppStates) List() []*interfaces.InterfaceState {
	return s.agent.VPPIfPlugin.States().List()
}

// simulated knows which southbounds are simulated: VPP by this agent or by another program.
type simulated struct{ agent *VPPAgent }

// SimulatesVPP reports whether VPP is simulated.
func (s simulated) SimulatesVPP() bool {
	return s.agent.Simulation.SimulatesVPP() || s.agent.GoVPP.Session().Simulated
}

// SimulatesLinux reports whether Linux is simulated.
func (s simulated) SimulatesLinux() bool { return s.agent.Simulation.SimulatesLinux() }

// linuxStates does the same for Linux, with counters.
type linuxStates struct{ agent *VPPAgent }

// Watch calls f with every state and with each that changes.
func (s linuxStates) Watch(f func(*linuxifpb.InterfaceNotification)) (cancel func()) {
	return s.agent.LinuxIfPlugin.States().Watch(f)
}

// List returns all states.
func (s linuxStates) List() []*linuxifpb.InterfaceState {
	return s.agent.LinuxIfPlugin.States().List()
}

// InterfaceStats returns the counters of all interfaces.
func (s linuxStates) InterfaceStats(ctx context.Context) ([]*linuxifpb.InterfaceStats, error) {
	return s.agent.LinuxIfPlugin.InterfaceStats(ctx)
}

// Rates returns what interfaces do per second.
func (s linuxStates) Rates(ctx context.Context, names []string) rates.Rates {
	return s.agent.LinuxIfPlugin.Rates(ctx, names)
}

// vppInterfaces reads interfaces from VPP.
type vppInterfaces struct{ agent *VPPAgent }

// DumpInterfaces returns what VPP reports about its interfaces.
func (v vppInterfaces) DumpInterfaces(ctx context.Context) ([]vppcalls.Details, error) {
	return vppcalls.New(v.agent.VPPIfPlugin.Southbound()).DumpInterfaces(ctx)
}

// linuxLinks finds links of Linux.
type linuxLinks struct{ agent *VPPAgent }

// Link returns the link of a configured interface.
func (l linuxLinks) Link(name string) (netlinkapi.Link, error) {
	place, err := ifaceidx.Find(l.agent.Context(), l.agent.LinuxIfPlugin.Index(), l.agent.Namespaces, name)
	if err != nil {
		return netlinkapi.Link{}, err
	}
	return place.Link, place.Close()
}
