package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/tenuto-dev/tenuto/infra/announce/announced"
	"github.com/tenuto-dev/tenuto/infra/health/probe"
	"github.com/tenuto-dev/tenuto/infra/holder"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
)

// Identity returns the identity of the agent.
func (s AgentService) Identity(ctx context.Context) (holder.Identity, error) {
	return value[holder.Identity](ctx, s.c, announced.AgentPath, nil)
}

// Version says which program answers.
type Version = rest.Version

// Status is the state of an agent as reported by /readiness. Numeric states
// are 0 (INIT), 1 (OK) and 2 (ERROR, also DEGRADED); times are seconds since
// 1970.
type Status struct {
	BuildVersion    string         `json:"build_version,omitempty"`
	BuildDate       string         `json:"build_date,omitempty"`
	State           int            `json:"state,omitempty"`
	StartTime       int64          `json:"start_time,omitempty"`
	LastChange      int64          `json:"last_change,omitempty"`
	LastUpdate      int64          `json:"last_update,omitempty"`
	CommitHash      string         `json:"commit_hash,omitempty"`
	Plugins         []PluginStatus `json:"plugins"`
	PluginStatus    map[string]PluginStatus
	NonFatalPlugins []string
	// ReadyDespite are the plugins and parts ("plugin/part") whose failures do not
	// make the agent unready.
	ReadyDespite []string `json:",omitempty"`
	Health       Health   `json:"health"`
}

// PluginStatus is the state of one plugin.
type PluginStatus = probe.PluginStatus

// Health is the tree of states: INIT, OK, DEGRADED, ERROR or DISABLED.
type Health struct {
	State      string        `json:"state"`
	Started    time.Time     `json:"started"`
	LastChange time.Time     `json:"last_change"`
	Taken      time.Time     `json:"taken"`
	Plugins    []HealthState `json:"plugins"`
}

// Well reports whether the state is OK or DISABLED.
func (s HealthState) Well() bool { return s.State == "OK" || s.State == "DISABLED" }

// HealthState is the state of a plugin or of one of its parts.
type HealthState struct {
	Name       string        `json:"name"`
	State      string        `json:"state"`
	Reason     string        `json:"reason,omitempty"`
	Error      string        `json:"error,omitempty"`
	Since      time.Time     `json:"since"`
	LastChange time.Time     `json:"last_change"`
	CausedBy   []string      `json:"caused_by,omitempty"`
	Parts      []HealthState `json:"parts,omitempty"`
}

// Version returns the build of the agent.
func (s AgentService) Version(ctx context.Context) (Version, error) {
	return value[Version](ctx, s.c, "/info/version", nil)
}

// Status returns the state of the agent; ready reports whether the agent is
// ready.
func (a AgentService) Status(ctx context.Context) (s Status, ready bool, err error) {
	body, err := a.c.get(ctx, "/readiness", nil)
	if e, ok := errors.AsType[*Error](err); ok && e.Status >= http.StatusInternalServerError {
		if json.Unmarshal(e.Body, &s) != nil || s.PluginStatus == nil {
			return Status{}, false, err // an error of the request rather than the status
		}
		return s, false, nil
	}
	if err != nil {
		return Status{}, false, err
	}
	err = decode("/readiness", body, &s)
	return s, true, err
}

// LoggerLevel is the level of one logger.
type LoggerLevel struct {
	Logger string `json:"logger"`
	Level  string `json:"level"`
}

// List lists the loggers of the agent.
func (s LogService) List(ctx context.Context) ([]LoggerLevel, error) {
	return value[[]LoggerLevel](ctx, s.c, "/log/list", nil)
}

// SetLevel sets the level of a logger, of a pattern ("vpp-*") or of
// "default", and returns what was set.
func (s LogService) SetLevel(ctx context.Context, logger, level string) (LoggerLevel, error) {
	path := "/log/" + url.PathEscape(logger) + "/" + url.PathEscape(level)
	set, err := ask[LoggerLevel](ctx, s.c, http.MethodPut, path, nil, nil)
	return set.Value, err
}

// VPPMetric is the name of the metric returned by VPPMetrics, the only one of the
// predecessor.
const VPPMetric = "govppmux.stats"

// VPP returns the counters of requests to VPP.
func (s MetricsService) VPP(ctx context.Context) (map[string]any, error) {
	return value[map[string]any](ctx, s.c, "/metrics/"+VPPMetric, nil)
}

// Simulated returns the southbounds that the agent simulates: "vpp", "linux".
func (s AgentService) Simulated(ctx context.Context) ([]string, error) {
	reply, err := value[struct{ Simulated []string }](ctx, s.c, "/info/simulated", nil)
	return reply.Simulated, err
}

// Command runs a command of VPP's command line and returns what it prints.
func (s VPPService) Command(ctx context.Context, command string) (output string, err error) {
	return send[string](ctx, s.c, "/vpp/command", map[string]string{"vppclicommand": command})
}

// Capabilities are what the VPP of the agent can do.
type Capabilities struct {
	VPP struct {
		Version   string
		PID       uint32
		Simulated bool
	}
	Items []binding.Ability
}

// Capabilities returns what the VPP of the agent can do.
func (s VPPService) Capabilities(ctx context.Context) (Answer[Capabilities], error) {
	return get[Capabilities](ctx, s.c, "/vpp/capabilities", nil)
}
