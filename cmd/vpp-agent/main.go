// Command vpp-agent programs VPP and the networking of Linux from a
// configuration that people and programs edit, and keeps them as configured.
package main

import (
	"fmt"
	"os"

	"github.com/tenuto-dev/tenuto/cmd/internal/buildinfo"
	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
)

func main() {
	version, date, commit := buildinfo.Version()
	a := agent.NewAgent(
		agent.Name("vpp-agent"), agent.Version(version, date, commit),
		agent.AllPlugins(app.New()),
	)
	if err := a.Run(); err != nil {
		fmt.Fprintf(os.Stderr, "ERROR: %v\n", err)
		os.Exit(1)
	}
}
