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

// Event is an event in the life of an agent. Only this package defines events.
type Event interface{ event() }

// Starting is the first event: the plugins are wired, and Init follows.
type Starting struct {
	App, Version string
	Plugins      []string // in the order of Init
}

// PluginInitialised reports that Init of a plugin returned nil.
type PluginInitialised struct {
	Name string
	Took time.Duration
}

// PluginStarted reports that AfterInit of a plugin returned nil. Plugins without
// AfterInit have no such event.
type PluginStarted struct {
	Name string
	Took time.Duration
}

// PluginSlow reports that a callback takes long. The agent continues to wait.
type PluginSlow struct {
	Name  string
	Phase Phase
	After time.Duration
}

// PluginFailed reports that a callback returned an error, panicked or timed
// out.
type PluginFailed struct {
	Name  string
	Phase Phase
	Err   error
	// Stack is the stack of a panic, or of the callback that hangs and of the
	// goroutines that the plugin started. It is empty otherwise.
	Stack string
}

// RollingBack reports that the start failed and that the agent closes the
// initialised plugins.
type RollingBack struct {
	Cause   error
	Plugins []string // in the order of Close
}

// Started reports that the agent runs.
type Started struct {
	Plugins int
	Took    time.Duration
}

// Stopping reports why the agent stops.
type Stopping struct{ Cause string }

// PluginClosed reports that Close of a plugin returned, with or without an
// error.
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
