package api

import "time"

// Browser shows selections of many values. All methods may be called concurrently; a
// transaction waits for the pass over the values.
type Browser interface {
	// SummarizeValues is Inspector.SummarizeStates for the values that a filter selects,
	// with Groups.
	SummarizeValues(filter ValueFilter, worst int) StateSummary
	// ListValues returns a page of values, base and derived ones, sorted by key.
	ListValues(page ValuePage) []ListedValue
	// DrawValues returns a graph of values and their relations.
	DrawValues(req DrawingRequest) Drawing
}

// ValueFilter selects values, base and derived ones. The zero value selects all.
type ValueFilter struct {
	Prefix      string // of the key
	Contains    string // part of the key; upper and lower case are the same
	Descriptors []string
	States      []ValueState
}

// ValuePage is a page of a list of values.
type ValuePage struct {
	ValueFilter
	After string // the last key of the previous page; empty: the first page
	Limit int
}

// ListedValue is a value in a list.
type ListedValue struct {
	Status     *ValueStatus
	Descriptor string    // empty: none
	Base       string    // key of the value it is derived from; empty: none
	Owner      string    // none, ours, adopted, observed or foreign
	Since      time.Time // of the last change; zero if that is no longer in the history
}

// ValueGroup counts the values of a descriptor by state.
type ValueGroup struct {
	Descriptor string // empty: none
	Counts     map[ValueState]int
}

// DrawingRequest selects the values to draw.
type DrawingRequest struct {
	ValueFilter
	// Key asks for a value with its neighbours instead of the values of the filter.
	Key string
	// Limit is the number of values up to which each of them is a node. If there are
	// more, a node is a group: the values of a descriptor, or of a prefix of keys if all
	// have the same descriptor.
	Limit int
}

// Drawing is a graph of values or of groups of values. The nodes are sorted by ID.
type Drawing struct {
	// Values is the number of values that were asked for, and Grouped reports whether
	// their nodes are groups.
	Values  int
	Grouped bool
	Nodes   []DrawnNode
	Edges   []DrawnEdge
}

// DrawnNode is a value or a group of values.
type DrawnNode struct {
	ID         string
	Key        string `json:",omitempty"` // of a value
	Prefix     string `json:",omitempty"` // of the keys of a group
	Label      string
	Descriptor string `json:",omitempty"`
	Owner      string `json:",omitempty"` // of a value
	// Values is the number of values, and States counts them by state.
	Values int
	States map[string]int
	// Neighbour reports that the values were not asked for, but are related to some
	// that were.
	Neighbour bool `json:",omitempty"`
}

// DrawnEdge stands for the relations between two nodes: From depends on To, or To is
// derived from From.
type DrawnEdge struct {
	From, To string // IDs
	Relation string // RelationDependsOn or RelationDerives
	Label    string `json:",omitempty"` // of the first dependency
	Count    int
	Unmet    int `json:",omitempty"`
}
