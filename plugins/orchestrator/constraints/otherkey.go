package constraints

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// OtherKeys returns a finding about items whose key in a text differs from the key of the value, as
// routes in stores of the predecessor; none if there are no such items. The items are used under the
// keys of their values.
func OtherKeys(items []document.Item) (list []response.Finding) {
	more := 0
	for _, it := range items {
		switch {
		case it.Written == "":
		case list == nil:
			list = []response.Finding{{
				Constraint: "other-key", Key: it.Key, Line: it.Line, Column: it.Column,
				Text: "written as " + it.Written + "; the key of its value is used",
			}}
		default:
			more++
		}
	}
	if more > 0 {
		list[0].Text += fmt.Sprintf(" (and %d more)", more)
	}
	return list
}
