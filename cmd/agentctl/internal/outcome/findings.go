package outcome

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// levels of findings.
const (
	Error   = "error"
	Warning = "warning"
)

func levelOf(f response.Finding) string {
	if f.Refused {
		return Error
	}
	return Warning
}

// PrintPredictions prints the constraints that items of a file violate, and returns the number of
// those that VPP or Linux are going to refuse or break.
func PrintPredictions(factory *cmdutil.Factory, file string, findings []response.Finding) (refused int) {
	for _, f := range findings {
		if f.Refused {
			refused++
		}
		fmt.Fprintln(factory.Err, FindingOf(factory, file, f).Text)
	}
	return refused
}

// FindingOf returns a violated constraint in the form of other mistakes in a file.
func FindingOf(factory *cmdutil.Factory, file string, f response.Finding) Finding {
	at := document.Position{File: file, Line: f.Line, Column: f.Column}
	if f.Line == 0 { // an item of another source
		at = document.Position{}
	}
	field := factory.Models.ShortKey(f.Key)
	if f.Field != "" {
		field += ": " + f.Field
	}
	line := document.Error{Position: at, Field: field, Msg: factory.Models.ShortText(f.Text)}
	text := line.Error()
	if at.File == "" {
		text = field + ": " + line.Msg
	}
	return Finding{
		File: file, Line: at.Line, Column: at.Column, Key: f.Key, Field: f.Field, Level: levelOf(f), Constraint: f.Constraint, Message: line.Msg,
		Text: levelOf(f) + ": " + text, Other: f.Other, More: f.More,
	}
}
