package check

import (
	"strings"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/outcome"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/fields"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/constraints"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// predictions are the constraints that the items of a document violate.
type predictions struct {
	list               []outcome.Finding // limited for each constraint
	mistakes, warnings int               // all
	refused            map[string]bool   // keys of the items that are refused
	others             map[string]bool   // keys of the other items: one of the two is refused, which one depends on the order
}

// involves reports whether a mistake is about an item.
func (p *predictions) involves(key string) bool { return p.refused[key] || p.others[key] }

// count returns the number of items that mistakes are about.
func (p *predictions) count() int {
	n := len(p.refused)
	for key := range p.others {
		if !p.refused[key] {
			n++
		}
	}
	return n
}

// predicted returns the constraints that the items of a document violate. Items with errors are
// checked by the fields that could be read.
func (o *options) predicted(file string, doc *document.Document, locator *document.Locator) *predictions {
	items, at := make([]constraints.Item, 0, len(doc.Items)), map[string]document.Position{}
	for _, it := range doc.Items {
		items = append(items, constraints.Item{Key: it.Key, Value: it.Value})
		at[it.Key] = it.Position
	}
	partial, elsewhere := map[string]map[string]string{}, misplaced(doc.Errs)
	for _, it := range doc.Partial {
		if elsewhere[it.Key] {
			continue
		}
		items = append(items, constraints.Item{Key: it.Key, Value: it.Value})
		at[it.Key], partial[it.Key] = it.Position, fields.Of(it.Value).Set()
	}
	out := &predictions{refused: map[string]bool{}, others: map[string]bool{}}
	for _, f := range constraints.OtherKeys(doc.Items) {
		out.list = append(out.list, outcome.FindingOf(o.Factory, file, f))
		out.warnings++
	}
	for _, f := range constraints.CheckIf(items, func(f response.Finding) bool { return out.note(f, partial) }) {
		place := locator.Locate(at[f.Key], f.Field)
		f.Line, f.Column = place.Line, place.Column
		out.list = append(out.list, outcome.FindingOf(o.Factory, file, f))
	}
	return out
}

// note counts a violation, and reports whether it is certain. An error in an item can cause a likely mistake, or a
// field without a value.
func (p *predictions) note(f response.Finding, partial map[string]map[string]string) bool {
	set, isPartial := partial[f.Key]
	_, otherIsPartial := partial[f.Other]
	switch {
	case !f.Refused && (isPartial || otherIsPartial), isPartial && !hasField(set, f.Field):
		return false
	case !f.Refused:
		p.warnings++
		return true
	}
	p.mistakes++
	p.refused[f.Key] = true
	if f.Other != "" {
		p.others[f.Other] = true
	}
	return true
}

// hasField reports whether a field or a part of it is among those that have values.
func hasField(set map[string]string, field string) bool {
	for path := range set {
		if rest, ok := strings.CutPrefix(path, field); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// misplaced returns the keys of the items with an error in a field that says where they are: in which VRF, or in
// which namespace. They would be compared with the wrong items.
func misplaced(errs []*document.Error) map[string]bool {
	keys := map[string]bool{}
	for _, e := range errs {
		field := strings.ToLower(e.Field)
		if strings.Contains(field, "vrf") || strings.Contains(field, "namespace") {
			keys[e.ItemKey()] = true
		}
	}
	return keys
}
