package cli

import (
	"fmt"
	"os"
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
		Short: "Draw the values and what they depend on",
		Long: "Draws the values and what they depend on, as SVG or in the DOT language of Graphviz.\n" +
			"It is written to standard output, or to a file.",
		Example: "  agentctl graph -o graph.svg\n  agentctl graph -f dot --prefix config/vpp/l2/",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("txn") {
				q.Txn = &txn
			}
			if q.Format = strings.ToLower(q.Format); q.Format != "svg" && q.Format != "dot" && q.Format != "raw" {
				return usage("--format: %q: expected svg or dot, of which Graphviz makes other pictures", q.Format)
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
				return fmt.Errorf("--output: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&q.Format, "format", "f", "svg", "svg or dot")
	cmd.Flags().Uint64Var(&txn, "txn", 0, "the graph after the transaction with this `number`, its values marked")
	cmd.Flags().StringArrayVar(&q.Prefixes, "prefix", nil, "only values whose key begins so; may be repeated")
	cmd.Flags().StringVarP(&output, "output", "o", "", "`file` to write to")
	return cmd
}
