// Package ifplugin is the plugin for network interfaces of Linux: it registers their
// descriptors, and reports the state of the kernel to the scheduler.
package ifplugin

import (
	"context"
	"fmt"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/infra/kv/publish"
	"github.com/tenuto-dev/tenuto/infra/metrics"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin"
	alloc "github.com/tenuto-dev/tenuto/plugins/netalloc"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// API is what the plugin offers to others. All methods may be called
// concurrently.
type API interface {
	// Index says where configured interfaces are in the kernel.
	Index() ifaceidx.Index
	// HostName returns the name in the kernel of an interface in the namespace
	// of the agent.
	HostName(logical string) (host string, ok bool)
	// OnRemoved registers a function for removed routes and neighbours; see PathFunc. It
	// must be called before AfterInit.
	OnRemoved(f PathFunc)
	// Follow registers a follower of namespaces. It must be called before AfterInit.
	Follow(f Follower)
	// Look makes a follower of a namespace follow it from now on, or no longer.
	Look(ns *namespace.NetNamespace)
	// SetLinkUp sets a link in the namespace of the agent up, its own or not. A
	// link that is not there is no error.
	SetLinkUp(ctx context.Context, host string) error
	// LinkMTU returns the MTU of a link in the namespace of the agent, its own or not,
	// in bytes; 0 if the link does not exist.
	LinkMTU(ctx context.Context, host string) (uint32, error)
	// SetLinkMTU changes the MTU of a link in the namespace of the agent, its own or not. A
	// link that does not exist is no error.
	SetLinkMTU(ctx context.Context, host string, mtu uint32) error
}

// Plugin handles interfaces.
type Plugin struct {
	Deps

	defaults *Config
	cfg      Config
	index    ifaceidx.Index
	watcher  *descriptor.Watcher // nil: disabled
	states   *States
	removals *removals
	others   *elsewhere // nil: disabled
	live     live
	history  history
	sampling time.Duration // between two samples of the history
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// Scheduler handles the values.
	Scheduler Scheduler
	// Namespaces opens network namespaces.
	Namespaces nsplugin.API
	// ServiceLabel returns the label that marks the objects of this agent, and the
	// prefix of its keys in stores.
	ServiceLabel Labeller
	// TAPs knows the TAPs of VPP; nil: there are none.
	TAPs descriptor.TAPs `optional:"true"`
	// NetAlloc allocates addresses; without it no address may refer to one.
	NetAlloc alloc.API `optional:"true"`
	// HTTP serves the counters of interfaces, and Metrics publishes them; nil: no.
	HTTP    rest.HTTPHandlers  `optional:"true"`
	Metrics metrics.Registerer `optional:"true"`
	// Stores are the data stores that the states of interfaces can be published to, which
	// status-publishers chooses from.
	Stores []publish.Store `optional:"true"`
}

// Scheduler is the part of the scheduler that the plugin uses.
type Scheduler interface {
	api.Registrar
	api.Notifier
	descriptor.State
}

// Labeller returns the label of the agent, and the prefix of its keys in stores.
type Labeller interface {
	GetAgentLabel() string
	GetAgentPrefix() string
}

var (
	_ API            = (*Plugin)(nil)
	_ infra.PostInit = (*Plugin)(nil)
)

// ConfigSpec returns the defaults of linux-ifplugin.conf.
func (p *Plugin) ConfigSpec() any { return config.Or(p.defaults, DefaultConfig()) }

// Init registers the descriptors.
func (p *Plugin) Init() (err error) {
	if p.cfg, _, err = config.Load(p.Cfg, config.Or(p.defaults, DefaultConfig())); err != nil {
		return err
	}
	p.index = ifaceidx.Of(p.Scheduler)
	var allocated alloc.Addresses
	if p.NetAlloc != nil {
		allocated = p.NetAlloc.Addresses()
	}
	p.states = newStates(p.index, time.Now, p.reportLost)
	p.states.allocated = allocated
	p.removals = &removals{index: p.index, report: p.reportLost, allocated: allocated}
	if err := p.publishCounters(); err != nil {
		return fmt.Errorf("publish counters: %w", err)
	}
	if p.cfg.Disabled || !p.Namespaces.Enabled() {
		p.Log.Info("interfaces of Linux are left alone, as configured")
		return nil
	}
	deps := descriptor.Deps{
		Namespaces: p.Namespaces,
		Index:      p.index,
		Label:      p.ServiceLabel.GetAgentLabel(),
		TAPs:       p.TAPs,
		Allocated:  allocated,

		WireguardGo: p.cfg.WireguardGo,
		Former:      descriptor.NewFormer(p.Scheduler, p.Log),
		Lifetimes:   descriptor.NewLifetimes(),
		Log:         p.Log,
	}
	p.watcher = descriptor.NewWatcher(deps, p.Scheduler.PushSBNotification)
	p.watcher.Settle(p.Scheduler.WaitForTransactions)
	p.watcher.OnLinks(func(ctx context.Context, h netlinkapi.Handle, links []netlinkapi.Link, addrs []netlinkapi.Address) {
		p.states.look(ctx, nil, h, links, addrs)
	})
	p.watcher.OnEvents(
		func(e netlinkapi.Event) bool { return p.removals.event(nil, e) }, func() { p.removals.missed(nil) })
	p.others = newElsewhere(p.Namespaces, p.states, p.removals, p.Log)
	err = p.Scheduler.RegisterKVDescriptor(
		descriptor.NewInterface(deps),
		descriptor.NewAddress(deps),
		descriptor.NewVrf(deps),
		descriptor.NewPort(deps),
		descriptor.NewSysctl(deps),
		descriptor.NewBridgeVlans(deps),
		p.watcher.Descriptor(),
	)
	if err != nil {
		return fmt.Errorf("register descriptors: %w", err)
	}
	return nil
}

// reportLost passes on what the kernel may have lost. The scheduler looks itself, so
// what the agent has just removed is no loss.
func (p *Plugin) reportLost(keys ...string) {
	if err := p.Scheduler.ReportLost(keys...); err != nil {
		p.Log.Debug("lost values were not reported", "keys", keys, "error", err)
	}
}

// AfterInit begins to watch the kernel, and to publish the states of interfaces.
func (p *Plugin) AfterInit() error {
	if p.watcher == nil {
		return nil
	}
	if err := p.publishStates(); err != nil {
		return err
	}
	configured, err := idxmap.Of[ifaceidx.LinuxIfMetadata](p.Scheduler.GetMetadataMap(ifaceidx.Descriptor))
	if err != nil {
		return fmt.Errorf("index of interfaces: %w", err)
	}
	if p.HTTP != nil {
		p.Go(p.keepHistory)
	}
	p.Go(p.watcher.Run)
	p.Go(p.others.Run)
	p.Go(func(ctx context.Context) {
		for c := range configured.Changes(ctx) { // another interface, or none, is of interest
			p.watcher.Look()
			p.others.Look(c.Value.Namespace)
		}
	})
	return nil
}

// States returns the operational states of interfaces.
func (p *Plugin) States() *States { return p.states }

// Index returns the index of interfaces; see API.
func (p *Plugin) Index() ifaceidx.Index { return p.index }

// OnRemoved registers a function for removed routes and neighbours; see API.
func (p *Plugin) OnRemoved(f PathFunc) { p.removals.paths = append(p.removals.paths, f) }

// Follow registers a follower of namespaces; see API.
func (p *Plugin) Follow(f Follower) { p.removals.followers = append(p.removals.followers, f) }

// Look follows a namespace that followers may use; see API.
func (p *Plugin) Look(ns *namespace.NetNamespace) {
	if p.others != nil {
		p.others.Look(ns)
	}
}

// HostName returns the name of an interface in the kernel; see API.
func (p *Plugin) HostName(logical string) (string, bool) {
	meta, ok := p.index.Get(logical)
	if !ok || meta.Namespace.GetReference() != "" {
		return "", false
	}
	return meta.HostIfName, true
}

// SetLinkUp sets a link up; see API.
func (p *Plugin) SetLinkUp(ctx context.Context, host string) error {
	return p.onLink(ctx, host, func(h netlinkapi.Handle, link netlinkapi.Link) error {
		if link.Up {
			return nil
		}
		return h.SetUp(ctx, link.Index, true)
	})
}

// LinkMTU returns the MTU of a link; see API.
func (p *Plugin) LinkMTU(ctx context.Context, host string) (mtu uint32, err error) {
	err = p.onLink(ctx, host, func(_ netlinkapi.Handle, link netlinkapi.Link) error {
		mtu = uint32(link.MTU)
		return nil
	})
	return mtu, err
}

// SetLinkMTU changes the MTU of a link; see API.
func (p *Plugin) SetLinkMTU(ctx context.Context, host string, mtu uint32) error {
	return p.onLink(ctx, host, func(h netlinkapi.Handle, link netlinkapi.Link) error {
		return h.SetMTU(ctx, link.Index, int(mtu))
	})
}

// onLink calls f with a link in the namespace of the agent, unless there is none.
func (p *Plugin) onLink(ctx context.Context, host string, f func(netlinkapi.Handle, netlinkapi.Link) error) error {
	h, err := p.Namespaces.Open(ctx, nil)
	if err != nil {
		return err
	}
	link, err := h.LinkByName(ctx, host)
	if err == nil {
		err = f(h, link)
	}
	if closeErr := h.Close(); err == nil {
		err = closeErr
	}
	if netlinkapi.IsGone(err) {
		return nil
	}
	return err
}
