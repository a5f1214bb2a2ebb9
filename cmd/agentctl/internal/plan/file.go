package plan

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/outcome"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// savedPlan is the content of a plan file: the request, and the fingerprint of
// its effects. The agent plans again before it applies the request.
type savedPlan struct {
	Request     client.PlanRequest
	Fingerprint string
}

// filePlan is a plan that can be shown and applied.
type filePlan struct {
	shown []byte // without secrets unless they are requested
	savedPlan
	refused int // items that VPP or Linux are going to refuse
}

// save writes the plan file, which only its owner can read.
func (p *filePlan) save(name string) error {
	text, err := api.SealPlan(&p.savedPlan)
	if err != nil {
		return err
	}
	return cmdutil.WritePrivate(name, text)
}

// applyPlan applies a plan and prints the result.
func applyPlan(ctx context.Context, f *cmdutil.Factory, p *filePlan, o client.ApplyOptions, wait bool) error {
	if wait {
		o.Wait = f.Flags.WaitTime()
	}
	applied, err := cmdutil.Progressing(ctx, f, func() (response.Applied, error) {
		return f.Client.Plans.Apply(ctx, p.Request, p.Fingerprint, o)
	})
	return printApplied(f, applied, err, wait)
}

// planToApply reads a plan file, or plans a configuration file and shows the plan. It
// asks on a terminal, unless yes. part: the file has a part of the configuration only. Nil: there is nothing to do, or the user said no.
func planToApply(f *cmdutil.Factory, cmd *cobra.Command, file string, replacing Replacing, yes, part bool) (*filePlan, error) {
	text, err := cmdutil.ReadDocument(cmd, file)
	if err != nil {
		return nil, err
	}
	if isPlan(text) {
		return openSaved(file, text, replacing)
	}
	view := planView{perKind: shownPerKind, part: part}
	p, err := planText(cmd.Context(), f, file, text, replacing, view)
	if err != nil {
		return nil, err
	}
	err = showPlan(f, p.shown, view)
	if err != nil && !exit.IsFinding(err) {
		return nil, err
	}
	if err == nil || yes || !f.Interactive() || file == "-" {
		return p, nil
	}
	if ok, err := f.Ask(cmd.InOrStdin(), "Apply these changes?"); !ok || err != nil {
		return nil, err
	}
	return p, nil
}

// isPlan reports whether the text of a file is a saved plan.
func isPlan(text []byte) bool {
	sealed := api.SealedPlan{}
	return json.Unmarshal(text, &sealed) == nil && sealed.Plan != nil
}

// openSaved reads a saved plan.
func openSaved(file string, text []byte, replacing Replacing) (*filePlan, error) {
	if replacing.Replace {
		return nil, exit.Usagef("--replace: %s is a saved plan, which is applied as it is", file)
	}
	p := &filePlan{}
	if err := api.OpenPlan(text, &p.savedPlan); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if p.Fingerprint == "" {
		return nil, fmt.Errorf("%s: %w: it has no fingerprint", file, api.ErrPlanDamaged)
	}
	return p, nil
}

// planText plans the text of a configuration file.
func planText(ctx context.Context, f *cmdutil.Factory, file string, document []byte, replacing Replacing, view planView) (p *filePlan, err error) {
	p = &filePlan{savedPlan: savedPlan{Request: client.PlanRequest{Document: string(document), Replace: replacing.Replace}}}
	if p.shown, err = f.Client.Plans.Make(ctx, p.Request, view.atMost()); err != nil {
		return nil, outcome.PrintProblems(f, file, err)
	}
	plan, err := openPlan(p.shown)
	if err != nil {
		return nil, err
	}
	if err := replacing.check(f, file, document, plan); err != nil {
		return nil, err
	}
	p.refused = outcome.PrintPredictions(f, file, plan.Findings)
	p.Fingerprint = plan.Fingerprint
	return p, nil
}
