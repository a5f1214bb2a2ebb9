package plan

import (
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/effects"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/outcome"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// shownPlan is a plan of the agent.
type shownPlan struct {
	Source  string
	Items   []api.RecordedKVPair
	Left    []api.PlanReason
	Changes *api.Plan

	Findings []response.Finding
	// The items of the plan, and the items of clients that are not in the file and stay; see
	// response.Plan of the orchestrator.
	Effects      []api.PlanItem
	ItemCounts   map[api.StepKind]int
	OmittedItems int
	Kept         int
	KeptItems    []string
	Overrides    []response.Override
	Overridden   int
	// The fields of a plan by reference; see the orchestrator.
	Fingerprint string
	Changed     int
}

// changes returns the number of operations that change something.
func (p *shownPlan) changes() int {
	if p.Fingerprint != "" {
		return p.Changed
	}
	return len(p.Changes.Changes())
}

func openPlan(text []byte) (*shownPlan, error) {
	var p shownPlan
	if err := api.OpenPlan(text, &p); err != nil {
		return nil, err
	}
	if p.Changes == nil {
		return nil, fmt.Errorf("%w: it has no changes", api.ErrPlanDamaged)
	}
	return &p, nil
}

// group groups the operations of a plan of an earlier release of the agent by item.
func (p *shownPlan) group() {
	if p.Effects != nil {
		return
	}
	all := p.Changes.ByItem(0, p.Left)
	api.DescribeItems(all.List)
	p.Effects, p.ItemCounts = all.List, all.Counts
}

// planView says how a plan is printed.
type planView struct {
	perKind uint // show so many items of each kind at most; 0 is all
	derived bool // show the operations on derived values
	part    bool // the plan is of a few items, so that others stay is no news
}

// shownPerKind is the default of planView.perKind.
const shownPerKind = 50

// atMost returns the number of items and operations that the agent needs to send.
func (v planView) atMost() uint {
	if v.perKind == 0 {
		return 0
	}
	return max(1000, 20*v.perKind)
}

// printPlan prints the items with their changed fields.
func printPlan(f *cmdutil.Factory, p *shownPlan, view planView) error {
	p.group()
	w := effects.Writer{Factory: f, PerKind: view.perKind, Rest: "--all shows them"}
	if view.derived {
		w.Derived = derivedSteps(p.Changes)
	}
	notes := outcome.Overriding(f, "will override", p.Overrides, p.Overridden)
	if !view.part {
		notes += p.kept(f, view)
	}
	lines := w.Write(p.Effects, p.OmittedItems)
	if lines == "" {
		return f.Printf("nothing to do\n%s", notes)
	}
	return f.Printf("%s\n\n%s\n%s\n%s", fitted(effects.Legend, f.Term.Width), lines, effects.Planned.Summary(p.ItemCounts, p.changes()), notes)
}

// derivedSteps returns the operations on derived values, by key of the item.
func derivedSteps(p *api.Plan) map[string][]api.PlanStep {
	steps := map[string][]api.PlanStep{}
	p.Steps(func(s api.PlanStep) {
		if s.Op.Base != "" {
			if s.Kind == api.StepDelete && s.Reason != "" { // it waits afterwards
				s.Kind = api.StepWithdraw
			}
			steps[s.Op.Base] = append(steps[s.Op.Base], s)
		}
	}, func(api.PlanReason) {})
	return steps
}

// namedKept is the number of items that are named as kept without --all.
const namedKept = 5

// kept names the items of clients that the plan does not name and that stay.
func (p *shownPlan) kept(f *cmdutil.Factory, view planView) string {
	if p.Kept == 0 {
		return ""
	}
	is, stay, them := "are", "stay", "them"
	if p.Kept == 1 {
		is, stay, them = "is", "stays", "it"
	}
	named := p.KeptItems
	if view.perKind > 0 {
		named = named[:min(namedKept, len(named))]
	}
	names := make([]string, 0, len(named)+1)
	for _, key := range named {
		names = append(names, f.Models.ShortKey(key))
	}
	list := ""
	if more := p.Kept - len(named); len(named) > 0 && more > 0 {
		list = ": " + strings.Join(names, ", ") + " and " + output.Thousands(uint64(more)) + " more"
	} else if len(named) > 0 {
		list = ": " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s given before %s not in the file and %s (--replace removes %s)%s\n", effects.Count(p.Kept, "item"), is, stay, them, list)
}

// fitted breaks a legend between its parts, so that no line is longer than limit; 0 is no
// limit.
func fitted(legend string, limit int) string {
	lines := []string{""}
	for _, part := range strings.Split(legend, output.ColumnGap) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = part
		case limit > 0 && output.Width(*last)+len(output.ColumnGap)+output.Width(part) > limit:
			lines = append(lines, part)
		default:
			*last += output.ColumnGap + part
		}
	}
	return strings.Join(lines, "\n")
}
