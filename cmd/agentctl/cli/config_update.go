package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
)

func (a *app) configUpdate() *cobra.Command {
	var format string
	var replace bool
	cmd := &cobra.Command{
		Use:   "update FILE",
		Short: "Add or change items of the configuration",
		Long: "Adds or changes the items of a file in YAML or JSON (\"-\" is the standard input).\n" +
			"A file with mistakes is refused as a whole. The exit code is 1 if an item failed.",
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			document, err := readDocument(cmd, args[0])
			if err != nil {
				return err
			}
			results, err := a.client.UpdateConfiguration(cmd.Context(), document, replace)
			if err != nil && results == nil {
				return a.tellProblems(args[0], err)
			}
			if format != "" {
				if werr := a.write(format, results); werr != nil {
					return werr
				}
			}
			if err != nil {
				return err
			}
			return a.tellResults(results, format == "")
		},
	}
	formatFlag(cmd, &format)
	cmd.Flags().BoolVar(&replace, "replace", false, "remove items that were given before and are not in the file")
	return cmd
}

func (a *app) configValidate() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Say what is wrong with a file, without changing anything",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			document, err := readDocument(cmd, args[0])
			if err != nil {
				return err
			}
			if err := a.client.ValidateConfiguration(cmd.Context(), document); err != nil {
				return a.tellProblems(args[0], err)
			}
			_, err = fmt.Fprintln(a.Out, "OK")
			return err
		},
	}
}

func readDocument(cmd *cobra.Command, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(cmd.InOrStdin())
	}
	return os.ReadFile(name)
}

// tellResults prints OK, or the items that are not in place.
func (a *app) tellResults(results []client.ItemResult, table bool) error {
	failed := 0
	t := newTable("KEY", "STATE", "SOURCE", "ERROR")
	for _, r := range results {
		if r.Error != "" {
			failed++
		}
		if r.Error != "" || r.State != "CONFIGURED" {
			t.row(r.Key, a.paintState(r.State), r.Source, r.Error)
		}
	}
	if table && len(t.rows) > 1 {
		if err := t.write(a.Out); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d items failed", failed, len(results))
	}
	if table {
		_, err := fmt.Fprintln(a.Out, "OK")
		return err
	}
	return nil
}

// tellProblems writes all that is wrong with a document in the form of
// compilers.
func (a *app) tellProblems(file string, err error) error {
	var refused *client.ProblemsError
	if !errors.As(err, &refused) {
		return err
	}
	for _, p := range refused.Problems {
		fmt.Fprintf(a.Err, "%s:%d:%d: %s: %s\n", file, p.Line, p.Column, p.Path, p.Error)
	}
	return refusal(file, len(refused.Problems))
}

// refusal is the error of a file whose mistakes are told already.
func refusal(file string, mistakes int) error {
	if mistakes == 1 {
		return fmt.Errorf("%s is refused: 1 mistake", file)
	}
	return fmt.Errorf("%s is refused: %d mistakes", file, mistakes)
}
