package govppmux

import (
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/health"
)

// wellness calls f whenever the plugin reports that all is well.
type wellness struct {
	health.Reporter
	f func()
}

func (w wellness) OK(string) { w.f() }

// VPP is reported as connected when all know of the session. Earlier, the agent would be ready
// for a moment although the values are not synchronised.
func TestConnectedWhenTheSessionIsKnown(t *testing.T) {
	t.Parallel()
	path := socket(t)
	simulator(t, path)
	cfg := DefaultConfig()
	cfg.BinAPISocketPath = path
	var p *Plugin
	known := make(chan bool, 10)
	p = NewPlugin(UseConf(cfg), UseDeps(func(d *Deps) {
		d.Health = wellness{health.Discard(), func() {
			s, _ := p.state.get()
			known <- s.Up
		}}
	}))
	agenttest.Start(t, p)
	session(t, p, 0)
	if !<-known {
		t.Error("reported as connected before the session was published")
	}
}
