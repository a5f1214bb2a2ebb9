package cli

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
)

func (a *app) metricsCommand() *cobra.Command {
	cmd := parent("metrics", "Show the metrics of the agent, those that Prometheus gets", a.metricsList(), a.metricsGet())
	cmd.Aliases = []string{"metric"}
	return cmd
}

func (a *app) metricsList() *cobra.Command {
	return a.formatted(&cobra.Command{
		Use: "list [PATTERN]", Aliases: []string{"ls", "l"}, Args: args(cobra.MaximumNArgs(1)),
		Short:   "List the metrics whose names match PATTERN, or all",
		Long:    "Lists the metrics whose names match PATTERN, or all, with the first sentence of their help;\n-o wide shows all of it.",
		Example: "  agentctl metrics list 'vpp_*'",
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := a.metrics(cmd.Context(), strings.Join(args, ""))
			if err != nil {
				return err
			}
			t := newTable("METRIC", "TYPE", "VALUES", "HELP")
			for _, m := range list {
				t.row(m.Name, m.Type, len(m.Samples), a.metricHelp(m.Help))
			}
			if matched, err := path.Match(cmp.Or(strings.Join(args, ""), "*"), client.VPPMetric); err == nil && matched {
				t.row(client.VPPMetric, "object", "1", "ligato.govppmux.Metrics: the connection to VPP.")
			}
			return show(a, list, func([]client.Metric) error { return t.write(a) })
		},
	})
}

// metricHelp returns the first sentence of a help text, or all of it for -o wide.
func (a *app) metricHelp(text string) string {
	if first, _, more := strings.Cut(text, ". "); more && !a.wide {
		return first + "."
	}
	return text
}

func (a *app) metricsGet() *cobra.Command {
	return a.formatted(&cobra.Command{
		Use: "get METRIC", Aliases: []string{"g"}, Args: args(cobra.ExactArgs(1)),
		Short: "Print the values of the metrics that match METRIC", Example: "  agentctl metrics get ligato_kvscheduler_values",
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == client.VPPMetric {
				return a.vppMetric(cmd.Context())
			}
			list, err := a.metrics(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var b strings.Builder
			for _, m := range list {
				for _, s := range m.Samples {
					fmt.Fprintf(&b, "%s%s %s\n", s.Name, s.Labels, s.Value)
				}
			}
			return show(a, list, func([]client.Metric) error { return a.print(b.String()) })
		},
	})
}

// vppMetric prints the metric of the predecessor; like there, the default format
// is JSON.
func (a *app) vppMetric(ctx context.Context) error {
	m, err := a.client.VPPMetrics(ctx)
	if err != nil {
		return err
	}
	a.namesKept = true // of Ligato
	return a.write(cmp.Or(a.format, "json"), m)
}

// metrics returns the metrics that match a pattern; an empty pattern matches
// all.
func (a *app) metrics(ctx context.Context, pattern string) ([]client.Metric, error) {
	all, err := a.client.Metrics(ctx)
	if err != nil || pattern == "" {
		return all, err
	}
	found := []client.Metric{}
	for _, m := range all {
		ok, err := path.Match(pattern, m.Name)
		if err != nil {
			return nil, usage("%q: malformed pattern", pattern)
		}
		if ok {
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no metric %q; 'agentctl metrics list' has their names", pattern)
	}
	return found, nil
}
