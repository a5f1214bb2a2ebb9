package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
)

func (a *app) graphCommand() *cobra.Command {
	var output string
	var txn uint64
	q := client.GraphQuery{}
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Show the values and what they depend on as a graph",
		Long: "Writes the values and their relations to standard output or a file, in the DOT language of\n" +
			"Graphviz. If the agent's host has Graphviz, the agent can draw them as SVG or PNG.",
		Example: "  agentctl graph | dot -Tsvg > graph.svg\n  agentctl graph -o svg --prefix config/vpp/l2/ --out graph.svg",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("txn") {
				q.Txn = &txn
			}
			if q.Format = strings.ToLower(q.Format); !slices.Contains([]string{"dot", "raw", "svg", "png"}, q.Format) {
				return usage("--output: %q: expected dot, svg or png", q.Format)
			}
			picture, err := a.client.Graph(cmd.Context(), q)
			if q.Txn != nil {
				err = aboutTxn(err, []string{fmt.Sprint(txn)})
			}
			if err != nil {
				return err
			}
			if output == "" || output == "-" {
				_, err = a.Out.Write(picture)
				return err
			}
			if err := os.WriteFile(output, picture, 0o644); err != nil {
				return fmt.Errorf("--out: %w", err)
			}
			return nil
		},
	}
	outputFlag(cmd, &q.Format, "dot", []string{"dot", "svg", "png"}, "dot, svg or png")
	cmd.Flags().Uint64Var(&txn, "txn", 0, "the graph after the transaction with this `number`, its values marked")
	a.completeTxnFlag(cmd, "txn")
	cmd.Flags().StringArrayVar(&q.Prefixes, "prefix", nil, "only values whose key begins so; may be repeated")
	cmd.Flags().StringVar(&output, "out", "", "`file` to write to")
	return cmd
}
