package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
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
	refused int    // items that VPP or Linux are going to refuse
	full    []byte // the plan of an agent without fingerprints; nil for others
}

// save writes the plan file, which only its owner can read.
func (p *filePlan) save(name string) error {
	text, err := p.full, error(nil)
	if text == nil {
		text, err = api.SealPlan(&p.savedPlan)
	}
	if err != nil {
		return err
	}
	return writePrivate(name, text)
}

// applyPlan applies a plan and prints the result.
func (a *app) applyPlan(ctx context.Context, p *filePlan, o client.ApplyOptions, wait bool) error {
	if wait {
		o.Wait = a.patience()
	}
	applied, err := progressing(ctx, a, func() (response.Applied, error) {
		if p.full != nil {
			return a.client.Apply(ctx, p.full, o)
		}
		return a.client.ApplyRequest(ctx, p.Request, p.Fingerprint, o)
	})
	return a.tellApplied(applied, err, wait)
}

// planToApply reads a plan file, or plans a configuration file and shows the plan. It
// asks on a terminal, unless yes; nil: there is nothing to do, or the user said no.
func (a *app) planToApply(cmd *cobra.Command, file string, replace, yes bool) (*filePlan, error) {
	text, err := readDocument(cmd, file)
	if err != nil {
		return nil, err
	}
	if sealed := (api.SealedPlan{}); json.Unmarshal(text, &sealed) == nil && sealed.Plan != nil {
		if replace {
			return nil, usage("--replace: %s is a saved plan, which is applied as it is", file)
		}
		return openFile(file, text)
	}
	view := planView{perKind: shownPerKind}
	p, err := a.planText(cmd.Context(), file, text, replace, true, view)
	if err != nil {
		return nil, err
	}
	err = a.showPlan(p.shown, view)
	if err != nil && !errors.As(err, &findingError{}) {
		return nil, err
	}
	if err == nil || yes || !a.interactive() || file == "-" {
		return p, nil
	}
	if ok, err := a.ask(cmd.InOrStdin(), "Apply these changes?"); !ok || err != nil {
		return nil, err
	}
	return p, nil
}

// openFile reads a plan file.
func openFile(file string, text []byte) (*filePlan, error) {
	p := &filePlan{}
	if err := api.OpenPlan(text, &p.savedPlan); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if p.Fingerprint == "" {
		p.full = text // the plan of an agent without fingerprints
	}
	return p, nil
}

// planText plans the text of a configuration file; apply: the plan will be applied or
// saved.
func (a *app) planText(ctx context.Context, file string, document []byte, replace, apply bool, view planView) (p *filePlan, err error) {
	p = &filePlan{savedPlan: savedPlan{Request: client.PlanRequest{Document: string(document), Replace: replace}}}
	if p.shown, err = a.client.Plan(ctx, p.Request, view.atMost()); err != nil {
		return nil, a.tellProblems(file, err)
	}
	plan, err := openPlan(p.shown)
	if err != nil {
		return nil, err
	}
	p.refused = a.tellPredictions(file, plan.Findings)
	if p.Fingerprint = plan.Fingerprint; p.Fingerprint != "" || !apply {
		return p, nil
	}
	p.full = p.shown
	if plan.Changes.Hidden {
		p.full, err = a.client.WithSecrets().Plan(ctx, p.Request, view.atMost())
	}
	return p, err
}

// writePrivate writes a file that may contain secrets: only its owner can read it,
// even if the file existed with other permissions.
func writePrivate(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err = f.Chmod(0o600); err == nil {
		_, err = f.Write(data)
	}
	return errors.Join(err, f.Close())
}
