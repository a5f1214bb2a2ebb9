package plan

import (
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/fields"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// legend explains the marks of printPlan.
const legend = "+ create   ~ update   - delete   -/+ delete and create again   ? waits   x no longer configured   ! cannot become CONFIGURED   = left as it is"

// shownPlan is a plan of the agent.
type shownPlan struct {
	Source  string
	Items   []api.RecordedKVPair
	Left    []api.PlanReason
	Changes *api.Plan

	Findings []response.Finding
	// The fields of a plan by reference; see the orchestrator.
	Fingerprint      string
	Counts           map[api.StepKind]int
	Changed, Omitted int
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

// planView says how a plan is printed.
type planView struct {
	perKind uint // show so many operations of each kind at most; 0 is all
}

// shownPerKind is the default of planView.perKind.
const shownPerKind = 50

// atMost returns the number of operations that the agent needs to send.
func (v planView) atMost() uint {
	if v.perKind == 0 {
		return 0
	}
	return max(1000, 20*v.perKind)
}

// printPlan prints the operations with the changed fields of values.
func printPlan(f *cmdutil.Factory, p *shownPlan, view planView) error {
	w := planWriter{Factory: f, view: view, counts: map[api.StepKind]int{}}
	left := p.Left
	p.Changes.Steps(func(s api.PlanStep) { w.step(s) },
		func(r api.PlanReason) { left = append(left, r) })
	for _, left := range left {
		w.step(api.PlanStep{Kind: api.StepLeft, Op: &api.RecordedTxnOp{Key: left.Key}, Reason: left.Reason})
	}
	if p.Omitted > 0 {
		w.counts = p.Counts
	}
	if w.lines.Len() == 0 {
		return f.Printf("nothing to do\n")
	}
	if hidden := w.hidden(); hidden > 0 {
		fmt.Fprintf(&w.lines, "and %s more; --all shows them\n", output.Thousands(uint64(hidden)))
	}
	return f.Printf("%s\n\n%s\n%s\n", fitted(legend, f.Term.Width), w.lines.String(), summary(w.counts))
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

// planWriter writes the operations of a plan.
type planWriter struct {
	*cmdutil.Factory
	view   planView
	counts map[api.StepKind]int // of all operations
	shown  int
	lines  strings.Builder
}

// hidden returns the number of operations that are counted and not shown.
func (w *planWriter) hidden() (n int) {
	for _, count := range w.counts {
		n += count
	}
	return n - w.shown
}

// stepColours are the colours of operations; the others have none.
var stepColours = map[api.StepKind]output.Colour{
	api.StepCreate: output.Green, api.StepUpdate: output.Yellow, api.StepDelete: output.Red, api.StepRecreate: output.Magenta,
	api.StepWait: output.Cyan, api.StepDrop: output.Red, api.StepNever: output.Red,
}

func (w *planWriter) step(s api.PlanStep) {
	w.counts[s.Kind]++
	if w.view.perKind > 0 && w.counts[s.Kind] > int(w.view.perKind) {
		return
	}
	w.shown++
	line := fmt.Sprintf("%3s %s", s.Kind, w.Models.ShortKey(s.Op.Key))
	if c, ok := stepColours[s.Kind]; ok {
		line = w.Paint(c, line)
	}
	w.lines.WriteString(line)
	if s.Op.IsDerived {
		w.lines.WriteString(" (derived)")
	}
	if s.Kind == api.StepNever {
		w.lines.WriteString(" " + s.Op.NewState.String())
	}
	if s.Reason != "" {
		w.lines.WriteString(": " + w.Models.ShortText(s.Reason))
	}
	if s.Kind == api.StepDrop {
		w.lines.WriteString(": it does not exist")
	}
	w.lines.WriteByte('\n')
	if s.Kind == api.StepLeft || s.Op.Operation == kvscheduler.TxnOperation_DELETE {
		return
	}
	w.diff(&s)
}

// summary counts the operations: "2 to create, 1 to delete".
func summary(counts map[api.StepKind]int) string {
	var parts []string
	for _, m := range []struct {
		kind api.StepKind
		what string
	}{
		{api.StepCreate, "to create"}, {api.StepUpdate, "to update"}, {api.StepDelete, "to delete"}, {api.StepRecreate, "to create again"},
		{api.StepWait, "waiting"}, {api.StepDrop, "no longer configured"}, {api.StepNever, "that cannot become CONFIGURED"}, {api.StepLeft, "left as they are"},
	} {
		if n := counts[m.kind]; n > 0 {
			parts = append(parts, output.Thousands(uint64(n))+" "+m.what)
		}
	}
	return strings.Join(parts, ", ")
}

// diff writes the differing fields, one per line.
func (w *planWriter) diff(s *api.PlanStep) {
	for _, c := range fields.Diff(fields.Of(s.Before), fields.Of(s.Op.NewValue)) {
		w.change(c, s.Forces(c.Path))
	}
	lacked, lacks := strings.Join(api.Unmodeled(s.Before), ", "), strings.Join(api.Unmodeled(s.Op.NewValue), ", ")
	if lacked != lacks {
		w.change(fields.Change{Path: api.UnmodeledField, Old: lacked, New: lacks, Had: lacked != "", Has: lacks != ""}, s.Forces(api.UnmodeledField))
	}
	for _, path := range s.Secrets {
		w.field(output.Yellow, "~", path+": a secret differs", s.Forces(path))
	}
}

func (w *planWriter) change(c fields.Change, forces bool) {
	switch {
	case !c.Has:
		w.field(output.Red, "-", c.Path+": "+c.Old, forces)
	case !c.Had:
		w.field(output.Green, "+", c.Path+": "+c.New, forces)
	default:
		w.field(output.Yellow, "~", c.Path+": "+c.Old+" -> "+c.New, forces)
	}
}

// field writes a changed field; forces marks one for which the value is created again.
func (w *planWriter) field(c output.Colour, sign, text string, forces bool) {
	w.lines.WriteString("      " + w.Paint(c, sign+" "+text))
	if forces {
		w.lines.WriteString(w.Paint(output.Magenta, "  # forces re-creation"))
	}
	w.lines.WriteByte('\n')
}
