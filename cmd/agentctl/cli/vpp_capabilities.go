package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
)

func (a *app) vppCapabilities() *cobra.Command {
	return a.formatted(&cobra.Command{
		Use: "capabilities", Short: "Show which items this VPP can have",
		Long: "Shows the types of items that the agent configures in VPP, and by which message this\n" +
			"VPP makes them. Items of a type for which it has no message are UNIMPLEMENTED; the\n" +
			"messages that it lacks are named, and the plugin of VPP that would bring them.",
		Example: "  agentctl vpp capabilities\n  agentctl vpp capabilities -o json",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.client.Capabilities(cmd.Context())
			if err != nil {
				return err
			}
			if a.format != "" {
				return a.write(a.format, c.Raw)
			}
			return a.showCapabilities(c.Value)
		},
	})
}

func (a *app) showCapabilities(c client.Capabilities) error {
	what := "VPP"
	if c.VPP.Simulated {
		what = "simulated VPP"
	}
	if err := a.printf("%s %s, pid %d\n\n", what, c.VPP.Version, c.VPP.PID); err != nil {
		return err
	}
	table := newTable("ITEM", "STATE", "MESSAGE")
	for _, i := range c.Items {
		state, message := "available", i.Uses
		if i.Uses == "" {
			state, message = "UNIMPLEMENTED", "needs "+strings.Join(i.Missing, ", or ")
			if i.Plugin != "" {
				message += "; is the plugin " + i.Plugin + " of VPP loaded?"
			}
		}
		table.row(i.Item, state, message)
	}
	return table.write(a)
}
