// Package response has the JSON of the answers below /scheduler/ that are no types
// of package api: lists, results and statistics. The agent writes these types, and
// clients parse them. Field names and the order of fields are part of the interface.
package response

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// BriefTxn is a transaction in the answer of /scheduler/txn-history?brief=1: without its
// values, whose number is in OmittedValues, and with its problems alone as Executed: the
// operations that failed or whose values are not configured, the first thousand of them.
type BriefTxn struct {
	api.RecordedTxn
	// Operations counts all operations by their names, and States the states of their
	// values. Failed is the number of those with an error.
	Operations map[string]int `json:",omitempty"`
	States     map[string]int `json:",omitempty"`
	Failed     int            `json:",omitempty"`

	// ItemCounts counts what the transaction did by item, by kind: for one transaction, and with
	// items=1. Effects describes the items, and OmittedItems counts the items that it lacks; both only
	// for one transaction. Operations that the history has dropped are not in them.
	ItemCounts   map[api.StepKind]int `json:",omitempty"`
	Effects      []api.PlanItem       `json:",omitempty"`
	OmittedItems int                  `json:",omitempty"`
}

// Summary is the answer of /scheduler/summary.
type Summary struct {
	// Values is the number of values, derived ones included, and States how many are in
	// each state.
	Values int
	States map[string]int
	// Items counts the items: each in the worst state of its value and those derived from it.
	Items map[string]int `json:",omitempty"`
	// Troubles are items that are not in effect, the worst first and causes before what waits for
	// them; Omitted counts the others.
	Troubles []Trouble
	Omitted  int `json:",omitempty"`
	// Groups are the numbers of values by descriptor, if they were asked for.
	Groups []Group `json:",omitempty"`
}

// Group is the number of values of a descriptor.
type Group struct {
	Descriptor string
	// KeyPrefix is the prefix of the keys of values that the northbound can configure;
	// empty for derived values.
	KeyPrefix string `json:",omitempty"`
	Values    int
	States    map[string]int
}

// Trouble is a value that is not in effect, with the reason: of each item the one that says most.
type Trouble struct{ Key, State, Reason string }

// DumpedValue is a value in the answer of /scheduler/dump.
type DumpedValue struct {
	Key      string
	Value    *api.EncodedValue
	Origin   api.ValueOrigin
	Metadata json.RawMessage
}

// DumpIndex is the answer of /scheduler/dump without arguments: the possible
// arguments. KeyPrefixes are the prefixes of the descriptors that have one.
type DumpIndex struct {
	Descriptors []string
	KeyPrefixes []string
	Views       []string
}

// TimedStatus is an api.BaseValueStatus in the answer of /scheduler/status, with the
// time of the last change of the value, if that is asked for and known.
type TimedStatus struct {
	Value         *api.ValueStatus   `json:"value,omitempty"`
	DerivedValues []*api.ValueStatus `json:"derived_values,omitempty"`
	Since         time.Time          `json:"since,omitzero"`
}

// ListedStatus is a value, base or derived, in a page of /scheduler/status.
type ListedStatus struct {
	Value      *api.ValueStatus `json:"value"`
	Reason     string           `json:"reason,omitempty"` // for the state
	Descriptor string           `json:"descriptor,omitempty"`
	Base       string           `json:"base,omitempty"` // key of the value it is derived from
	Owner      string           `json:"owner"`          // none, ours, adopted, observed or foreign
	Since      time.Time        `json:"since,omitzero"` // of the last change, if known
}

// Node is a value during a period in the answers of /scheduler/key-timeline and
// /scheduler/graph-snapshot. Until is zero while the period lasts.
type Node struct {
	Since, Until     time.Time
	Key, Label       string
	Value            api.JSONValue
	Flags            map[string]string
	MetadataFields   map[string][]string
	Targets          []Target
	TargetUpdateOnly bool
}

// Target is a relation of a Node to other values.
type Target struct {
	Relation     string
	Label        string
	ExpectedKey  string
	MatchingKeys []string
}

// FlagStats is the answer of /scheduler/flag-stats.
type FlagStats struct {
	TotalCount    int
	PerValueCount map[string]int
}

// Wait is the answer of /scheduler/wait. Error and Unmet are empty if all values
// reached a state that was asked for.
type Wait struct {
	Error    string             `json:"error,omitempty"`
	Unmet    []api.UnmetValue   `json:"unmet,omitempty"`
	Revision api.StatusRevision `json:"revision"`
}

// Drift is the answer of /scheduler/drift.
type Drift struct {
	api.DriftReport
	// Errors of the repair.
	Errors []string `json:",omitempty"`
}

// Orphans is the answer of /scheduler/orphans: after a removal, the remaining ones.
type Orphans struct {
	Orphans []api.Orphan
	// SeqNum is the transaction of the removal.
	SeqNum *uint64 `json:",omitempty"`
	// Errors of the removal.
	Errors []string `json:",omitempty"`
}

// Quarantine is the answer of /scheduler/quarantine: the quarantined values, and the
// suspects.
type Quarantine struct{ Suspects []api.Suspect }

// Stats is the answer of /scheduler/stats: counters of transactions.
type Stats struct {
	TxnStats struct {
		TotalProcessed  uint64
		OperationCount  map[string]uint64
		ValueStateCount map[string]uint64
		ErrorCount      uint64
		Methods         []Timing
	}
	GraphMethods   []Timing
	AllDescriptors []Timing
	Descriptors    map[string][]Timing
}

// Timing is the time spent in one function, in seconds.
type Timing struct {
	Name  string  `json:"name"`
	Count uint64  `json:"count"`
	Total float64 `json:"total,omitempty"`
	Avg   float64 `json:"avg,omitempty"`
	Min   float64 `json:"min,omitempty"`
	Max   float64 `json:"max,omitempty"`
}

// CriticalPath explains the duration of a transaction: its phases, and the chain of
// operations that ended last, where each let the next one start. Other
// operations ran beside them.
type CriticalPath struct {
	SeqNum      uint64
	Kind        string
	Description string `json:",omitempty"`

	// Total is the time, in seconds like all times, from the arrival of the change, or
	// else from the commit, to the end.
	Total  float64
	Phases []Phase
	// Operations is the number of operations that called a descriptor, and Length the
	// number of those on the path. Steps are the longest ones, in the order of execution.
	Operations, Length int
	Steps              []Step
}

// Phase is a phase of a transaction.
type Phase struct {
	// Name is "turn", "merge", "queue", "prepare", "plan", "record", "execute" or
	// "finish", and For describes it.
	Name, For string
	Took      float64
	Share     float64 // of Total, from 0 to 1
}

// Step is an operation on the critical path.
type Step struct {
	Number    int // in the record, starting at 1
	Operation string
	Key       string
	Error     string `json:",omitempty"`

	// Waited is the time from the end of operation number After, or from the start of the
	// execution, and For is the reason.
	After  int        `json:",omitempty"`
	For    api.OpWait `json:",omitempty"`
	Waited float64
	Ran    float64
	Share  float64 // of Total, waiting included

	// Skipped is the number of steps between the previous and this one that are omitted,
	// and SkippedTook the time that they waited and ran.
	Skipped     int     `json:",omitempty"`
	SkippedTook float64 `json:",omitempty"`
}

// Because says what a step waited for, and whether it failed.
func (s *Step) Because() string {
	text := ""
	switch s.For {
	case api.OpWaitDependency:
		text = fmt.Sprintf("it follows %d", s.After)
	case api.OpWaitSlot:
		text = fmt.Sprintf("%d made room: no more may run at once", s.After)
	case api.OpWaitTurn:
		text = fmt.Sprintf("it is the next after %d: one at a time", s.After)
	case api.OpWaitRemovals:
		text = fmt.Sprintf("removals go first, %d was the last", s.After)
	case api.OpWaitReplan:
		text = fmt.Sprintf("planned again after %d, because of failures", s.After)
	case api.OpWaitNone:
		text = "it could start at once"
		if s.Waited > 0 {
			text = "the first; before it came what takes no callback"
		}
	}
	if s.Error != "" {
		text += "; failed: " + strings.ReplaceAll(strings.TrimSpace(s.Error), "\n", "; ")
	}
	return text
}
