package probe

import (
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/health"
)

// ExposedStatus is the reply of /liveness and /readiness. Clients of the
// predecessor know all fields but Health. In those fields, a state is 0 (INIT,
// omitted), 1 (OK) or 2 (ERROR or DEGRADED), and a time is in seconds since
// 1970.
type ExposedStatus struct {
	BuildVersion string `json:"build_version,omitempty"`
	BuildDate    string `json:"build_date,omitempty"`
	State        int    `json:"state,omitempty"`
	StartTime    int64  `json:"start_time,omitempty"`
	LastChange   int64  `json:"last_change,omitempty"`
	LastUpdate   int64  `json:"last_update,omitempty"`
	// InterfaceStats is always empty, as in the replies of the predecessor.
	InterfaceStats struct{} `json:"interface_stats"`
	CommitHash     string   `json:"commit_hash,omitempty"`
	// Plugins are the plugins, sorted by name.
	Plugins         []PluginStatus `json:"plugins"`
	PluginStatus    map[string]PluginStatus
	NonFatalPlugins []string
	ReadyDespite    []string `json:"ReadyDespite,omitempty"` // of probe.conf

	// Health is the whole tree: all states, with parts, reasons and causes.
	Health health.Snapshot `json:"health"`
}

// PluginStatus is the state of one plugin.
type PluginStatus struct {
	Name       string `json:"name,omitempty"`
	State      int    `json:"state,omitempty"`
	Error      string `json:"error,omitempty"`
	LastChange int64  `json:"last_change,omitempty"`
	LastUpdate int64  `json:"last_update,omitempty"`
}

func expose(b infra.Build, s health.Snapshot, cfg *Config) ExposedStatus {
	e := ExposedStatus{
		BuildVersion: b.Version, BuildDate: b.Date, CommitHash: b.Commit,
		State: s.State.Number(), StartTime: s.Started.Unix(),
		LastChange: s.LastChange.Unix(), LastUpdate: s.Taken.Unix(),
		PluginStatus: map[string]PluginStatus{}, NonFatalPlugins: cfg.NonFatalPlugins, ReadyDespite: cfg.ReadyDespite, Health: s,
	}
	for _, p := range s.Plugins {
		ps := PluginStatus{State: p.State.Number(), Error: p.Trouble(), LastChange: p.LastChange.Unix(), LastUpdate: s.Taken.Unix()}
		e.PluginStatus[p.Name] = ps
		e.Plugins = append(e.Plugins, PluginStatus{Name: p.Name, State: ps.State, Error: ps.Error})
	}
	return e
}
