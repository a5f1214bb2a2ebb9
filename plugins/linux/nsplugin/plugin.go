// Package nsplugin opens the network namespaces that Linux items refer to, and
// makes named ones that are missing. It follows the containers of a container engine, whose
// namespaces are known by labels.
//
// It is also the session of the southbound "linux": when a named namespace in
// use is deleted by another process, everything in Linux is read again and converged,
// so that what was lost returns.
package nsplugin

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/holder"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/internal/containers"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// runDirectory is where ip-netns(8) keeps named namespaces.
const runDirectory = "/run/netns"

// API is what the plugin offers to those that handle items of Linux. All
// methods may be called concurrently.
//
// When the callback that a context belongs to is given up or the agent stops, a handle no
// longer sends requests to the kernel; one that has been sent cannot be
// canceled and ends within 20 seconds. The end of the session alone cancels nothing:
// Linux continues, and everything is read again. What undoes the first steps of a canceled
// callback gets context.WithoutCancel.
type API interface {
	// Open returns a handle on the namespace; nil is the agent's own. The caller
	// closes it after the operation at hand. The error is
	// netlinkapi.ErrNamespaceGone if there is no such namespace.
	Open(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error)
	// Ensure is Open, but makes a named namespace (NSID) that is missing.
	Ensure(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error)
	// Peek is Open for a single read: what happens to the namespace later has no
	// effect on the agent.
	Peek(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error)
	// Named lists the named namespaces that exist, of any process.
	Named(ctx context.Context) ([]*namespace.NetNamespace, error)
	// Enabled is false if the configuration says to leave Linux alone.
	Enabled() bool
}

// Southbound names the session that the values of Linux plugins live in; for
// Descriptor.Southbound.
const Southbound = nsmodel.Southbound

// Plugin opens namespaces.
type Plugin struct {
	Deps

	defaults    *Config
	cfg         Config
	dir         string
	kernel      netlinkapi.Namespaces
	background  func(context.Context) // nil: none
	forget      func()                // nil: nothing to forget
	closeKernel func() error          // nil: not ours to close
	onCreate    func(name string)     // nil disables it
	simulated   bool

	unprivileged sync.Once // logs that a capability is missing

	mu    sync.Mutex
	used  map[string]bool // named namespaces that were opened
	watch *watch          // nil: deletions are not noticed
	epoch uint64          // 0: there is no session yet
	lock  *holder.Lock

	microservices *microservices
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	Scheduler Scheduler
	// Simulation may replace the kernel.
	Simulation Simulation `optional:"true"`
	// Identity names the agent, which shares a real kernel's network namespace with no
	// other agent that has the same label; nil: it may.
	Identity Identity `optional:"true"`
	// State keeps the containers over a restart; nil: they are unknown after it.
	State State `optional:"true"`
}

// Simulation decides whether Linux is simulated.
type Simulation interface {
	// Kernel returns the simulated kernel; nil if Linux is real.
	Kernel() netlinkapi.Namespaces
}

// Identity knows which agent this is.
type Identity interface{ Identity() holder.Identity }

// Scheduler is the part of the scheduler that the plugin uses.
type Scheduler interface {
	PushSBNotification(notifications ...kvs.KVWithMetadata) error
	RegisterKVDescriptor(descriptors ...*kvs.KVDescriptor) error
	SouthboundUp(name string, epoch uint64)
	SouthboundDown(name string, reason error)
}

var (
	_ API            = (*Plugin)(nil)
	_ infra.PostInit = (*Plugin)(nil)
)

// ConfigSpec returns the defaults of linux-nsplugin.conf.
func (p *Plugin) ConfigSpec() any { return config.Or(p.defaults, DefaultConfig()) }

// Init reads the configuration and begins to look after namespaces.
func (p *Plugin) Init() (err error) {
	if p.cfg, _, err = config.Load(p.Cfg, config.Or(p.defaults, DefaultConfig())); err != nil {
		return err
	}
	p.used = map[string]bool{}
	p.microservices = newMicroservices(p.Log, nil)
	if p.cfg.Disabled {
		return nil
	}
	if p.Simulation != nil {
		if simulated := p.Simulation.Kernel(); simulated != nil {
			p.simulate(simulated)
		}
	}
	if err := p.followContainers(); err != nil || p.simulated {
		return err
	}
	if p.background != nil {
		p.Go(p.background)
	}
	return p.startWatch()
}

// followContainers begins to follow containers, unless Linux is simulated.
func (p *Plugin) followContainers() error {
	var sources []containers.Source
	if !p.simulated {
		sources = p.cfg.sources()
	}
	m := newMicroservices(p.Log, sources)
	m.notify = p.Scheduler.PushSBNotification
	if p.forget != nil {
		m.stopped = p.forget // an open handle would keep the namespace alive
	}
	m.state, m.health = p.State, p.Health
	if err := m.recall(); err != nil {
		return err
	}
	p.microservices = m
	if err := p.Scheduler.RegisterKVDescriptor(m.descriptor()); err != nil {
		return fmt.Errorf("register descriptor: %w", err)
	}
	for _, s := range m.sources {
		p.Go(func(ctx context.Context) { m.run(ctx, s) })
	}
	if len(m.sources) > 0 {
		p.Go(m.check)
	}
	return nil
}

// simulate replaces the kernel. Only this agent changes a simulated one, so
// there is nothing to watch, and the directories of the host are of no concern.
func (p *Plugin) simulate(k netlinkapi.Namespaces) {
	p.kernel, p.background, p.forget, p.closeKernel = k, nil, nil, nil
	p.simulated = true
	p.Log.Info("Linux is simulated: the interfaces and namespaces of this host are neither read nor changed")
	p.Health.OK("Linux is simulated")
}

// AfterInit opens the session.
func (p *Plugin) AfterInit() error {
	if p.cfg.Disabled {
		p.Scheduler.SouthboundDown(Southbound, errors.New("disabled in linux-nsplugin.conf"))
		return nil
	}
	if p.Identity == nil || p.simulated {
		p.open()
		return nil
	}
	if wait, err := p.tryLock(p.Context()); err != nil {
		p.Go(func(ctx context.Context) { p.waitForLock(ctx, wait, err) })
	}
	return nil
}

// open opens the session.
func (p *Plugin) open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.epoch++
	p.Scheduler.SouthboundUp(Southbound, p.epoch)
}

// Close closes all namespaces.
func (p *Plugin) Close() error {
	p.StopGoroutines()
	err := p.stopWatch()
	if p.closeKernel != nil {
		err = errors.Join(err, p.closeKernel())
	}
	return errors.Join(err, p.lock.Close())
}

// Held reports whether this agent held the networking of Linux at any time.
func (p *Plugin) Held() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.epoch > 0
}

// Enabled reports whether Linux is to be touched at all.
func (p *Plugin) Enabled() bool { return !p.cfg.Disabled }

// Open returns a handle on a namespace; see API.
func (p *Plugin) Open(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error) {
	if ns.GetType() == namespace.NetNamespace_NSID {
		p.mu.Lock()
		p.used[ns.GetReference()] = true
		p.mu.Unlock()
		p.watchDirectory()
	}
	return p.Peek(ctx, ns)
}

// Peek opens a namespace for a look; see API.
func (p *Plugin) Peek(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error) {
	path, err := p.path(ns)
	if err != nil {
		return nil, err
	}
	return p.openAt(ctx, path)
}

// openAt returns a handle for a callback.
func (p *Plugin) openAt(ctx context.Context, path string) (netlinkapi.Handle, error) {
	if err := canceled(ctx); err != nil {
		return nil, err
	}
	return p.kernel.Open(path, netlinkapi.Gate{Check: canceled, Explain: p.explain})
}

// explain marks errors of changes that this process may not make: a running process gets no more
// capabilities, so a retry is useless. The first one is logged.
func (p *Plugin) explain(err error) error {
	if !errors.Is(err, netlinkapi.ErrPermission) {
		return err
	}
	p.unprivileged.Do(func() {
		p.Log.Error("the agent may not change the networking of Linux, so items of Linux fail; restart it with the capability that is missing", "error", err)
	})
	return kvs.Permanent(err)
}

// canceled returns why the kernel must no longer be asked; nil if it may.
func canceled(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), kvs.ErrSessionEnded) {
		return nil
	}
	return netlinkapi.Canceled(ctx)
}

// Ensure is Open for a namespace that may have to be made; see API.
func (p *Plugin) Ensure(ctx context.Context, ns *namespace.NetNamespace) (netlinkapi.Handle, error) {
	h, err := p.Open(ctx, ns)
	if !errors.Is(err, netlinkapi.ErrNamespaceGone) || ns.GetType() != namespace.NetNamespace_NSID {
		return h, err
	}
	path, err := p.path(ns)
	if err != nil {
		return nil, err
	}
	if err := p.kernel.Create(path); err != nil && !errors.Is(err, netlinkapi.ErrExists) {
		return nil, p.explain(err)
	}
	p.Log.Info("network namespace created", "name", ns.GetReference())
	if p.onCreate != nil {
		p.onCreate(ns.GetReference())
	}
	p.watchDirectory()
	return p.openAt(ctx, path)
}

// path returns the path of the file that stands for the namespace; empty for
// the agent's own.
func (p *Plugin) path(ns *namespace.NetNamespace) (string, error) {
	if err := nsmodel.Validate(ns); err != nil {
		return "", fmt.Errorf("network namespace: %w", err)
	}
	ref := ns.GetReference()
	switch ns.GetType() {
	case namespace.NetNamespace_NSID:
		return filepath.Join(p.dir, ref), nil
	case namespace.NetNamespace_PID:
		return "/proc/" + ref + "/ns/net", nil
	case namespace.NetNamespace_FD:
		return ref, nil
	case namespace.NetNamespace_MICROSERVICE:
		c, ok := p.microservices.index.Lookup(ref)
		if !ok {
			return "", fmt.Errorf("%w: %s", netlinkapi.ErrNamespaceGone, p.microservices.absent(nsmodel.MicroserviceKey.Key(ref)))
		}
		return c.Namespace(), nil
	}
	return "", nil
}

// Named lists the named namespaces; see API.
func (p *Plugin) Named(ctx context.Context) ([]*namespace.NetNamespace, error) {
	if err := canceled(ctx); err != nil {
		return nil, err
	}
	names, err := p.kernel.Named(p.dir)
	if err != nil {
		return nil, err
	}
	named := make([]*namespace.NetNamespace, len(names))
	for i, name := range names {
		named[i] = &namespace.NetNamespace{Type: namespace.NetNamespace_NSID, Reference: name}
	}
	return named, nil
}
