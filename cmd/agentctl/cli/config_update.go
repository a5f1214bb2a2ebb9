package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

func (a *app) configUpdate() *cobra.Command {
	var o client.ChangeOptions
	var wait bool
	cmd := a.formatted(&cobra.Command{
		Use:   "update FILE",
		Short: "Add or change items of the configuration",
		Long: "Adds or changes the items of a file in YAML or JSON (\"-\" is the standard input).\n" +
			"A file with mistakes is refused as a whole.\n\n" + effectCodes,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readDocument(cmd, args[0])
			if err != nil {
				return err
			}
			if wait {
				o.Wait = a.patience()
			}
			outcome, err := progressing(cmd.Context(), a, func() (*response.Outcome, error) { return a.client.UpdateConfiguration(cmd.Context(), text, o) })
			if outcome == nil {
				return a.tellProblems(args[0], err)
			}
			if a.format != "" {
				if werr := a.write(a.format, outcome.Results); werr != nil {
					return werr
				}
			}
			return a.tellOutcome(outcome, err, wait, a.format == "")
		},
	})
	cmd.Flags().BoolVar(&o.Replace, "replace", false, "remove items that were given before and are not in the file")
	cmd.Flags().StringVar(&o.Labels, "labels", fromAgentctl, "`labels` of the items, as in team=blue,owner")
	cmd.Flags().DurationVarP(&a.global.timeout, "timeout", "t", defaultTimeout, "request timeout (0 disables it)") // which is that of all commands
	waitFlag(cmd, &wait)
	return cmd
}

// fromAgentctl is the label that the predecessor's agentctl gives to items.
const fromAgentctl = "io.ligato.from-client=agentctl"

func (a *app) configValidate() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Say what is wrong with a file, without changing anything",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readDocument(cmd, args[0])
			if err != nil {
				return err
			}
			if err := a.client.ValidateConfiguration(cmd.Context(), text); err != nil {
				return a.tellProblems(args[0], err)
			}
			return a.printf("OK\n")
		},
	}
}

func readDocument(cmd *cobra.Command, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(cmd.InOrStdin())
	}
	return os.ReadFile(name)
}

// tellProblems prints all errors in a document in the format of compilers.
func (a *app) tellProblems(file string, err error) error {
	if errs := a.problems(file, err); errs != nil {
		return a.tellErrors(file, errs)
	}
	return err
}

// problems returns the errors of a document that the agent refused; nil for another error.
func (a *app) problems(file string, err error) (errs []*document.Error) {
	var refused *client.ProblemsError
	if !errors.As(err, &refused) {
		return nil
	}
	for _, p := range refused.Problems {
		errs = append(errs, &document.Error{Position: document.Position{File: file, Line: p.Line, Column: p.Column}, Field: a.shortText(p.Path), Msg: p.Error})
	}
	return errs
}

// tellErrors prints the errors in a document; nil if there are none.
func (a *app) tellErrors(file string, errs []*document.Error) error {
	for _, err := range errs {
		fmt.Fprintln(a.Err, err)
	}
	if len(errs) == 0 {
		return nil
	}
	return refusal(file, len(errs))
}

// refusal is the error of a file whose errors have been printed.
func refusal(file string, mistakes int) error {
	if mistakes == 1 {
		return fmt.Errorf("%s is refused: 1 mistake", file)
	}
	return fmt.Errorf("%s is refused: %d mistakes", file, mistakes)
}
