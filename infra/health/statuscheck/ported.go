package statuscheck

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/health"
)

// PluginState is a state of a plugin, for PluginStatusWriter.
type PluginState string

// The states.
const (
	Init  PluginState = "init"
	OK    PluginState = "ok"
	Error PluginState = "error"
)

// PluginStateProbe returns the state of a plugin.
type PluginStateProbe func() (PluginState, error)

// PluginStatusWriter reports states of plugins, as code written for cn-infra does. New code
// uses PluginDeps.Health, and Plugin.Probe. Its methods may be called concurrently, from
// Init of the caller on.
type PluginStatusWriter interface {
	// Register makes the state of a plugin Init until it reports another one. A probe is
	// called every probe-interval, from AfterInit on; nil: the plugin reports its state
	// itself.
	Register(pluginName infra.PluginName, probe PluginStateProbe)
	// ReportStateChange reports the state of a plugin. The error is shown with every
	// state but OK.
	ReportStateChange(pluginName infra.PluginName, state PluginState, lastError error)
	// ReportStateChangeWithMeta is ReportStateChange. The message is not published.
	ReportStateChangeWithMeta(pluginName infra.PluginName, state PluginState, lastError error, meta proto.Message)
}

// Register adds a plugin, see PluginStatusWriter.
func (p *Plugin) Register(pluginName infra.PluginName, probe PluginStateProbe) {
	to := p.reporter(pluginName)
	to.Starting("no state was reported yet")
	if probe == nil {
		return
	}
	p.Probe(to, func(context.Context) error {
		state, err := probe()
		switch {
		case state == OK:
			return nil
		case state == Init:
			return &starting{err}
		case err == nil:
			return ErrFailed
		}
		return fmt.Errorf("%w: %w", ErrFailed, err)
	})
}

// starting is the result of a probe whose plugin has not started.
type starting struct{ cause error }

func (s *starting) Error() string { return text(s.cause) }

func text(err error) string {
	if err == nil {
		return "starting"
	}
	return err.Error()
}

// ReportStateChange reports the state of a plugin, see PluginStatusWriter.
func (p *Plugin) ReportStateChange(pluginName infra.PluginName, state PluginState, lastError error) {
	to := p.reporter(pluginName)
	switch state {
	case OK:
		to.OK("")
	case Init:
		to.Starting(text(lastError))
	default:
		to.Failed("reported", lastError)
	}
}

// ReportStateChangeWithMeta is ReportStateChange, see PluginStatusWriter.
func (p *Plugin) ReportStateChangeWithMeta(pluginName infra.PluginName, state PluginState, lastError error, _ proto.Message) {
	p.ReportStateChange(pluginName, state, lastError)
}

// reporter returns the reporter of a plugin.
func (p *Plugin) reporter(name infra.PluginName) health.Reporter {
	if p.host == nil {
		return health.Discard() // there is no agent
	}
	return p.host.Health().Reporter(name.String())
}
