package agent

import (
	"time"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

// Phase is the part of a plugin's life that a callback belongs to.
type Phase string

// The phases.
const (
	InitPhase      Phase = "Init"
	AfterInitPhase Phase = "AfterInit"
	ClosePhase     Phase = "Close"
)

// Event is something that happened in the life of an agent. The set of events
// is closed: those of this package.
type Event interface{ event() }

// Starting is the first event: the plugins are wired, Init comes next.
type Starting struct {
	App, Version string
	Plugins      []string // in the order of Init
}

// PluginInitialised tells that Init of a plugin returned nil.
type PluginInitialised struct {
	Name string
	Took time.Duration
}

// PluginStarted tells that AfterInit of a plugin returned nil; plugins without
// AfterInit have no such event.
type PluginStarted struct {
	Name string
	Took time.Duration
}

// PluginSlow tells that a callback takes long; the agent goes on waiting.
type PluginSlow struct {
	Name  string
	Phase Phase
	After time.Duration
}

// PluginFailed tells that a callback returned an error, panicked or did not
// return in time.
type PluginFailed struct {
	Name  string
	Phase Phase
	Err   error
	// Stack is that of the panic, or of the callback that hangs and of the
	// goroutines which the plugin started; else it is empty.
	Stack string
}

// RollingBack tells that the start failed and that the plugins which are
// initialised are being closed.
type RollingBack struct {
	Cause   error
	Plugins []string // in the order of Close
}

// Started tells that the agent runs.
type Started struct {
	Plugins int
	Took    time.Duration
}

// Stopping tells why the agent stops.
type Stopping struct{ Cause string }

// PluginClosed tells that Close of a plugin returned, with an error or not.
type PluginClosed struct {
	Name string
	Took time.Duration
	Err  error
}

// Stopped is the last event.
type Stopped struct {
	Took time.Duration
	Err  error
}

func (Starting) event()          {}
func (PluginInitialised) event() {}
func (PluginStarted) event()     {}
func (PluginSlow) event()        {}
func (PluginFailed) event()      {}
func (RollingBack) event()       {}
func (Started) event()           {}
func (Stopping) event()          {}
func (PluginClosed) event()      {}
func (Stopped) event()           {}

// logEvent is the form of events in the log.
func logEvent(log logging.Logger, e Event) {
	switch e := e.(type) {
	case Starting:
		log.Info("starting agent", "app", e.App, "version", e.Version, "plugins", len(e.Plugins))
		log.Debug("order of plugins", "plugins", e.Plugins)
	case PluginInitialised:
		log.Debug("plugin initialised", "plugin", e.Name, "took", round(e.Took))
	case PluginStarted:
		log.Debug("plugin started", "plugin", e.Name, "took", round(e.Took))
	case PluginSlow:
		log.Warn("plugin takes long", "plugin", e.Name, "phase", string(e.Phase), "after", round(e.After))
	case PluginFailed:
		log.Error("plugin failed", "plugin", e.Name, "phase", string(e.Phase), "error", e.Err)
		if e.Stack != "" {
			log.Error("stack of the failed plugin\n"+e.Stack, "plugin", e.Name)
		}
	case RollingBack:
		log.Warn("rolling back the start", "plugins", e.Plugins)
	case Started:
		log.Info("agent started", "plugins", e.Plugins, "took", round(e.Took))
	case Stopping:
		log.Info("stopping agent", "cause", e.Cause)
	case PluginClosed:
		log.Debug("plugin closed", "plugin", e.Name, "took", round(e.Took))
	case Stopped:
		if e.Err != nil {
			log.Error("agent stopped with errors", "took", round(e.Took), "error", e.Err)
			return
		}
		log.Info("agent stopped", "took", round(e.Took))
	}
}

func round(d time.Duration) time.Duration {
	if d < time.Millisecond {
		return d.Round(time.Microsecond)
	}
	return d.Round(10 * time.Microsecond)
}
