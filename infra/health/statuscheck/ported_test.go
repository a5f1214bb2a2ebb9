package statuscheck_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/health/statuscheck"
)

// ported is a plugin as it was written for cn-infra, which reports its state itself.
type ported struct {
	infra.PluginDeps
	StatusCheck statuscheck.PluginStatusWriter
}

func (p *ported) Init() error {
	p.StatusCheck.Register(p.PluginName, nil)
	return nil
}

// probed is such a plugin with a probe.
type probed struct {
	infra.PluginDeps
	StatusCheck statuscheck.PluginStatusWriter
	state       atomic.Value
}

func (p *probed) Init() error {
	p.StatusCheck.Register(p.PluginName, func() (statuscheck.PluginState, error) {
		state := p.state.Load().(statuscheck.PluginState)
		if state == statuscheck.Error {
			return state, errors.New("disk is full")
		}
		return state, nil
	})
	return nil
}

func TestPortedReports(t *testing.T) {
	t.Parallel()
	s := newStore()
	check := newPlugin(s, "publishers: [memory]\nprobe-interval: 100ms")
	a, b := &ported{StatusCheck: check}, &probed{StatusCheck: check}
	a.SetName("ported")
	b.SetName("probed")
	b.state.Store(statuscheck.Init)
	agenttest.Start(t, a, b)
	const agent, plugin = "/me/check/status/v1/agent ", "/me/check/status/v1/plugin/"
	s.await(t, agent+"INIT ported=INIT,probed=INIT,status-check=OK", plugin+"ported INIT", plugin+"probed INIT", plugin+"status-check OK")

	a.StatusCheck.ReportStateChange(a.PluginName, statuscheck.OK, nil)
	b.state.Store(statuscheck.OK)
	s.await(t, agent+"OK ported=OK,probed=OK,status-check=OK", plugin+"ported OK", plugin+"probed OK", plugin+"status-check OK")

	a.StatusCheck.ReportStateChangeWithMeta(a.PluginName, statuscheck.Error, errors.New("no such device"), nil)
	b.state.Store(statuscheck.Error)
	s.await(t, agent+"ERROR ported=ERROR,probed=ERROR,status-check=OK",
		plugin+"ported ERROR reported: no such device", plugin+"probed ERROR probe: an operator has to act: disk is full", plugin+"status-check OK")

	a.StatusCheck.ReportStateChange(a.PluginName, statuscheck.Init, errors.New("waits for the device"))
	b.state.Store(statuscheck.OK)
	s.await(t, agent+"INIT ported=INIT,probed=OK,status-check=OK", plugin+"ported INIT", plugin+"probed OK", plugin+"status-check OK")

	// A part of a program that is not a plugin may report as well.
	check.ReportStateChange("worker", statuscheck.Error, nil)
	s.await(t, agent+"ERROR ported=INIT,probed=OK,status-check=OK,worker=ERROR",
		plugin+"ported INIT", plugin+"probed OK", plugin+"status-check OK", plugin+"worker ERROR reported")
	statuscheck.NewPlugin().ReportStateChange("worker", statuscheck.OK, nil) // without an agent: nothing happens
}
