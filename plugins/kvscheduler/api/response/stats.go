package response

import "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"

// Stats is the answer of /scheduler/stats: what transactions did.
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
