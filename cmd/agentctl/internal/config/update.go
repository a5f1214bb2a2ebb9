package config

import (
	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/outcome"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

type updateOptions struct {
	*cmdutil.Factory
	change    client.ChangeOptions
	replacing plan.Replacing
	wait      bool
}

func newUpdate(f *cmdutil.Factory) *cobra.Command {
	o := &updateOptions{Factory: f}
	cmd := f.Formatted(&cobra.Command{
		Use:     "update FILE",
		Example: "  agentctl config update net.yaml --replace --wait",
		Short:   "Add or change items of the configuration",
		Long: "Adds or changes the items of a file in YAML or JSON (\"-\" is the standard input).\n" +
			"A file with mistakes is refused as a whole.\n\n" + outcome.ExitCodes,
		Args: cmdutil.Args(cobra.ExactArgs(1)),
		RunE: o.run,
	})
	o.replacing.Define(cmd)
	cmd.Flags().StringVar(&o.change.Labels, "labels", fromAgentctl, "`labels` of the items, as in team=blue,owner")
	cmd.Flags().DurationVarP(&f.Flags.Timeout, "timeout", "t", cmdutil.DefaultTimeout, "request timeout (0 disables it)") // the global --timeout
	outcome.WaitFlag(cmd, &o.wait)
	return cmd
}

func (o *updateOptions) run(cmd *cobra.Command, args []string) error {
	text, err := cmdutil.ReadDocument(cmd, args[0])
	if err != nil {
		return err
	}
	if err := o.replacing.Check(cmd.Context(), o.Factory, args[0], text); err != nil {
		return err
	}
	o.change.Replace = o.replacing.Replace
	if o.wait {
		o.change.Wait = o.Flags.WaitTime()
	}
	applied, err := cmdutil.Progressing(cmd.Context(), o.Factory, func() (*response.Outcome, error) { return o.Client.Configuration.Update(cmd.Context(), text, o.change) })
	if applied == nil {
		return outcome.PrintProblems(o.Factory, args[0], err)
	}
	if o.Format != "" {
		if werr := o.Write(o.Format, applied.Results); werr != nil {
			return werr
		}
	}
	return outcome.Print(o.Factory, applied, err, o.wait, o.Format == "")
}

// fromAgentctl is the label that the predecessor's agentctl gives to items.
const fromAgentctl = "io.ligato.from-client=agentctl"

type validateOptions struct {
	*cmdutil.Factory
}

func newValidate(f *cmdutil.Factory) *cobra.Command {
	o := &validateOptions{Factory: f}
	return &cobra.Command{
		Use:     "validate FILE",
		Example: "  agentctl config validate net.yaml",
		Short:   "Say what is wrong with a file, without changing anything",
		Args:    cmdutil.Args(cobra.ExactArgs(1)),
		RunE:    o.run,
	}
}

func (o *validateOptions) run(cmd *cobra.Command, args []string) error {
	text, err := cmdutil.ReadDocument(cmd, args[0])
	if err != nil {
		return err
	}
	if err := o.Client.Configuration.Validate(cmd.Context(), text); err != nil {
		return outcome.PrintProblems(o.Factory, args[0], err)
	}
	return o.Printf("OK\n")
}
