package agent

import (
	"runtime/debug"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// host implements infra.Host for the plugins of an agent.
type host struct{ a *Agent }

func (h host) Build() infra.Build { return h.a.opts.build }

func (h host) StartTime() time.Time { return h.a.begun }

func (h host) Health() *health.Tree { return h.a.health }

func (h host) Loggers() *logging.Registry { return h.a.loggers }

func (h host) Running() bool {
	h.a.mu.Lock()
	defer h.a.mu.Unlock()
	return h.a.state == running
}

// withCommit adds the commit that the Go toolchain recorded in the binary.
func withCommit(b infra.Build) infra.Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && b.Commit == "":
			b.Commit = s.Value
		case s.Key == "vcs.time" && b.Date == "":
			b.Date = s.Value
		}
	}
	return b
}
