package status

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/cmd/internal/buildinfo"
)

// versionData is what "version" knows; Error is why there is no Agent.
type versionData struct {
	Agentctl string          `json:"agentctl"`
	Agent    *client.Version `json:"agent,omitempty"`
	Error    string          `json:"error,omitempty"`
}

type versionOptions struct {
	*cmdutil.Factory
}

// NewVersion returns the command "version".
func NewVersion(f *cmdutil.Factory) *cobra.Command {
	o := &versionOptions{Factory: f}
	return f.Formatted(&cobra.Command{
		Use: "version", Short: "Show the versions of agentctl and of the agent", Args: cmdutil.Args(cobra.NoArgs),
		Example: "  agentctl version -o json",
		RunE:    o.run,
	})
}

func (o *versionOptions) run(cmd *cobra.Command, _ []string) error {
	version, _, _ := buildinfo.Version()
	data := versionData{Agentctl: version}
	v, err := o.Client.Agent.Version(cmd.Context())
	if data.Agent = &v; err != nil {
		data.Agent, data.Error = nil, err.Error()
	}
	return errors.Join(output.Show(o.Printer, data, o.printVersion), err)
}

func (o *versionOptions) printVersion(d versionData) error {
	text := "agentctl  " + d.Agentctl + "\n"
	if v := d.Agent; v != nil {
		text += fmt.Sprintf("%-9s %s (%s, %s/%s)\n", v.App, v.Version, v.GoVersion, v.OS, v.Arch)
	}
	return o.Print(text)
}
