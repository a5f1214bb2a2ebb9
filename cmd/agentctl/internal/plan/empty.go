package plan

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/outcome"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// Replacing are the options of a file that replaces what clients have given before.
type Replacing struct {
	Replace    bool
	AllowEmpty bool // the file may have no items, so that all are removed
}

// Define adds the flags of the options to a command.
func (r *Replacing) Define(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.Replace, "replace", false, "remove items that were given before and are not in the file")
	cmdutil.AllowEmptyFlag(cmd, &r.AllowEmpty, "with --replace, a file without items removes all that were given before")
}

// Check returns an error if a file without items would remove what clients have given before.
func (r *Replacing) Check(ctx context.Context, f *cmdutil.Factory, file string, text []byte) error {
	if !r.Replace || r.AllowEmpty || hasItems(f, file, text) {
		return nil
	}
	answer, err := f.Client.Plans.Make(ctx, client.PlanRequest{Document: string(text), Replace: true}, 1)
	if err != nil {
		return outcome.PrintProblems(f, file, err)
	}
	p, err := openPlan(answer)
	if err != nil {
		return err
	}
	return r.check(f, file, text, p)
}

// check is Check with the plan of the file.
func (r *Replacing) check(f *cmdutil.Factory, file string, text []byte, p *shownPlan) error {
	p.group()
	if !r.Replace || r.AllowEmpty || len(p.ItemCounts) == 0 || hasItems(f, file, text) {
		return nil
	}
	if file == "-" {
		file = "the standard input"
	}
	return cmdutil.LoseAll("the agent", file+" has none")
}

// hasItems reports whether a file has an item, or a mistake.
func hasItems(f *cmdutil.Factory, file string, text []byte) bool {
	doc := document.New(f.Models.Set()).WithSecrets(cmdutil.KeepHidden).Decode(file, text, "")
	return len(doc.Items) > 0 || len(doc.Errs) > 0
}
