package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/announce/announced"
	"github.com/tenuto-dev/tenuto/infra/holder"
)

// Identity returns the identity of the agent.
func Identity(ctx context.Context, c *Client) (id holder.Identity, err error) {
	err = c.getJSON(ctx, announced.AgentPath, nil, &id)
	return id, err
}

// Version says which program answers.
type Version struct {
	App        string
	Version    string
	GitCommit  string
	GitBranch  string
	BuildUser  string
	BuildHost  string
	BuildTime  int64 // seconds since 1970; 0 if not known
	GoVersion  string
	OS         string
	Arch       string
	APIVersion string
	OSType     string
}

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
type PluginStatus struct {
	Name       string `json:"name,omitempty"`
	State      int    `json:"state,omitempty"`
	Error      string `json:"error,omitempty"`
	LastChange int64  `json:"last_change,omitempty"`
	LastUpdate int64  `json:"last_update,omitempty"`
}

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
func (c *Client) Version(ctx context.Context) (v Version, err error) {
	err = c.getJSON(ctx, "/info/version", nil, &v)
	return v, err
}

// Status returns the state of the agent; ready reports whether the agent is
// ready.
func (c *Client) Status(ctx context.Context) (s Status, ready bool, err error) {
	body, err := c.get(ctx, "/readiness", nil)
	if e := (*Error)(nil); errors.As(err, &e) && e.Status >= http.StatusInternalServerError {
		if json.Unmarshal(e.Body, &s) != nil || s.PluginStatus == nil {
			return Status{}, false, err // an error of the request rather than the status
		}
		s.fillHealth()
		return s, false, nil
	}
	if err != nil {
		return Status{}, false, err
	}
	err = decode("/readiness", body, &s)
	s.fillHealth()
	return s, true, err
}

// fillHealth builds the tree for an older agent that does not send it, from the
// states that it sends.
func (s *Status) fillHealth() {
	if s.Health.State != "" {
		return
	}
	names := []string{"INIT", "OK", "ERROR"}
	state := func(n int) string {
		if n < 0 || n >= len(names) {
			return "ERROR"
		}
		return names[n]
	}
	s.Health = Health{
		State: state(s.State), Started: time.Unix(s.StartTime, 0),
		LastChange: time.Unix(s.LastChange, 0), Taken: time.Unix(s.LastUpdate, 0),
	}
	for name, p := range s.PluginStatus {
		changed := time.Unix(p.LastChange, 0)
		s.Health.Plugins = append(s.Health.Plugins, HealthState{
			Name: name, State: state(p.State), Error: p.Error, Since: changed, LastChange: changed,
		})
	}
	slices.SortFunc(s.Health.Plugins, func(a, b HealthState) int { return strings.Compare(a.Name, b.Name) })
}

// LoggerLevel is the level of one logger.
type LoggerLevel struct {
	Logger string `json:"logger"`
	Level  string `json:"level"`
}

// Loggers lists the loggers of the agent.
func (c *Client) Loggers(ctx context.Context) (list []LoggerLevel, err error) {
	err = c.getJSON(ctx, "/log/list", nil, &list)
	return list, err
}

// SetLogLevel sets the level of a logger, of a pattern ("vpp-*") or of
// "default", and returns what was set.
func (c *Client) SetLogLevel(ctx context.Context, logger, level string) (set LoggerLevel, err error) {
	path := "/log/" + url.PathEscape(logger) + "/" + url.PathEscape(level)
	body, err := c.do(ctx, http.MethodPut, path, nil, nil)
	if err != nil {
		return set, err
	}
	return set, decode(path, body, &set)
}

// VPPMetric is the name of the metric returned by VPPMetrics, the only one of the
// predecessor.
const VPPMetric = "govppmux.stats"

// VPPMetrics returns the counters of requests to VPP.
func (c *Client) VPPMetrics(ctx context.Context) (counters map[string]any, err error) {
	err = c.getJSON(ctx, "/metrics/"+VPPMetric, nil, &counters)
	return counters, err
}

// Simulated returns the southbounds that the agent simulates: "vpp", "linux".
func (c *Client) Simulated(ctx context.Context) ([]string, error) {
	var reply struct{ Simulated []string }
	err := c.getJSON(ctx, "/info/simulated", nil, &reply)
	if e := (*Error)(nil); errors.As(err, &e) && e.Status == http.StatusNotFound {
		return c.simulatedVPP(ctx)
	}
	return reply.Simulated, err
}

// simulatedVPP asks an agent without the endpoint: an older one, or one with other
// plugins.
func (c *Client) simulatedVPP(ctx context.Context) ([]string, error) {
	var stats struct {
		Session struct {
			Simulated bool `json:"simulated"`
		} `json:"session"`
	}
	if err := c.getJSON(ctx, "/govppmux/stats", nil, &stats); err != nil || !stats.Session.Simulated {
		return nil, err
	}
	return []string{"vpp"}, nil
}

// VPPCommand runs a command of VPP's command line and returns what it prints.
func (c *Client) VPPCommand(ctx context.Context, command string) (output string, err error) {
	const path = "/vpp/command"
	request, err := json.Marshal(map[string]string{"vppclicommand": command})
	if err != nil {
		return "", err
	}
	body, err := c.do(ctx, http.MethodPost, path, nil, request)
	if err != nil {
		return "", err
	}
	return output, decode(path, body, &output)
}
