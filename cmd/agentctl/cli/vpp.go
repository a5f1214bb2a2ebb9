package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) vppCommand() *cobra.Command {
	cmd := parent("vpp", "Look at the VPP of the agent", a.vppCLI(), a.vppCapabilities(), a.vppTrace(), a.vppPcap(), a.vppACL())
	for _, s := range vppShows {
		cmd.AddCommand(a.vppShow(s))
	}
	return cmd
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
			return a.printf("vpp# %s\n%s", command, lines(output))
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the command belongs to VPP
	return cmd
}

// vppShown is a command that prints what commands of VPP do, each with a title.
type vppShown struct {
	use, short string
	aliases    []string
	parts      [][2]string
}

var vppShows = []vppShown{
	{use: "info", aliases: []string{"i"}, short: "Show the version of VPP and how it was started", parts: [][2]string{
		{"VERSION", "show version verbose"}, {"CONFIG", "show version cmdline"},
	}},
	{use: "punt", short: "Show for which reasons VPP punted packets, and who receives them", parts: [][2]string{
		{"PACKETS BY REASON", "show punt stats"}, {"REASONS AND WHO ASKED FOR THEM", "show punt reasons"},
		{"SOCKETS BY PORT", "show punt socket registrations l4"},
		{"SOCKETS BY REASON", "show punt socket registrations exception"},
	}},
	// It asks for no details of associations: VPP crashes if one has no profile yet.
	{use: "ikev2", short: "Show with whom VPP has agreed on keys by IKEv2, and for which tunnels", parts: [][2]string{
		{"PEERS", "show ikev2 sa"}, {"TUNNELS", "show ipsec protect"},
	}},
	{use: "lldp", short: "Show the neighbors that VPP heard of by LLDP, and its own settings", parts: [][2]string{
		{"NEIGHBORS", "show lldp"}, {"INTERFACES", "show lldp detail"},
	}},
	{use: "lacp", short: "Show the state of LACP on the members of bonds", parts: [][2]string{
		{"MEMBERS", "show lacp"}, {"DETAILS", "show lacp details"},
	}},
}

func (a *app) vppShow(s vppShown) *cobra.Command {
	return a.formatted(&cobra.Command{
		Use: s.use, Aliases: s.aliases, Short: s.short, Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			outputs := make([]vppOutput, len(s.parts))
			for i, part := range s.parts {
				output, err := a.client.VPPCommand(cmd.Context(), part[1])
				if err != nil {
					return err
				}
				outputs[i] = vppOutput{part[0], part[1], output}
			}
			return show(a, outputs, a.printOutputs)
		},
	})
}

// vppOutput is what a command of VPP printed.
type vppOutput struct{ Title, Command, Output string }

func (a *app) printOutputs(outputs []vppOutput) error {
	var b strings.Builder
	for _, o := range outputs {
		fmt.Fprintf(&b, "%s:\n%s\n", o.Title, lines(o.Output))
	}
	return a.print(b.String())
}

// lines makes sure that text ends with the end of a line.
func lines(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
