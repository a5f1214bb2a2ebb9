// Package check has the command that checks a file without an agent.
package check

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/outcome"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/custommodel"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

type options struct {
	*cmdutil.Factory
	file, modelsFile, program string
	assumeLinks               bool
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
			"Items that only wait for another item of the file are counted at that item; -o json lists all.\n\n" +
			"The exit code is 1 if there are mistakes, and 2 if items only wait for something that is not\n" +
			"in the file, such as an interface that the real VPP or Linux may have; --assume-links is for the\n" +
			"links of the host. With -o json the output is a list of what was found, with the line and the column.",
		Example: "  agentctl check net.yaml\n  agentctl check --assume-links net.yaml\n  agentctl check net.yaml -o json\n  agentctl model export > models.json && agentctl check --models models.json net.yaml\n" +
			"  agentctl check --program ./my-agent net.yaml",
		Args: cmdutil.Args(cobra.MaximumNArgs(1)),
		RunE: o.run,
	}
	cmdutil.FileFlag(cmd, &o.file)
	cmd.Flags().StringVar(&o.program, "program", "", "`file` with the program of the agent (default: vpp-agent next to agentctl, or in PATH)")
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
	return o.printFindings(findingsOf(errs), outcome.Refusal(file, len(errs)))
}

func findingsOf(errs []*document.Error) []outcome.Finding {
	list := make([]outcome.Finding, 0, len(errs))
	for _, e := range errs {
		list = append(list, outcome.Finding{File: e.File, Line: e.Line, Column: e.Column, Field: e.Field, Message: e.Msg, Text: e.Error()})
	}
	return list
}

// printFindings prints findings and returns the verdict.
func (o *options) printFindings(list []outcome.Finding, verdict error) error {
	return errors.Join(output.Show(o.Printer, list, func(list []outcome.Finding) error {
		common := map[string]int{} // number of findings
		for _, f := range list {
			if f.Because != "" {
				continue
			}
			if common[f.Common]++; f.Common == "" || common[f.Common] <= outcome.MaxPerReason {
				fmt.Fprintln(o.Err, f.Text)
			}
		}
		for _, what := range slices.Sorted(maps.Keys(common)) {
			if more := common[what] - outcome.MaxPerReason; more > 0 && what != "" {
				fmt.Fprintf(o.Err, "and %d more: %s\n", more, what)
			}
		}
		return nil
	}), verdict)
}

// printChecked prints the errors in a file, and the items that are not in effect, with their positions.
func (o *options) printChecked(file string, text []byte, errs []*document.Error, checked response.Checked) error {
	applied := checked.Outcome
	if applied == nil {
		applied = &response.Outcome{Summary: &response.Summary{}}
	}
	doc := document.New(o.Models.Set()).Decode(file, text, "")
	why, locator := newCauses(o.Models.Set(), doc, checked.Problems, applied.Results), &document.Locator{Text: text}
	list := findingsOf(errs)
	predicted, refused := o.predicted(file, doc, locator)
	waiting, warnings, wrong := 0, 0, len(errs)
	constrained := map[place]bool{}
	for _, f := range predicted {
		constrained[placeOf(f)] = true
		if f.Level == outcome.Warning {
			warnings++
			continue
		}
		wrong++
		refused[f.Other] = true // one of the two is refused; which of them depends on the order
	}
	list = append(list, predicted...)
	for i := range applied.Results {
		r := &applied.Results[i]
		switch pending := r.State == "PENDING"; {
		case pending && why.broken[why.because[r.Key]], !pending && refused[r.Key]:
			continue // the mistake or the constraint says why
		case pending:
			waiting++
		default:
			wrong++
		}
		found := o.notInEffect(why, file, locator, r)
		list = append(list, slices.DeleteFunc(found, func(f outcome.Finding) bool { return constrained[placeOf(f)] })...)
	}
	if applied.Omitted > 0 {
		return o.printFindings(list, fmt.Errorf("%s: %s", file, o.Models.ShortText(applied.Summary.Text)))
	}
	if wrong+waiting == 0 {
		return errors.Join(o.printFindings(list, nil), o.printOK(applied.Summary.Items, warnings))
	}
	return o.printFindings(list, o.verdict(file, wrong, waiting, applied))
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
