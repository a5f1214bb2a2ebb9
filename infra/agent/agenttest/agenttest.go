// Package agenttest runs agents in tests. Such an agent logs to the test,
// ignores the command line, environment and signals of the test binary, is
// stopped when the test ends, and must not leak goroutines.
package agenttest

import (
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// patience limits a start, a stop, and the time that goroutines may take to end
// after a stop. The timeouts of a real agent could be too short on a busy
// machine.
const patience = 2 * time.Minute

// Start starts an agent with the plugins and all their dependencies. The test
// fails if the start or the stop fails.
func Start(tb testing.TB, plugins ...infra.Plugin) *agent.Agent {
	tb.Helper()
	a := New(tb, agent.AllPlugins(plugins...))
	if err := a.Start(tb.Context()); err != nil {
		tb.Fatalf("start of the agent: %v", err)
	}
	return a
}

// New returns an agent that has not been started, for tests of failing starts
// and of other options. If the test starts the agent and does not stop it, it
// is stopped when the test ends.
func New(tb testing.TB, opts ...agent.Option) *agent.Agent {
	tb.Helper()
	all := []agent.Option{
		agent.Name("test"), agent.Args("--config-dir", tb.TempDir()), agent.Environ(config.NoEnviron),
		agent.QuitSignals(), agent.Logging(infratest.Loggers(tb)), agent.StartTimeout(patience), agent.StopTimeout(patience),
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

// CheckLeaks fails the test if goroutines that the plugins of a stopped agent
// started do not end. It identifies them by their labels, so other agents and
// tests may run in parallel.
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
			tb.Errorf("%d kinds of goroutines outlived their agent:\n%s", len(leaks), strings.Join(leaks, "\n\n"))
			return
		}
		time.Sleep(pause)
	}
}
