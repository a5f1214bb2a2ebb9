// Package vpp has the commands that look at the VPP of the agent.
package vpp

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
)

// New returns the command "vpp".
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := cmdutil.Parent("vpp", "Look at the VPP of the agent", newCLI(f), newCapabilities(f), newTrace(f), newPcap(f), newACL(f))
	for _, s := range vppShows {
		cmd.AddCommand(newShow(f, s))
	}
	return cmd
}

type cliOptions struct {
	*cmdutil.Factory
}

func newCLI(f *cmdutil.Factory) *cobra.Command {
	o := &cliOptions{Factory: f}
	cmd := &cobra.Command{
		Use: "cli COMMAND...", Aliases: []string{"c"},
		Short: "Run a command of VPP's command line", Example: "  agentctl vpp cli show interface",
		Args: cmdutil.Args(cobra.MinimumNArgs(1)),
		RunE: o.run,
	}
	cmd.Flags().SetInterspersed(false) // what follows the command belongs to VPP
	return cmd
}

func (o *cliOptions) run(cmd *cobra.Command, args []string) error {
	command := strings.Join(args, " ")
	text, err := o.Client.VPP.Command(cmd.Context(), command)
	if err != nil {
		return err
	}
	return o.Printf("vpp# %s\n%s", command, output.Lines(text))
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

type showOptions struct {
	*cmdutil.Factory
}

func newShow(f *cmdutil.Factory, s vppShown) *cobra.Command {
	o := &showOptions{Factory: f}
	return f.Formatted(&cobra.Command{
		Use: s.use, Example: "  agentctl vpp " + s.use, Aliases: s.aliases, Short: s.short, Args: cmdutil.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			outputs := make([]vppOutput, len(s.parts))
			for i, part := range s.parts {
				text, err := f.Client.VPP.Command(cmd.Context(), part[1])
				if err != nil {
					return err
				}
				outputs[i] = vppOutput{part[0], part[1], text}
			}
			return output.Show(f.Printer, outputs, o.printOutputs)
		},
	})
}

// vppOutput is what a command of VPP printed.
type vppOutput struct{ Title, Command, Output string }

func (opts *showOptions) printOutputs(outputs []vppOutput) error {
	var b strings.Builder
	for _, o := range outputs {
		fmt.Fprintf(&b, "%s:\n%s\n", o.Title, output.Lines(o.Output))
	}
	return opts.Print(b.String())
}
