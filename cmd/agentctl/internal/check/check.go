// Package check has the command that checks a file without an agent.
package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/outcome"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/custommodel"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

type options struct {
	*cmdutil.Factory
	file, modelsFile string
	program          cmdutil.Program
	assumeLinks      bool
}

// New returns the command "check".
func New(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	cmd := &cobra.Command{
		Use:   "check [-f] FILE",
		Short: "Say what is wrong with a file, without an agent",
		Long: "Makes the program vpp-agent apply a file to a VPP and a Linux that it simulates: everything is\n" +
			"validated as an agent does, and references between items are followed. Nothing else is\n" +
			"asked or changed.\n\n" +
			"The program is next to agentctl, or else in PATH. --program names another one: an agent with models and\n" +
			"plugins of its own that is built with app.New, as vpp-agent is. Its own plugins are not simulated: they run\n" +
			"with their default configuration. With --models, vpp-agent checks the items of models that it does not have by\n" +
			"their schema only; \"model export\" prints the models of an agent.\n\n" +
			"What VPP or Linux will refuse or break although each item is valid, such as overlapping addresses,\n" +
			"is an error; what is legal but likely a mistake is a warning, with exit code 0. The\n" +
			"constraints are in docs/reference/constraints.md.\n\n" +
			"Items that only wait for another item of the file are counted at that item; -o json lists them. The first 100\n" +
			"findings are printed, with -o json 1,000, and the others are counted; the verdict counts all.\n\n" +
			"The exit code is 1 if there are mistakes, and 2 if items only wait for something that is not\n" +
			"in the file, such as an interface that the real VPP or Linux may have; --assume-links is for the\n" +
			"links of the host. With -o json the output is a list of what was found, with the line and the column;\n" +
			"the last elements have the number of other findings in \"more\".",
		Example: "  agentctl check net.yaml\n  agentctl check --assume-links net.yaml\n  agentctl check net.yaml -o json\n  agentctl model export > models.json && agentctl check --models models.json net.yaml\n" +
			"  agentctl check --program ./my-agent net.yaml",
		Args: cmdutil.Args(cobra.MaximumNArgs(1)),
		RunE: o.run,
	}
	cmdutil.FileFlag(cmd, &o.file)
	o.program.Flag(cmd)
	cmd.Flags().StringVar(&o.modelsFile, "models", "", "`file` with the models of an agent, as \"model export\" prints them")
	cmd.Flags().BoolVar(&o.assumeLinks, "assume-links", false, "assume that the host has the links that items of the file wait for, such as host interfaces of AF_PACKET interfaces")
	return cmdutil.OnTargets(f.Formatted(cmd), cmdutil.NoTarget)
}

func (o *options) run(cmd *cobra.Command, args []string) error {
	file, text, err := cmdutil.ReadOnlyFile(cmd, o.file, args)
	if err != nil {
		return err
	}
	o.Models.Use(allmodels.MustSet())
	if o.modelsFile != "" {
		set, _, err := custommodel.ReadFile(o.modelsFile)
		if err != nil {
			return fmt.Errorf("--models: %w", err)
		}
		o.Models.Use(set)
		if errs := document.New(set).Decode(file, text, "").Errs; len(errs) > 0 { // the simulated agent has more models
			return o.refuse(file, errs)
		}
	}
	checked, err := o.apply(cmd.Context(), text)
	if err != nil {
		return err
	}
	if checked.Models != nil && o.modelsFile == "" {
		set, _, err := custommodel.Set(*checked.Models)
		if err != nil {
			return err
		}
		o.Models.Use(set)
	}
	errs := outcome.Problems(o.Factory, file, &client.ProblemsError{Problems: checked.Problems})
	if o.modelsFile == "" && slices.ContainsFunc(errs, isUnknownGroup) {
		defer fmt.Fprintln(o.Err, "For models that vpp-agent does not have: --program, or agentctl model export > models.json && agentctl check --models models.json")
	}
	return o.printChecked(file, text, errs, checked)
}

// isUnknownGroup reports whether an error is about a group of items that
// vpp-agent does not have, such as the group of a model of another agent.
func isUnknownGroup(e *document.Error) bool {
	return strings.HasSuffix(e.Field, "Config") && !strings.Contains(e.Field, ".")
}

// refuse prints the errors in a file that was not applied.
func (o *options) refuse(file string, errs []*document.Error) error {
	r := report{file: file}
	for _, e := range errs {
		e.Msg = o.Models.ShortText(e.Msg)
	}
	r.addErrors(errs)
	return o.print(&r, outcome.Refusal(file, outcome.Count(errs)))
}

// printChecked prints the errors in a file, and the items that are not in effect, with their positions.
func (o *options) printChecked(file string, text []byte, errs []*document.Error, checked response.Checked) error {
	applied := checked.Outcome
	if applied == nil {
		applied = &response.Outcome{Summary: &response.Summary{}}
	}
	doc := document.New(o.Models.Set()).Decode(file, text, "")
	why, locator := newCauses(o.Models.Set(), doc, checked.Problems, applied.Results), &document.Locator{Text: text}
	out := report{file: file}
	out.addErrors(errs)
	predicted := o.predicted(file, doc, locator)
	out.add(predicted.list...)
	waiting, wrong := 0, outcome.Count(errs)+predicted.mistakes
	constrained := map[place]bool{}
	for _, f := range predicted.list {
		constrained[placeOf(f)] = true
	}
	for i := range applied.Results {
		r := &applied.Results[i]
		switch pending := r.State == "PENDING"; {
		case pending && why.broken[why.because[r.Key]], !pending && predicted.involves(r.Key):
			continue // the mistake or the constraint says why
		case pending:
			waiting++
		default:
			wrong++
		}
		found := o.notInEffect(why, file, locator, r)
		out.add(slices.DeleteFunc(found, func(f outcome.Finding) bool { return constrained[placeOf(f)] })...)
	}
	failed, pending := omitted(applied, predicted)
	out.more[mistakes] += failed
	out.more[waits] += pending
	wrong, waiting = wrong+failed, waiting+pending
	if wrong+waiting == 0 {
		return errors.Join(o.print(&out, nil), o.printOK(applied.Summary.Items, predicted.warnings))
	}
	return o.print(&out, o.verdict(file, wrong, waiting, applied))
}

// omitted returns the number of items that failed and that wait among those that are not in the results,
// because there are too many. Constraints explain as many of the failures as they can.
func omitted(applied *response.Outcome, predicted *predictions) (failed, pending int) {
	if applied.Omitted == 0 {
		return 0, 0
	}
	pending, explained := applied.Summary.States["PENDING"], predicted.count()
	for _, r := range applied.Results {
		if r.State == "PENDING" {
			pending--
		}
		if predicted.involves(r.Key) {
			explained--
		}
	}
	return max(0, applied.Omitted-pending-explained), pending
}

// verdict is the verdict about a file with mistakes, or with items that wait.
func (o *options) verdict(file string, wrong, waiting int, applied *response.Outcome) error {
	waits := fmt.Sprintf("%d of %d items wait for what is not in it%s", waiting, applied.Summary.Items, o.linksHint(applied.Results))
	switch {
	case wrong == 0:
		return exit.Findingf("%s is valid; %s", file, waits)
	case waiting == 0:
		return outcome.Refusal(file, wrong)
	}
	return fmt.Errorf("%w; %s", outcome.Refusal(file, wrong), waits)
}

// printOK prints the verdict about a file whose items would all be in effect.
func (o *options) printOK(items, warnings int) error {
	switch {
	case o.Format != "":
		return nil
	case warnings > 0:
		return o.Printf("OK: %d items, %d with a likely mistake\n", items, warnings)
	}
	return o.Printf("OK: %d items\n", items)
}

// place is where a finding is.
type place struct {
	key          string
	line, column int
}

func placeOf(f outcome.Finding) place { return place{f.Key, f.Line, f.Column} }

// linksHint says how to check a file for a host whose links it uses.
func (o *options) linksHint(results []response.Item) string {
	if links := hostLinks(results); len(links) > 0 && !o.assumeLinks {
		return "; --assume-links assumes that the host has " + strings.Join(links, ", ")
	}
	return ""
}
