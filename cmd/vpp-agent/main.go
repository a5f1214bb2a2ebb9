// Command vpp-agent configures VPP and Linux networking, and keeps them as
// configured.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/tenuto-dev/tenuto/cmd/internal/buildinfo"
	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "ERROR: %v\n", err)
		os.Exit(1)
	}
}

// startTimeout is long enough to read the state-dir of an agent with millions of
// values, half a gigabyte for each million.
const startTimeout = 2 * time.Minute

func run() error {
	plugins, err := app.New()
	if err != nil {
		return err
	}
	version, date, commit := buildinfo.Version()
	return agent.NewAgent(
		agent.Name("vpp-agent"), agent.Version(version, date, commit),
		agent.AllPlugins(plugins), agent.StartTimeout(startTimeout),
	).Run()
}
