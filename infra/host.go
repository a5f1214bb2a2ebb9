package infra

import (
	"time"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// Build says which program an agent is.
type Build struct {
	App     string // name of the program ("vpp-agent")
	Version string // "v0.0.0-dev" if not set
	Commit  string // commit it was built from, if known
	Date    string // when it was built, if known; RFC 3339 or seconds since 1970
}

// Host is what an agent tells its plugins about itself. All methods may be
// called concurrently.
type Host interface {
	// Build says which program this is.
	Build() Build
	// StartTime is when the start of the agent began.
	StartTime() time.Time
	// Health is the states of all plugins.
	Health() *health.Tree
	// Loggers is the registry of the agent's loggers.
	Loggers() *logging.Registry
	// Running tells whether the start finished and the stop did not begin.
	Running() bool
}

// HostAware is implemented by plugins that show facts about their agent.
// SetHost is called before Init.
type HostAware interface {
	SetHost(Host)
}
