package values

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

type whyOptions struct {
	*cmdutil.Factory
}

// NewWhy returns the command "why".
func NewWhy(f *cmdutil.Factory) *cobra.Command {
	o := &whyOptions{Factory: f}
	return f.Formatted(&cobra.Command{
		Use:   "why KEY",
		Short: "Show what a value waits for, down to what blocks it",
		Long: "Shows what a value waits for or stands on, down to what blocks it. The key may be\n" +
			"given whole, or as MODEL/NAME with the name of a model. The exit code is 1 if no model\n" +
			"has keys like it.",
		Example: "  agentctl why config/vpp/l2/v2/bridge-domain/bd1\n  agentctl why vpp.l2.bridge-domain/bd1",
		Args:    cmdutil.Args(cobra.ExactArgs(1)), ValidArgsFunction: f.CompleteKeys,
		RunE: o.run,
	})
}

func (o *whyOptions) run(cmd *cobra.Command, args []string) error {
	key := o.Models.FullKey(args[0])
	e, err := whyKey(cmd.Context(), o.Factory, args[0], key)
	if err != nil {
		return err
	}
	return output.Show(o.Printer, e, func(api.Explanation) error {
		text, err := o.Client.Scheduler.WhyText(cmd.Context(), key)
		if err := o.PrintText(o.Models.ShortText(text), err); err != nil || !e.NotConfigured {
			return err
		}
		if similar := o.DidYouMean(cmd.Context(), o.Models.ShortKey(key)); similar != "" {
			fmt.Fprintln(o.Err, strings.TrimPrefix(similar, "; "))
		}
		return nil
	})
}
