// Package metrics has the commands that show the metrics of the agent.
package metrics

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
)

// New returns the command "metrics".
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := cmdutil.Parent("metrics", "Show the metrics of the agent, those that Prometheus gets", newList(f), newGet(f))
	cmd.Aliases = []string{"metric"}
	return cmd
}

type listOptions struct {
	*cmdutil.Factory
}

func newList(f *cmdutil.Factory) *cobra.Command {
	o := &listOptions{Factory: f}
	return f.Formatted(&cobra.Command{
		Use: "list [PATTERN]", Aliases: []string{"ls", "l"}, Args: cmdutil.Args(cobra.MaximumNArgs(1)),
		Short:   "List the metrics whose names match PATTERN, or all",
		Long:    "Lists the metrics whose names match PATTERN, or all, with the first sentence of their help;\n-o wide shows all of it.",
		Example: "  agentctl metrics list 'vpp_*'",
		RunE:    o.run,
	})
}

func (o *listOptions) run(cmd *cobra.Command, args []string) error {
	list, err := metrics(cmd.Context(), o.Factory, strings.Join(args, ""))
	if err != nil {
		return err
	}
	t := output.NewTable("METRIC", "TYPE", "VALUES", "HELP")
	for _, m := range list {
		t.Row(m.Name, m.Type, len(m.Samples), o.metricHelp(m.Help))
	}
	if matched, err := path.Match(cmp.Or(strings.Join(args, ""), "*"), client.VPPMetric); err == nil && matched {
		t.Row(client.VPPMetric, "object", "1", "ligato.govppmux.Metrics: the connection to VPP.")
	}
	return output.Show(o.Printer, list, func([]client.Metric) error { return t.Write(o.Printer) })
}

// metricHelp returns the first sentence of a help text, or all of it for -o wide.
func (o *listOptions) metricHelp(text string) string {
	if first, _, more := strings.Cut(text, ". "); more && !o.Wide {
		return first + "."
	}
	return text
}

type getOptions struct {
	*cmdutil.Factory
}

func newGet(f *cmdutil.Factory) *cobra.Command {
	o := &getOptions{Factory: f}
	return f.Formatted(&cobra.Command{
		Use: "get METRIC", Aliases: []string{"g"}, Args: cmdutil.Args(cobra.ExactArgs(1)),
		Short: "Print the values of the metrics that match METRIC", Example: "  agentctl metrics get ligato_kvscheduler_values",
		RunE: o.run,
	})
}

func (o *getOptions) run(cmd *cobra.Command, args []string) error {
	if args[0] == client.VPPMetric {
		return o.vppMetric(cmd.Context())
	}
	list, err := metrics(cmd.Context(), o.Factory, args[0])
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, m := range list {
		for _, s := range m.Samples {
			fmt.Fprintf(&b, "%s%s %s\n", s.Name, s.Labels, s.Value)
		}
	}
	return output.Show(o.Printer, list, func([]client.Metric) error { return o.Print(b.String()) })
}

// vppMetric prints the metric of the predecessor; like there, the default format
// is JSON.
func (o *getOptions) vppMetric(ctx context.Context) error {
	m, err := o.Client.Metrics.VPP(ctx)
	if err != nil {
		return err
	}
	o.NamesKept = true // of Ligato
	return o.Write(cmp.Or(o.Format, "json"), m)
}

// metrics returns the metrics that match a pattern; an empty pattern matches
// all.
func metrics(ctx context.Context, f *cmdutil.Factory, pattern string) ([]client.Metric, error) {
	all, err := f.Client.Metrics.All(ctx)
	if err != nil || pattern == "" {
		return all, err
	}
	found := []client.Metric{}
	for _, m := range all {
		ok, err := path.Match(pattern, m.Name)
		if err != nil {
			return nil, exit.Usagef("%q: malformed pattern", pattern)
		}
		if ok {
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		names := make([]string, len(all))
		for i, m := range all {
			names[i] = m.Name
		}
		return nil, fmt.Errorf("no metric %q; 'agentctl metrics list' has their names%s", pattern, cmdutil.Meant(pattern, names))
	}
	return found, nil
}
