package infra

import (
	"context"
	"sync"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// PluginDeps is embedded in the Deps of every plugin. The agent fills the nil
// fields before it calls Init, so a plugin can rely on all of them from Init
// on.
type PluginDeps struct {
	PluginName
	// Log is the logger named after the plugin.
	Log logging.PluginLogger
	// Cfg is the source of the plugin's configuration; read it with
	// config.Load.
	Cfg config.PluginConfig
	// Health is the plugin's scope in the health tree of the agent.
	Health health.Reporter

	standIn standIn // what Setup filled in
	mu      sync.Mutex
	ctx     context.Context
	cancel  context.CancelFunc
	active  int           // goroutines started by Go that did not return yet
	idle    chan struct{} // closed when active becomes 0; nil if no goroutine waits
}

// standIn records which services are stand-ins that an agent replaces.
type standIn struct{ log, cfg, health bool }

// Runtime holds the services that an agent gives to a plugin before Init.
type Runtime struct {
	Context context.Context
	Log     logging.PluginLogger
	Config  config.PluginConfig
	Health  health.Reporter
}

// Attach is called by the agent before Init. It fills the fields that are nil
// or were set by Setup, and starts the life of the plugin's context.
func (d *PluginDeps) Attach(rt Runtime) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Log == nil || d.standIn.log {
		d.Log = rt.Log
	}
	if d.Cfg == nil || d.standIn.cfg {
		d.Cfg = rt.Config
	}
	if d.Health == nil || d.standIn.health {
		d.Health = rt.Health
	}
	d.standIn = standIn{}
	if d.ctx == nil || d.ctx.Err() != nil { // not attached yet, or a second life
		d.ctx, d.cancel = context.WithCancel(rt.Context)
	}
}

// BindConfig defines the flags of a source that the plugin was given (config.ForPlugin).
// The agent calls it before it reads the command line.
func (d *PluginDeps) BindConfig(f *config.Flags) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.standIn.cfg {
		return nil
	}
	return config.Bind(d.Cfg, f)
}

// Setup fills Log, Cfg and Health with stand-alone services if they are nil. A
// constructor may call it; an agent replaces these services by its own.
func (d *PluginDeps) Setup() {
	d.SetupLog()
	if d.Cfg == nil {
		d.Cfg, d.standIn.cfg = config.ForPlugin(d.String()), true
	}
	if d.Health == nil {
		d.Health, d.standIn.health = health.Discard(), true
	}
}

// SetupLog fills Log like Setup.
func (d *PluginDeps) SetupLog() {
	if d.Log == nil {
		d.Log, d.standIn.log = logging.ForPlugin(d.String()), true
	}
}

// Context returns a context that ends just before Close of the plugin is
// called, hence after Close of the plugins that depend on it. If a start is
// interrupted or a stop times out, the contexts of all plugins end at once.
// Long-running work of the plugin must use it or a context derived from it.
func (d *PluginDeps) Context() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.context()
}

func (d *PluginDeps) context() context.Context {
	if d.ctx == nil {
		d.ctx, d.cancel = context.WithCancel(context.Background())
	}
	return d.ctx
}

// Go runs f in a goroutine owned by the plugin. f must return when its context
// ends. The agent waits for it before it calls Close, so that Close never
// races with the plugin's own goroutines. After StopGoroutines f gets a
// context that has already ended.
func (d *PluginDeps) Go(f func(ctx context.Context)) {
	d.mu.Lock()
	ctx := d.context()
	d.active++
	d.mu.Unlock()
	go func() {
		defer d.done()
		f(ctx)
	}()
}

func (d *PluginDeps) done() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.active--; d.active == 0 && d.idle != nil {
		close(d.idle)
		d.idle = nil
	}
}

// StopGoroutines ends the context and waits for all goroutines started by Go.
// The agent calls it before Close; calling it again is harmless.
func (d *PluginDeps) StopGoroutines() {
	d.mu.Lock()
	d.context()
	d.cancel()
	if d.active == 0 {
		d.mu.Unlock()
		return
	}
	if d.idle == nil {
		d.idle = make(chan struct{})
	}
	idle := d.idle
	d.mu.Unlock()
	<-idle
}

// Close is the default Close of a plugin that has nothing else to release.
func (d *PluginDeps) Close() error {
	d.StopGoroutines()
	return nil
}
