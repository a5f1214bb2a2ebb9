package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// legend explains the marks of printPlan.
const legend = "+ create   ~ update   - delete   -/+ delete and create anew   ? has to wait   x not asked for any more   ! can never be   = left as it is"

// shownPlan is a plan of the agent.
type shownPlan struct {
	Source  string
	Items   []api.RecordedKVPair
	Left    []api.PlanReason
	Changes *api.Plan
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

// printPlan prints the operations with what they change of values.
func (a *app) printPlan(p *shownPlan) error {
	reasons := map[string]string{}
	for _, r := range p.Changes.Reasons {
		reasons[r.Key] = r.Reason
	}
	replaced := map[string]proto.Message{}
	counts := map[string]int{}
	var lines strings.Builder
	for i := range p.Changes.Operations {
		op := &p.Changes.Operations[i]
		if op.IsRecreate && op.Operation == kvscheduler.TxnOperation_DELETE {
			replaced[op.Key] = op.PrevValue
			continue
		}
		mark, before := markOf(op), op.PrevValue
		if reasons[op.Key] != "" && op.NOOP && (mark == "~" || mark == "+") {
			continue // it is what it is
		}
		if old, ok := replaced[op.Key]; ok && mark == "+" {
			mark, before = "-/+", old
		}
		counts[mark]++
		fmt.Fprintf(&lines, "%3s %s", mark, op.Key)
		if op.IsDerived {
			lines.WriteString(" (derived)")
		}
		if mark == "!" {
			lines.WriteString(" " + op.NewState.String())
		}
		if reason := reasons[op.Key]; reason != "" {
			lines.WriteString(": " + reason)
			delete(reasons, op.Key)
		}
		if mark == "x" {
			lines.WriteString(": it does not exist")
		}
		lines.WriteByte('\n')
		if op.Operation == kvscheduler.TxnOperation_DELETE {
			continue
		}
		n := lines.Len()
		writeDiff(&lines, before, op.NewValue)
		if lines.Len() == n && p.Changes.Hidden && !op.NOOP {
			lines.WriteString("      a secret differs\n")
		}
	}
	left := p.Left
	for _, key := range slices.Sorted(maps.Keys(reasons)) {
		left = append(left, api.PlanReason{Key: key, Reason: reasons[key]})
	}
	for _, left := range left {
		counts["="]++
		fmt.Fprintf(&lines, "%3s %s: %s\n", "=", left.Key, left.Reason)
	}
	if lines.Len() == 0 {
		_, err := fmt.Fprintln(a.Out, "nothing to do")
		return err
	}
	_, err := fmt.Fprintf(a.Out, "%s\n\n%s\n%s\n", legend, lines.String(), summary(counts))
	return err
}

// markOf is the sign of an operation in the legend.
func markOf(op *api.RecordedTxnOp) string {
	switch {
	case op.Operation == kvscheduler.TxnOperation_DELETE && op.NOOP:
		return "x"
	case op.Operation == kvscheduler.TxnOperation_DELETE:
		return "-"
	case op.NewState == kvscheduler.ValueState_PENDING:
		return "?"
	case never(op.NewState):
		return "!"
	case op.Operation == kvscheduler.TxnOperation_CREATE:
		return "+"
	}
	return "~"
}

// never reports whether a value in this state cannot come into effect.
func never(s kvscheduler.ValueState) bool {
	return s == kvscheduler.ValueState_INVALID || s == kvscheduler.ValueState_UNIMPLEMENTED
}

// summary counts the operations: "2 to create, 1 to delete".
func summary(counts map[string]int) string {
	var parts []string
	for _, m := range []struct{ mark, what string }{
		{"+", "to create"}, {"~", "to update"}, {"-", "to delete"}, {"-/+", "to create anew"}, {"?", "waiting"},
		{"x", "not asked for any more"}, {"!", "that can never be"}, {"=", "left as they are"},
	} {
		if n := counts[m.mark]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, m.what))
		}
	}
	return strings.Join(parts, ", ")
}

// writeDiff writes the fields that differ, one a line.
func writeDiff(out *strings.Builder, before, after proto.Message) {
	was, is := fieldsOf(before), fieldsOf(after)
	paths := maps.Clone(was)
	maps.Copy(paths, is)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		old, had := was[path]
		now, has := is[path]
		switch {
		case had && has && old != now:
			fmt.Fprintf(out, "      %s: %s -> %s\n", path, old, now)
		case had && !has:
			fmt.Fprintf(out, "      %s: %s -> (none)\n", path, old)
		case has && !had:
			fmt.Fprintf(out, "      %s: %s\n", path, now)
		}
	}
}

// fieldsOf is a message as a list of its fields by path ("nodes[0].weight").
func fieldsOf(m proto.Message) map[string]string {
	fields := map[string]string{}
	if m == nil {
		return fields
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true, AllowPartial: true}.Marshal(m)
	if err != nil {
		return map[string]string{"(value)": err.Error()}
	}
	var data any
	if err := json.Unmarshal(text, &data); err != nil {
		return map[string]string{"(value)": err.Error()}
	}
	flatten("", data, fields)
	return fields
}

func flatten(path string, data any, into map[string]string) {
	switch d := data.(type) {
	case map[string]any:
		for name, child := range d {
			flatten(strings.TrimPrefix(path+"."+name, "."), child, into)
		}
	case []any:
		for i, child := range d {
			flatten(fmt.Sprintf("%s[%d]", path, i), child, into)
		}
	default:
		text, _ := json.Marshal(d) // what was JSON can be JSON again
		into[path] = string(text)
	}
}
