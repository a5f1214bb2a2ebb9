// Command tenuto-controller executes the rollouts of a fleet, as "agentctl fleet run" does for one of them.
package main

import (
	"fmt"
	"os"

	"github.com/tenuto-dev/tenuto/cmd/internal/buildinfo"
	"github.com/tenuto-dev/tenuto/cmd/tenuto-controller/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "ERROR: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	version, date, commit := buildinfo.Version()
	return agent.NewAgent(agent.Name("tenuto-controller"), agent.Version(version, date, commit), agent.AllPlugins(app.New())).Run()
}
