package plan

import (
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
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
	// The items that are changed or left, and those of clients that the plan does not name; see
	// the orchestrator.
	Effects      []api.PlanItem
	ItemCounts   map[api.StepKind]int
	OmittedItems int
	Kept         int
	KeptItems    []string
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
	all := p.Changes.ByItem(0)
	all.Leave(p.Left, 0)
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
	w := planWriter{Factory: f, view: view, shown: map[api.StepKind]int{}}
	if view.derived {
		w.derived = derivedSteps(p.Changes)
	}
	hidden := p.OmittedItems
	for i := range p.Effects {
		if !w.item(&p.Effects[i]) {
			hidden++
		}
	}
	kept := ""
	if !view.part {
		kept = w.kept(p)
	}
	if w.lines.Len() == 0 {
		return f.Printf("nothing to do\n%s", kept)
	}
	if hidden > 0 {
		fmt.Fprintf(&w.lines, "and %s; --all shows them\n", items(hidden, "more item"))
	}
	return f.Printf("%s\n\n%s\n%s\n%s", fitted(legend, f.Term.Width), w.lines.String(), summary(p.ItemCounts, p.changes()), kept)
}

// derivedSteps returns the operations on derived values, by key of the item.
func derivedSteps(p *api.Plan) map[string][]api.PlanStep {
	steps := map[string][]api.PlanStep{}
	p.Steps(func(s api.PlanStep) {
		if s.Op.Base != "" {
			steps[s.Op.Base] = append(steps[s.Op.Base], s)
		}
	}, func(api.PlanReason) {})
	return steps
}

// namedKept is the number of items that are named as kept without --all.
const namedKept = 5

// kept names the items of clients that the plan does not name and that stay.
func (w *planWriter) kept(p *shownPlan) string {
	if p.Kept == 0 {
		return ""
	}
	is, stay, them := "are", "stay", "them"
	if p.Kept == 1 {
		is, stay, them = "is", "stays", "it"
	}
	named := p.KeptItems
	if w.view.perKind > 0 {
		named = named[:min(namedKept, len(named))]
	}
	names := make([]string, 0, len(named)+1)
	for _, key := range named {
		names = append(names, w.Models.ShortKey(key))
	}
	list := ""
	if more := p.Kept - len(named); len(named) > 0 && more > 0 {
		list = ": " + strings.Join(names, ", ") + " and " + output.Thousands(uint64(more)) + " more"
	} else if len(named) > 0 {
		list = ": " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s given before %s not in the file and %s (--replace removes %s)%s\n", items(p.Kept, "item"), is, stay, them, list)
}

// items returns "1 item" or "2 items".
func items(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return output.Thousands(uint64(n)) + " " + what
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

// planWriter writes the items of a plan.
type planWriter struct {
	*cmdutil.Factory
	view    planView
	derived map[string][]api.PlanStep // by key of the item; nil: only the parts that matter
	shown   map[api.StepKind]int
	lines   strings.Builder
}

// stepColours are the colours of operations; the others have none.
var stepColours = map[api.StepKind]output.Colour{
	api.StepCreate: output.Green, api.StepUpdate: output.Yellow, api.StepDelete: output.Red, api.StepRecreate: output.Magenta,
	api.StepWait: output.Cyan, api.StepDrop: output.Red, api.StepNever: output.Red,
}

// item writes an item, unless enough of its kind are shown; it reports whether it did.
func (w *planWriter) item(it *api.PlanItem) bool {
	if w.view.perKind > 0 && w.shown[it.Kind] >= int(w.view.perKind) {
		return false
	}
	w.shown[it.Kind]++
	reason := it.Reason
	if it.Kind == api.StepDrop {
		reason = "it does not exist"
	}
	state := ""
	if it.Kind == api.StepNever {
		state = it.State.String()
	}
	w.line("", it.Kind, it.Key, state, reason, it.Because)
	for i := range it.Fields {
		w.field(&it.Fields[i])
	}
	w.parts(it)
	return true
}

// line writes the line of a value, after an indent.
func (w *planWriter) line(indent string, kind api.StepKind, key, state, reason string, because *api.PlanCause) {
	line := fmt.Sprintf("%3s %s", kind, w.Models.ShortKey(key))
	if c, ok := stepColours[kind]; ok {
		line = w.Paint(c, line)
	}
	if state != "" {
		line += " " + state
	}
	if reason != "" {
		line += ": " + w.Models.ShortText(reason)
	}
	if because != nil {
		line += w.Paint(output.Magenta, "  # because "+w.Models.ShortText(because.Text()))
	}
	w.lines.WriteString(indent + line + "\n")
}

// partIndent aligns the signs of derived values with those of fields.
const partIndent = "    "

// parts writes the derived values of an item: all of them, or those that matter.
func (w *planWriter) parts(it *api.PlanItem) {
	if w.view.derived {
		because := map[string]*api.PlanCause{}
		for i := range it.Parts {
			because[it.Parts[i].Key] = it.Parts[i].Because
		}
		for _, s := range w.derived[it.Key] {
			w.line(partIndent, s.Kind, s.Op.Key, "", s.Reason, because[s.Op.Key])
		}
		return
	}
	for i := range it.Parts {
		p := &it.Parts[i]
		w.line(partIndent, p.Kind, p.Key, "", p.Reason, p.Because)
	}
	if it.OmittedParts > 0 {
		fmt.Fprintf(&w.lines, "%s    and %s more\n", partIndent, output.Thousands(uint64(it.OmittedParts)))
	}
}

// summary counts the items: "3 items to change (7 operations): 2 to create, 1 to delete".
func summary(counts map[api.StepKind]int, operations int) string {
	changed, kinds := 0, []string{}
	for _, m := range []struct {
		kind api.StepKind
		what string
	}{
		{api.StepCreate, "to create"}, {api.StepUpdate, "to update"}, {api.StepDelete, "to delete"}, {api.StepRecreate, "to create again"},
	} {
		if n := counts[m.kind]; n > 0 {
			changed += n
			kinds = append(kinds, output.Thousands(uint64(n))+" "+m.what)
		}
	}
	var parts []string
	ops := fmt.Sprintf(" (%s)", items(operations, "operation"))
	if len(kinds) == 1 {
		_, what, _ := strings.Cut(kinds[0], " ")
		parts = append(parts, items(changed, "item")+" "+what+ops)
	} else if len(kinds) > 1 {
		parts = append(parts, items(changed, "item")+" to change"+ops+": "+strings.Join(kinds, ", "))
	}
	for _, m := range []struct {
		kind api.StepKind
		what string
	}{
		{api.StepWait, "waiting"}, {api.StepDrop, "no longer configured"}, {api.StepNever, "that cannot become CONFIGURED"}, {api.StepLeft, "left as is"},
	} {
		if n := counts[m.kind]; n > 0 {
			parts = append(parts, items(n, "item")+" "+m.what)
		}
	}
	return strings.Join(parts, "; ")
}

// field writes a changed field; it marks one for which the item is created again.
func (w *planWriter) field(c *api.FieldChange) {
	switch {
	case c.Secret:
		w.change(c, "a secret differs")
	case len(c.Removed)+len(c.Added) > 0:
		w.list(c)
	case c.Kind == api.StepDelete:
		w.change(c, c.Old)
	case c.Kind == api.StepCreate:
		w.change(c, c.New)
	default:
		w.change(c, c.Old+" -> "+c.New)
	}
}

// shownElements is the number of elements of a list that are written in one line.
const shownElements = 6

// list writes the elements that a list loses and gets: in one line, or in one for each.
func (w *planWriter) list(c *api.FieldChange) {
	one := len(c.Removed)+len(c.Added) <= shownElements
	var parts []string
	for _, m := range []struct {
		kind  api.StepKind
		texts []string
	}{{api.StepDelete, c.Removed}, {api.StepCreate, c.Added}} {
		for _, text := range m.texts {
			if one {
				parts = append(parts, string(m.kind)+" "+text)
				continue
			}
			w.change(&api.FieldChange{Kind: m.kind, Path: c.Path, Forces: c.Forces}, text)
		}
	}
	if one {
		w.change(c, strings.Join(parts, " "))
	}
}

func (w *planWriter) change(c *api.FieldChange, text string) {
	w.lines.WriteString("      " + w.Paint(stepColours[c.Kind], string(c.Kind)+" "+c.Path+": "+text))
	if c.Forces {
		w.lines.WriteString(w.Paint(output.Magenta, "  # forces re-creation"))
	}
	w.lines.WriteByte('\n')
}
