// Package graph has the command that draws the values and their relations.
package graph

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/history"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
)

type options struct {
	*cmdutil.Factory
	output string
	txn    uint64
	query  client.GraphQuery
}

// New returns the command "graph".
func New(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Show the values and what they depend on as a graph",
		Long: "Writes the values and their relations to standard output or a file, in the DOT language of\n" +
			"Graphviz. If the agent's host has Graphviz, the agent can draw them as SVG or PNG.",
		Example: "  agentctl graph | dot -Tsvg > graph.svg\n  agentctl graph -o svg --prefix config/vpp/l2/ --out graph.svg",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE:    o.run,
	}
	output.Flag(cmd, &o.query.Format, "dot", []string{"dot", "svg", "png"}, "dot, svg or png")
	cmd.Flags().Uint64Var(&o.txn, "txn", 0, "the graph after the transaction with this `number`, its values marked")
	history.CompleteFlag(f, cmd, "txn")
	cmd.Flags().StringArrayVar(&o.query.Prefixes, "prefix", nil, "only values whose key begins so; may be repeated")
	cmd.Flags().StringVar(&o.output, "out", "", "`file` to write to")
	cmdutil.FlagOnTargets(cmd, "out", cmdutil.OneTarget)
	return cmd
}

func (o *options) run(cmd *cobra.Command, _ []string) error {
	if cmd.Flags().Changed("txn") {
		o.query.Txn = &o.txn
	}
	if o.query.Format = strings.ToLower(o.query.Format); !slices.Contains([]string{"dot", "raw", "svg", "png"}, o.query.Format) {
		return exit.Usagef("--output: %q: expected dot, svg or png", o.query.Format)
	}
	picture, err := o.Client.Scheduler.Graph(cmd.Context(), o.query)
	if o.query.Txn != nil {
		err = history.Explain(cmd.Context(), o.Factory, err, []string{fmt.Sprint(o.txn)})
	}
	if err != nil {
		return err
	}
	if o.output == "" || o.output == "-" {
		_, err = o.Out.Write(picture)
		return err
	}
	if err := os.WriteFile(o.output, picture, 0o644); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}
