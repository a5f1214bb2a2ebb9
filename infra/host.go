package infra

import (
	"time"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// Build identifies the build of an agent.
type Build struct {
	App     string // name of the program ("vpp-agent")
	Version string // "v0.0.0-dev" if not set
	Commit  string // commit it was built from, if known
	Date    string // when it was built, if known; RFC 3339 or seconds since 1970
}

// Host gives plugins information about their agent. All methods may be called
// concurrently.
type Host interface {
	// Build returns the build of the program.
	Build() Build
	// StartTime returns when the start of the agent began.
	StartTime() time.Time
	// Health returns the states of all plugins.
	Health() *health.Tree
	// Loggers returns the registry of the agent's loggers.
	Loggers() *logging.Registry
	// Running reports whether the start has finished and the stop has not
	// begun.
	Running() bool
}

// HostAware is implemented by plugins that need information about their agent.
// SetHost is called before Init.
type HostAware interface {
	SetHost(Host)
}
