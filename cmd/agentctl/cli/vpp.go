package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) vppCommand() *cobra.Command {
	return parent("vpp", "Look at the VPP of the agent", a.vppCLI(), a.vppInfo(), a.vppCapabilities(),
		a.vppTrace(), a.vppPcap(), a.vppPunt())
}

func (a *app) vppCLI() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cli COMMAND...", Aliases: []string{"c"},
		Short: "Run a command of VPP's command line", Example: "  agentctl vpp cli show interface",
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			command := strings.Join(args, " ")
			output, err := a.client.VPPCommand(cmd.Context(), command)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "vpp# %s\n%s", command, lines(output))
			return err
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the command belongs to VPP
	return cmd
}

func (a *app) vppInfo() *cobra.Command {
	return &cobra.Command{
		Use: "info", Aliases: []string{"i"}, Short: "Show the version of VPP and how it was started",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.vppOutputs(cmd.Context(), [][2]string{{"VERSION", "show version verbose"}, {"CONFIG", "show version cmdline"}})
		},
	}
}

func (a *app) vppPunt() *cobra.Command {
	return &cobra.Command{
		Use: "punt", Short: "Show for which reasons VPP punted packets, and who receives them",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.vppOutputs(cmd.Context(), [][2]string{
				{"PACKETS BY REASON", "show punt stats"}, {"REASONS AND WHO ASKED FOR THEM", "show punt reasons"},
				{"SOCKETS BY PORT", "show punt socket registrations l4"},
				{"SOCKETS BY REASON", "show punt socket registrations exception"},
			})
		},
	}
}

// vppOutputs prints the outputs of commands of VPP, each below its title.
func (a *app) vppOutputs(ctx context.Context, parts [][2]string) error {
	for _, part := range parts {
		output, err := a.client.VPPCommand(ctx, part[1])
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(a.Out, "%s:\n%s\n", part[0], lines(output)); err != nil {
			return err
		}
	}
	return nil
}

// lines makes sure that text ends with the end of a line.
func lines(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
