// Package ifplugin is the plugin for interfaces of VPP: it registers their
// descriptors, follows the sessions with VPP on behalf of all VPP plugins, and
// notifies the scheduler of links that go up and down.
package ifplugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/infra/kv/publish"
	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/netalloc"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// API is what other VPP plugins need of this one.
type API interface {
	// Southbound returns the VPP of the current session. Values work with it, not with
	// a connection of their own, so that all of them change the session at the
	// same moment.
	Southbound() *session.VPP
	// Interfaces returns the interfaces that exist in VPP.
	Interfaces() ifaceidx.Index
	// Offer registers what items need of VPP, for reports of what the connected VPP can do.
	Offer(capabilities ...binding.Capability)
	// Follow calls f for each session with VPP, the current one included, in a goroutine
	// that Close waits for. The context ends with the session. f is not called for a session
	// before it has returned for the one before.
	Follow(f func(ctx context.Context))
	// Resolving returns a registrar of descriptors whose values may refer to allocated addresses.
	Resolving(to kvs.Registrar) kvs.Registrar
}

// Plugin handles interfaces of VPP.
type Plugin struct {
	Deps

	defaults *Config
	cfg      Config
	vpp      *session.VPP
	calls    *vppcalls.Calls
	index    ifaceidx.Index
	holder   session.Holder
	links    linkWatcher
	leases   leaseWatcher
	states   *States
	follow   followers
	cancel   func()
	epoch    uint64 // last told to the scheduler; used by onSession only
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// Scheduler handles the values.
	Scheduler Scheduler
	// VPP has the sessions with VPP.
	VPP Sessions
	// Host gives access to interfaces of the kernel, for AF_PACKET interfaces
	// that name them by their logical names.
	Host descriptor.HostInterfaces `optional:"true"`
	// Stores are the data stores that the state of interfaces can be published
	// to, which status-publishers chooses from.
	Stores []publish.Store `optional:"true"`
	// Counters are published with the states; nil: none are.
	Counters Counters `optional:"true"`
	// NetAlloc allocates addresses; without it no address may refer to one.
	NetAlloc netalloc.API `optional:"true"`
	// Label has the prefix of keys; without it keys have none.
	Label AgentPrefix `optional:"true"`
}

// AgentPrefix reports where the keys of this agent are in a data store.
type AgentPrefix interface {
	GetAgentPrefix() string
}

// Scheduler is the part of the scheduler that the plugin uses.
type Scheduler interface {
	kvs.Registrar
	kvs.Notifier
	kvs.Sessions
	descriptor.State
}

// Sessions is the part of the connection to VPP that the plugin uses.
type Sessions interface {
	// OnSession calls f with the current session and with every change.
	OnSession(f func(govppmux.Session)) (cancel func())
	// Offer reports what items need of VPP.
	Offer(capabilities ...binding.Capability)
	// Config returns the configuration of the connection.
	Config() govppmux.Config
}

var (
	_ API            = (*Plugin)(nil)
	_ infra.PostInit = (*Plugin)(nil)
)

// ConfigSpec returns the defaults of vpp-ifplugin.conf.
func (p *Plugin) ConfigSpec() any { return config.Or(p.defaults, DefaultConfig()) }

// errNotConnected is why VPP values wait until the first attempt to connect
// has ended.
var errNotConnected = errors.New("not connected yet")

// Init registers the descriptors of interfaces.
func (p *Plugin) Init() error {
	cfg, _, err := config.Load(p.Cfg, config.Or(p.defaults, DefaultConfig()))
	if err != nil {
		return err
	}
	p.cfg = cfg
	for key, given := range map[string]bool{"stopwatch": cfg.Stopwatch, "strategy": cfg.Strategy != ""} {
		if given {
			p.Log.Warn("key of vpp-ifplugin.conf has no effect; remove it", "key", key)
		}
	}
	p.holder.Clear(errNotConnected)
	p.vpp = session.New(&p.holder)
	p.calls = vppcalls.New(p.vpp)
	p.leases.kick = make(chan struct{}, 1)
	p.follow.run = p.Go
	p.states = newStates(time.Now)
	p.links = linkWatcher{
		calls: p.calls, scheduler: p.Scheduler, log: p.Log, states: p.states,
		told: map[uint32]link{}, devices: map[uint32]string{}, changes: newChangedSet(), after: time.After,
	}
	if err := p.register(); err != nil {
		return err
	}
	p.links.index = p.index
	p.leases = leaseWatcher{
		calls: p.calls, scheduler: p.Scheduler, index: p.index, log: p.Log, interval: cfg.LeaseInterval,
		kick: p.leases.kick, told: map[string]*interfaces.DHCPLease{},
	}
	p.VPP.Offer(descriptor.Capabilities()...)
	p.Scheduler.SouthboundDown(descriptor.Southbound, errNotConnected)
	p.cancel = p.VPP.OnSession(p.onSession)
	return nil
}

// AfterInit begins to publish the states of interfaces.
func (p *Plugin) AfterInit() error { return p.startPublishing() }

func (p *Plugin) register() error {
	to := netalloc.Registrar(p.Scheduler, p.NetAlloc, "ip_addresses") // which are values of their own
	err := to.RegisterKVDescriptor(descriptor.NewInterface(p.vpp, descriptor.Options{
		MTU: p.cfg.MTU, Host: p.Host, Interfaces: &p.index, Changed: p.links.changes.addOwn, Seed: p.seed(), Allocated: p.allocated(), State: p.Scheduler,
	}))
	if err != nil {
		return fmt.Errorf("register descriptor: %w", err)
	}
	if p.index, err = ifaceidx.New(p.Scheduler.GetMetadataMap(descriptor.InterfaceName)); err != nil {
		return fmt.Errorf("index of interfaces: %w", err)
	}
	p.index = p.index.Asking(p.calls.DumpTags)
	err = p.Scheduler.RegisterKVDescriptor(
		descriptor.NewAddress(p.calls, p.index, p.allocated()),
		descriptor.NewHasAddress(),
		descriptor.NewVrf(p.calls, p.index),
		descriptor.NewNoTable(),
		descriptor.NewNeighbors(),
		descriptor.NewUnnumbered(p.calls, p.index),
		descriptor.NewDHCPClient(p.calls, p.index, p.leases.look),
		descriptor.NewDHCPLease(p.calls, p.index),
		descriptor.NewSpan(p.vpp, p.index),
		descriptor.NewIP6ND(p.calls, p.index),
		descriptor.NewBondMember(p.calls, p.index, p.seed()),
		descriptor.NewLinkState(p.calls, p.index),
		descriptor.NewPhysical(p.calls),
		descriptor.NewRxMode(p.calls, p.index),
		descriptor.NewRxPlacement(p.calls, p.index),
	)
	if err != nil {
		return fmt.Errorf("register descriptors: %w", err)
	}
	return nil
}

func (p *Plugin) allocated() netalloc.Addresses {
	if p.NetAlloc == nil {
		return netalloc.Addresses{}
	}
	return p.NetAlloc.Addresses()
}

// seed is the same for each run of this agent, and another one for an agent with
// another label, on another host, or of another VPP.
func (p *Plugin) seed() string {
	host, err := os.Hostname()
	if err != nil {
		p.Log.Debug("MAC addresses are made up without the name of the host", "error", err)
	}
	prefix := ""
	if p.Label != nil {
		prefix = p.Label.GetAgentPrefix()
	}
	return fmt.Sprintf("%q %q %q", host, prefix, p.VPP.Config().BinAPISocketPath)
}

// Close stops following the sessions.
func (p *Plugin) Close() error {
	if p.cancel != nil {
		p.cancel()
	}
	return p.PluginDeps.Close()
}

// Resolving implements API.
func (p *Plugin) Resolving(to kvs.Registrar) kvs.Registrar { return netalloc.Registrar(to, p.NetAlloc) }

// Southbound implements API.
func (p *Plugin) Southbound() *session.VPP { return p.vpp }

// Offer implements API.
func (p *Plugin) Offer(capabilities ...binding.Capability) { p.VPP.Offer(capabilities...) }

// Follow implements API.
func (p *Plugin) Follow(f func(ctx context.Context)) { p.follow.add(f) }

// Interfaces implements API.
func (p *Plugin) Interfaces() ifaceidx.Index { return p.index }

// States returns the operational states of interfaces.
func (p *Plugin) States() *States { return p.states }

// DHCPLeases returns the leases of DHCP clients, by the name of the interface.
func (p *Plugin) DHCPLeases() (idxmap.Map[*interfaces.DHCPLease], error) {
	return idxmap.Of[*interfaces.DHCPLease](p.Scheduler.GetMetadataMap(descriptor.DHCPLeaseName))
}

// onSession follows the connection to VPP. The session is changed before the
// scheduler hears of it, so that its next callback works with the new one.
func (p *Plugin) onSession(s govppmux.Session) {
	if !s.Up {
		p.links.stop()
		p.leases.stop()
		p.follow.stop()
		p.states.unknown()
		p.holder.Clear(s.Err)
		p.Scheduler.SouthboundDown(descriptor.Southbound, reason(s.Err))
		return
	}
	p.holder.Set(session.Session{Epoch: s.Epoch, Client: s.Conn, Quirks: p.quirks(s.Version.Version)})
	p.links.stop()
	p.leases.stop()
	p.follow.stop()
	if s.Resync || p.epoch == 0 {
		p.epoch = s.Epoch
	}
	p.Scheduler.SouthboundUp(descriptor.Southbound, p.epoch)
	// They wait until the values are synchronized with the session: what they look for then
	// is what should be there.
	p.links.start(p.Context(), p.Go)
	p.leases.start(p.Context(), p.Go)
	p.follow.start(p.Context())
}

// quirks returns the quirks of a release; none if the version is not the number of a release.
func (p *Plugin) quirks(version string) binding.Quirks {
	release, err := binding.ParseVersion(version)
	if err != nil {
		p.Log.Warn("this VPP is taken for one without peculiarities of its release", "error", err)
		return nil
	}
	return binding.QuirksOf(release)
}

// reason is why VPP is not connected, without repeating that it is not.
func reason(err error) error {
	if errors.Is(err, binapi.ErrReplyTimeout) {
		return kvs.Unresponsive(cause(err))
	}
	return cause(err)
}

func cause(err error) error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range all.Unwrap() {
			if e != binapi.ErrDisconnected {
				return e
			}
		}
	}
	return err
}
