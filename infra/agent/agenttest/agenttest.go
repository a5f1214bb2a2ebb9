// Package agenttest runs agents in tests: they log to the test, see neither its
// command line nor its environment nor its signals, are stopped at its end,
// and must leave no goroutine behind.
package agenttest

import (
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/logging/logtest"
)

// patience bounds a start, a stop, and how long goroutines may take to end after
// it. The bounds of a real agent could be too short on a machine with much to do.
const patience = 2 * time.Minute

// Start starts an agent with the plugins and all that they need. The test
// fails if the start or the stop fails.
func Start(tb testing.TB, plugins ...infra.Plugin) *agent.Agent {
	tb.Helper()
	a := New(tb, agent.AllPlugins(plugins...))
	if err := a.Start(tb.Context()); err != nil {
		tb.Fatalf("start of the agent: %v", err)
	}
	return a
}

// New returns an agent that was not started yet, for tests of starts that fail
// or of further options. If it was started, it is stopped at the end of the
// test, unless it has stopped by then.
func New(tb testing.TB, opts ...agent.Option) *agent.Agent {
	tb.Helper()
	all := []agent.Option{
		agent.Name("test"), agent.Args("--config-dir", tb.TempDir()), agent.Environ(config.NoEnviron),
		agent.QuitSignals(), agent.Logging(logtest.Registry(tb)), agent.StartTimeout(patience), agent.StopTimeout(patience),
	}
	a := agent.NewAgent(append(all, opts...)...)
	tb.Cleanup(func() {
		select {
		case <-a.After():
		default:
			if err := a.Stop(); err != nil && err != agent.ErrNotStarted {
				tb.Errorf("stop of the agent: %v", err)
			}
		}
		CheckLeaks(tb, a)
	})
	return a
}

// CheckLeaks fails the test if goroutines that were started by the plugins of
// a stopped agent do not end. It sees them by their labels, so other agents
// and tests may run beside it.
func CheckLeaks(tb testing.TB, a *agent.Agent) {
	tb.Helper()
	checkLeaks(tb, a, patience)
}

func checkLeaks(tb testing.TB, a *agent.Agent, patience time.Duration) {
	tb.Helper()
	deadline := time.Now().Add(patience)
	for pause := time.Millisecond; ; pause = min(2*pause, time.Second) {
		leaks := a.Goroutines()
		if len(leaks) == 0 {
			return
		}
		if time.Now().After(deadline) {
			tb.Errorf("%d kinds of goroutines outlive their agent:\n%s", len(leaks), strings.Join(leaks, "\n\n"))
			return
		}
		time.Sleep(pause)
	}
}
