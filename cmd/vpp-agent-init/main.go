// Command vpp-agent-init starts VPP and its agent as configured by
// supervisor.conf, restarts them, and stops them in the reverse order. It is
// intended as the first process of a container. It exits with the code of the
// program that failed, with 0 after a requested stop, and with 1 if it cannot
// start.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/tenuto-dev/tenuto/cmd/internal/buildinfo"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/supervisor"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "ERROR: %v\n", err)
		os.Exit(exitCode(err))
	}
}

func run() error {
	sup := supervisor.NewPlugin()
	version, date, commit := buildinfo.Version()
	err := agent.NewAgent(
		agent.Name("vpp-agent-init"), agent.Version(version, date, commit),
		agent.AllPlugins(sup), agent.QuitOnClose(sup.Done()),
		agent.StopTimeout(0), // every program has its own stop timeout
	).Run()
	if errors.Is(err, agent.ErrInterrupted) {
		err = nil // a stop was requested, or the programs ended, during the start
	}
	return errors.Join(sup.Err(), err)
}

// exitCode returns the exit code of the failed program.
func exitCode(err error) int {
	if failed := (*supervisor.ProgramError)(nil); errors.As(err, &failed) {
		return failed.Exit.Status()
	}
	return 1
}
