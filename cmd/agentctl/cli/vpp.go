package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) vppCommand() *cobra.Command {
	return parent("vpp", "Look at the VPP of the agent", a.vppCLI(), a.vppInfo(), a.vppCapabilities(),
		a.vppTrace(), a.vppPcap(), a.vppPunt(), a.vppIKEv2(), a.vppLLDP(), a.vppLACP(), a.vppACL())
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
	cmd := a.vppShow("info", "Show the version of VPP and how it was started", [][2]string{
		{"VERSION", "show version verbose"}, {"CONFIG", "show version cmdline"},
	})
	cmd.Aliases = []string{"i"}
	return cmd
}

func (a *app) vppPunt() *cobra.Command {
	return a.vppShow("punt", "Show for which reasons VPP punted packets, and who receives them", [][2]string{
		{"PACKETS BY REASON", "show punt stats"}, {"REASONS AND WHO ASKED FOR THEM", "show punt reasons"},
		{"SOCKETS BY PORT", "show punt socket registrations l4"},
		{"SOCKETS BY REASON", "show punt socket registrations exception"},
	})
}

// vppIKEv2 asks for no details of associations: VPP crashes if one has no profile yet.
func (a *app) vppIKEv2() *cobra.Command {
	return a.vppShow("ikev2", "Show with whom VPP has agreed on keys by IKEv2, and for which tunnels", [][2]string{
		{"PEERS", "show ikev2 sa"}, {"TUNNELS", "show ipsec protect"},
	})
}

func (a *app) vppLLDP() *cobra.Command {
	return a.vppShow("lldp", "Show the neighbors that VPP heard of by LLDP, and its own settings", [][2]string{
		{"NEIGHBORS", "show lldp"}, {"INTERFACES", "show lldp detail"},
	})
}

func (a *app) vppLACP() *cobra.Command {
	return a.vppShow("lacp", "Show the state of LACP on the members of bonds", [][2]string{
		{"MEMBERS", "show lacp"}, {"DETAILS", "show lacp details"},
	})
}

// vppShow is a command that prints what commands of VPP do, each with a title.
func (a *app) vppShow(use, short string, parts [][2]string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, part := range parts {
				output, err := a.client.VPPCommand(cmd.Context(), part[1])
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintf(a.Out, "%s:\n%s\n", part[0], lines(output)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// lines makes sure that text ends with the end of a line.
func lines(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
