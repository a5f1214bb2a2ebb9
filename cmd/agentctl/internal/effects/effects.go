// Package effects prints what a plan would do, or a transaction did, by item.
package effects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Legend explains the signs of items.
const Legend = "+ create   ~ update   - delete   -/+ delete and create again   ? waits   -? is removed and waits   x no longer configured   ! cannot become CONFIGURED   = left as it is"

// Writer writes items.
type Writer struct {
	*cmdutil.Factory
	// PerKind is the maximum number of items of each kind; 0 is all of them.
	PerKind uint
	// Derived are the operations on derived values, by key of the item; nil shows only the parts that
	// matter.
	Derived map[string][]api.PlanStep
	// Rest says what shows the items that are not listed.
	Rest string

	shown map[api.StepKind]int
	lines strings.Builder
}

// Write returns the lines of items. Omitted is the number of items that the list lacks.
func (w *Writer) Write(list []api.PlanItem, omitted int) string {
	w.shown = map[api.StepKind]int{}
	w.lines.Reset()
	for i := range list {
		if !w.item(&list[i]) {
			omitted++
		}
	}
	if omitted > 0 {
		fmt.Fprintf(&w.lines, "and %s; %s\n", Count(omitted, "more item"), w.Rest)
	}
	return w.lines.String()
}

// stepColours are the colours of operations; the others have none.
var stepColours = map[api.StepKind]output.Colour{
	api.StepCreate: output.Green, api.StepUpdate: output.Yellow, api.StepDelete: output.Red, api.StepRecreate: output.Magenta,
	api.StepWait: output.Cyan, api.StepWithdraw: output.Red, api.StepDrop: output.Red, api.StepNever: output.Red,
}

// item writes an item, unless enough of its kind are shown; it reports whether it did.
func (w *Writer) item(it *api.PlanItem) bool {
	if w.PerKind > 0 && w.shown[it.Kind] >= int(w.PerKind) {
		return false
	}
	w.shown[it.Kind]++
	reason := it.Reason
	if it.Kind == api.StepDrop {
		reason = "it does not exist"
	}
	state := ""
	if it.State != 0 {
		state = it.State.String()
	}
	if it.Error != "" {
		reason = it.Error
	}
	if it.Reverted {
		state = strings.TrimPrefix(state+" reverted", " ")
	}
	w.line("", it.Kind, it.Key, state, reason, it.Because)
	for i := range it.Fields {
		w.field(&it.Fields[i])
	}
	w.parts(it)
	return true
}

// line writes the line of a value, after an indent.
func (w *Writer) line(indent string, kind api.StepKind, key, state, reason string, because *api.PlanCause) {
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

// partIndent puts the signs of derived values and of fields into the same column.
const partIndent = "    "

// parts writes the derived values of an item: all of them, or those that matter.
func (w *Writer) parts(it *api.PlanItem) {
	if w.Derived != nil {
		because := map[string]*api.PlanCause{}
		for i := range it.Parts {
			because[it.Parts[i].Key] = it.Parts[i].Because
		}
		for _, s := range w.Derived[it.Key] {
			w.line(partIndent, s.Kind, s.Op.Key, "", s.Reason, because[s.Op.Key])
		}
		return
	}
	for i := range it.Parts {
		p := &it.Parts[i]
		w.line(partIndent, p.Kind, p.Key, "", p.Reason, p.Because)
	}
	if it.Following > 0 {
		fmt.Fprintf(&w.lines, "%s    and %s for these\n", partIndent, waiting(it.Following))
	}
	if it.OmittedParts > 0 {
		fmt.Fprintf(&w.lines, "%s    and %s more\n", partIndent, output.Thousands(uint64(it.OmittedParts)))
	}
}

// Words are the words that count items.
type Words struct{ change, create, update, remove, recreate, withdraw, never string }

// Planned and Executed count the items of plans and of transactions.
var (
	Planned  = Words{"to change", "to create", "to update", "to delete", "to create again", "to remove until what they wait for exists", "that cannot become CONFIGURED"}
	Executed = Words{"changed", "created", "updated", "deleted", "created again", "removed and waiting", "not in effect"}
)

// Counts counts items in short: "2 created, 1 waiting".
func (words *Words) Counts(counts map[api.StepKind]int) string {
	var parts []string
	for _, m := range slices.Concat(words.changes(), words.others()) {
		if n := counts[m.kind]; n > 0 {
			parts = append(parts, output.Thousands(uint64(n))+" "+m.what)
		}
	}
	return strings.Join(parts, ", ")
}

type word struct {
	kind api.StepKind
	what string
}

// changes are the words for items that change in the southbound.
func (words *Words) changes() []word {
	return []word{
		{api.StepCreate, words.create}, {api.StepUpdate, words.update}, {api.StepDelete, words.remove}, {api.StepRecreate, words.recreate},
		{api.StepWithdraw, words.withdraw},
	}
}

// others are the words for the rest.
func (words *Words) others() []word {
	return []word{
		{api.StepWait, "waiting"}, {api.StepDrop, "no longer configured"}, {api.StepNever, words.never}, {api.StepLeft, "left as is"},
	}
}

// Summary counts items: "3 items to change (7 operations): 2 to create, 1 to delete".
func (words *Words) Summary(counts map[api.StepKind]int, operations int) string {
	changed, kinds := 0, []string{}
	for _, m := range words.changes() {
		if n := counts[m.kind]; n > 0 {
			changed += n
			kinds = append(kinds, output.Thousands(uint64(n))+" "+m.what)
		}
	}
	var parts []string
	ops := fmt.Sprintf(" (%s)", Count(operations, "operation"))
	if len(kinds) == 1 {
		_, what, _ := strings.Cut(kinds[0], " ")
		parts = append(parts, Count(changed, "item")+" "+what+ops)
	} else if len(kinds) > 1 {
		parts = append(parts, Count(changed, "item")+" "+words.change+ops+": "+strings.Join(kinds, ", "))
	}
	for _, m := range words.others() {
		if n := counts[m.kind]; n > 0 {
			parts = append(parts, Count(n, "item")+" "+m.what)
		}
	}
	return strings.Join(parts, "; ")
}

// field writes a changed field; it marks one for which the item is created again.
func (w *Writer) field(c *api.FieldChange) {
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
func (w *Writer) list(c *api.FieldChange) {
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

func (w *Writer) change(c *api.FieldChange, text string) {
	w.lines.WriteString("      " + w.Paint(stepColours[c.Kind], string(c.Kind)+" "+c.Path+": "+text))
	if c.Forces {
		w.lines.WriteString(w.Paint(output.Magenta, "  # forces re-creation"))
	}
	w.lines.WriteByte('\n')
}

// Count returns "1 item" or "2 items".
func Count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return output.Thousands(uint64(n)) + " " + what
}

// waiting returns "1 more waits" or "2 more wait".
func waiting(n int) string {
	if n == 1 {
		return "1 more waits"
	}
	return output.Thousands(uint64(n)) + " more wait"
}
