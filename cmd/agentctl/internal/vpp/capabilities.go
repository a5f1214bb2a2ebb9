package vpp

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
)

type capabilitiesOptions struct {
	*cmdutil.Factory
}

func newCapabilities(f *cmdutil.Factory) *cobra.Command {
	o := &capabilitiesOptions{Factory: f}
	return f.Formatted(&cobra.Command{
		Use: "capabilities", Short: "Show which items this VPP can have",
		Long: "Shows the types of items that the agent configures in VPP, and by which message this\n" +
			"VPP makes them. Items of a type for which it has no message are UNIMPLEMENTED; the\n" +
			"messages that it lacks are named, and the plugin of VPP that would bring them.",
		Example: "  agentctl vpp capabilities\n  agentctl vpp capabilities -o json",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE:    o.run,
	})
}

func (o *capabilitiesOptions) run(cmd *cobra.Command, _ []string) error {
	c, err := o.Client.VPP.Capabilities(cmd.Context())
	if err != nil {
		return err
	}
	if o.Format != "" {
		return o.Write(o.Format, c.Raw)
	}
	return o.showCapabilities(c.Value)
}

func (o *capabilitiesOptions) showCapabilities(c client.Capabilities) error {
	what := "VPP"
	if c.VPP.Simulated {
		what = "simulated VPP"
	}
	if err := o.Printf("%s %s, pid %d\n\n", what, c.VPP.Version, c.VPP.PID); err != nil {
		return err
	}
	table := output.NewTable("ITEM", "STATE", "MESSAGE")
	for _, i := range c.Items {
		state, message := "available", i.Uses
		if i.Uses == "" {
			state, message = "UNIMPLEMENTED", "needs "+strings.Join(i.Missing, ", or ")
			if i.Plugin != "" {
				message += "; is the plugin " + i.Plugin + " of VPP loaded?"
			}
		}
		table.Row(i.Item, state, message)
	}
	return table.Write(o.Printer)
}
