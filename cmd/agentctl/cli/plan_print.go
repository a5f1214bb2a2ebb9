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
const legend = "+ create   ~ update   - delete   -/+ delete and create again   ? has to wait   x not asked for any more   ! can never be   = left as it is"

// shownPlan is a plan of the agent.
type shownPlan struct {
	Source  string
	Items   []api.RecordedKVPair
	Left    []api.PlanReason
	Changes *api.Plan

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

// printPlan prints the operations with the changed fields of values.
func (a *app) printPlan(p *shownPlan) error {
	counts := map[api.StepKind]int{}
	var lines strings.Builder
	left := p.Left
	p.Changes.Steps(func(s api.PlanStep) {
		counts[s.Kind]++
		writeStep(&lines, s, p.Changes.Hidden)
	}, func(r api.PlanReason) { left = append(left, r) })
	for _, left := range left {
		counts[api.StepLeft]++
		fmt.Fprintf(&lines, "%3s %s: %s\n", api.StepLeft, left.Key, left.Reason)
	}
	if p.Omitted > 0 {
		counts = p.Counts
		fmt.Fprintf(&lines, "and %d more; --limit shows them\n", p.Omitted)
	}
	if lines.Len() == 0 {
		_, err := fmt.Fprintln(a.Out, "nothing to do")
		return err
	}
	_, err := fmt.Fprintf(a.Out, "%s\n\n%s\n%s\n", legend, lines.String(), summary(counts))
	return err
}

func writeStep(lines *strings.Builder, s api.PlanStep, hidden bool) {
	fmt.Fprintf(lines, "%3s %s", s.Kind, s.Op.Key)
	if s.Op.IsDerived {
		lines.WriteString(" (derived)")
	}
	if s.Kind == api.StepNever {
		lines.WriteString(" " + s.Op.NewState.String())
	}
	if s.Reason != "" {
		lines.WriteString(": " + s.Reason)
	}
	if s.Kind == api.StepDrop {
		lines.WriteString(": it does not exist")
	}
	lines.WriteByte('\n')
	if s.Op.Operation == kvscheduler.TxnOperation_DELETE {
		return
	}
	n := lines.Len()
	writeDiff(lines, s.Before, s.Op.NewValue)
	if lines.Len() == n && hidden && s.Op.Operation == kvscheduler.TxnOperation_UPDATE && !s.Op.NOOP {
		lines.WriteString("      a secret differs\n")
	}
}

// summary counts the operations: "2 to create, 1 to delete".
func summary(counts map[api.StepKind]int) string {
	var parts []string
	for _, m := range []struct {
		kind api.StepKind
		what string
	}{
		{api.StepCreate, "to create"}, {api.StepUpdate, "to update"}, {api.StepDelete, "to delete"}, {api.StepRecreate, "to create again"},
		{api.StepWait, "waiting"}, {api.StepDrop, "not asked for any more"}, {api.StepNever, "that can never be"}, {api.StepLeft, "left as they are"},
	} {
		if n := counts[m.kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, m.what))
		}
	}
	return strings.Join(parts, ", ")
}

// writeDiff writes the differing fields, one per line.
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

// fieldsOf returns the fields of a message by path ("nodes[0].weight").
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
		text, _ := json.Marshal(d) // cannot fail: it was decoded from JSON
		into[path] = string(text)
	}
}
