package cli

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/constraints"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// levels of findings.
const (
	levelError   = "error"
	levelWarning = "warning"
)

func levelOf(f response.Finding) string {
	if f.Refused {
		return levelError
	}
	return levelWarning
}

// tellPredictions prints the constraints that items of a file violate, and returns the number of
// those that VPP or Linux are going to refuse or break.
func (a *app) tellPredictions(file string, findings []response.Finding) (refused int) {
	for _, f := range findings {
		if f.Refused {
			refused++
		}
		fmt.Fprintln(a.Err, a.findingOf(file, f).text)
	}
	return refused
}

// findingOf returns a violated constraint in the form of other mistakes in a file.
func (a *app) findingOf(file string, f response.Finding) finding {
	at := document.Position{File: file, Line: f.Line, Column: f.Column}
	if f.Line == 0 { // an item of another source
		at = document.Position{}
	}
	field := a.shortKey(f.Key)
	if f.Field != "" {
		field += ": " + f.Field
	}
	line := document.Error{Position: at, Field: field, Msg: a.shortText(f.Text)}
	text := line.Error()
	if at.File == "" {
		text = field + ": " + line.Msg
	}
	return finding{
		File: file, Line: at.Line, Column: at.Column, Key: f.Key, Field: f.Field, Level: levelOf(f), Constraint: f.Constraint, Message: line.Msg,
		text: levelOf(f) + ": " + text, other: f.Other,
	}
}

// predicted returns the constraints that the items of a text violate.
func (a *app) predicted(file string, text []byte) (list []finding, refused map[string]bool) {
	doc := document.New(a.set()).Decode(file, text, "")
	items, at := make([]constraints.Item, 0, len(doc.Items)), map[string]document.Position{}
	for _, it := range doc.Items {
		items = append(items, constraints.Item{Key: it.Key, Value: it.Value})
		at[it.Key] = it.Position
	}
	refused = map[string]bool{}
	fields := document.Locator{Text: text}
	for _, f := range constraints.Check(items) {
		place := fields.Locate(at[f.Key], f.Field)
		f.Line, f.Column = place.Line, place.Column
		list = append(list, a.findingOf(file, f))
		if f.Refused {
			refused[f.Key] = true
		}
	}
	return list, refused
}
