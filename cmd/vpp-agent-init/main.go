// Command vpp-agent-init starts VPP and its agent together, as supervisor.conf
// says, keeps them running, and stops them in the reverse order. It is made to be
// the first process of a container. It exits with the code of the program that
// failed, with 0 after a stop that was asked for, and with 1 if it cannot start.
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
		agent.StopTimeout(0), // every program has a bound of its own
	).Run()
	if errors.Is(err, agent.ErrInterrupted) {
		err = nil // the end was asked for, or the programs ended, before the start did
	}
	return errors.Join(sup.Err(), err)
}

// exitCode is that of the program whose failure ended the supervisor.
func exitCode(err error) int {
	if failed := (*supervisor.ProgramError)(nil); errors.As(err, &failed) {
		return failed.Exit.Status()
	}
	return 1
}
