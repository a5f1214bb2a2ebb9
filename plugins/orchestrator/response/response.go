// Package response has the JSON of the responses to changes of the configuration. The
// agent writes these types, and clients parse them. Field names and the order of fields are
// part of the interface.
package response

import (
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Problem is an error in a document, with its position. A document with problems is
// rejected as a whole.
type Problem struct {
	Path   string `json:"path"` // of the field, or the key of the item
	Error  string `json:"error"`
	Key    string `json:"key,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// More is the number of errors that this one stands for, because there are too many; 0: it is an error itself.
	More int `json:"more,omitempty"`
	// Item is the item as YAML, and Derived the value derived from it that is invalid;
	// empty if the item cannot be read, or is invalid itself.
	Item    string `json:"error_config_part,omitempty"`
	Derived string `json:"error_derived_config_part,omitempty"`
}

// Item is the result of an item of a change.
type Item struct {
	Key    string `json:"key"`
	State  string `json:"state,omitempty"`  // of its value
	Source string `json:"source,omitempty"` // of the value in effect
	Error  string `json:"error,omitempty"`
	// Reason is why the item is not in effect: its error, or its missing dependencies.
	Reason string `json:"reason,omitempty"`
	// WaitsFor are the keys of the missing dependencies, and PREFIX* for one on any value with a
	// prefix.
	WaitsFor []string `json:"waits_for,omitempty"`
}

// Summary counts the effects of the items of a change. Removed are the items that the change
// removed; Items and InEffect do not count them.
type Summary struct {
	Items    int `json:"items"`
	InEffect int `json:"in_effect"`
	Removed  int `json:"removed,omitempty"`
	// States counts the items that are not in effect by the state of their values,
	// Shadowed those that another source overrides.
	States   map[string]int `json:"states,omitempty"`
	Shadowed int            `json:"shadowed,omitempty"`
	// Failed is the number of items that failed or can never come into effect.
	Failed int `json:"failed"`
	// Text is a summary for users: "3 of 5 in effect, 1 pending (waits for loop1)".
	Text string `json:"text"`
}

// Finding is a violated constraint of items that are valid each: VPP or Linux refuse or
// break it, or it is legal but likely a mistake.
type Finding struct {
	Constraint string `json:"constraint"`
	Refused    bool   `json:"refused,omitempty"` // otherwise it is legal
	Key        string `json:"key"`
	Field      string `json:"field,omitempty"`
	Other      string `json:"other,omitempty"` // key of the other item; empty if there is none
	Text       string `json:"text"`
	Line       int    `json:"line,omitempty"` // of the field in the request, from 1 on; 0: not in it
	Column     int    `json:"column,omitempty"`
	// More is the number of violations that this finding stands for, because there are too many; 0: it is one.
	More int `json:"more,omitempty"`
}

// Validated is the response to the validation of a document without errors.
type Validated struct {
	Findings []Finding `json:"findings,omitempty"`
}

// Override is an item of a change that overrides the item of another source.
type Override struct {
	Key      string `json:"key"`
	Source   string `json:"source"`
	Location string `json:"location,omitempty"`
}

// Outcome is the response to a change.
type Outcome struct {
	Error string `json:"error,omitempty"`
	// Results are all items, or with results=problems those that are not in effect.
	Results []Item `json:"results"`
	// Summary counts the results of all items; nil if nothing was changed.
	Summary *Summary `json:"summary,omitempty"`
	// Omitted is the number of items without effect that are not among the results.
	Omitted int `json:"omitted,omitempty"`
	// Findings are the constraints that the items violate.
	Findings []Finding `json:"findings,omitempty"`
	// Overrides are items of other sources that the change overrides: the first 10 of
	// Overridden.
	Overrides  []Override `json:"overrides,omitempty"`
	Overridden int        `json:"overridden,omitempty"`
}

// Applied is the response to an applied plan.
type Applied struct {
	Outcome
	SeqNum    *uint64          `json:"seq_num,omitempty"` // of the transaction; nil: there was none
	ConfirmBy time.Time        `json:"confirm_by,omitzero"`
	CommitID  string           `json:"commit_id,omitempty"` // for the confirmation
	Left      []api.PlanReason `json:"left,omitempty"`
}

// Checked is what "vpp-agent check" prints: the outcome of a file, or the problems for which it
// was rejected as a whole, and then the outcome of its items without problems; nil if there are none.
type Checked struct {
	Outcome  *Outcome  `json:"outcome,omitempty"`
	Problems []Problem `json:"problems,omitempty"`
	Models   *Models   `json:"models,omitempty"` // of the agent, with their descriptors, if some are not models of vpp-agent
}
