package check

import (
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/outcome"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/constraints"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// predicted returns the constraints that the items of a document violate.
func (o *options) predicted(file string, doc *document.Document, fields *document.Locator) (list []outcome.Finding, refused map[string]bool) {
	items, at := make([]constraints.Item, 0, len(doc.Items)), map[string]document.Position{}
	for _, it := range doc.Items {
		items = append(items, constraints.Item{Key: it.Key, Value: it.Value})
		at[it.Key] = it.Position
	}
	refused = map[string]bool{}
	for _, f := range constraints.OtherKeys(doc.Items) {
		list = append(list, outcome.FindingOf(o.Factory, file, f))
	}
	for _, f := range constraints.Check(items) {
		place := fields.Locate(at[f.Key], f.Field)
		f.Line, f.Column = place.Line, place.Column
		list = append(list, outcome.FindingOf(o.Factory, file, f))
		if f.Refused {
			refused[f.Key] = true
		}
	}
	return list, refused
}
