package response

import (
	"encoding/json"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// DumpedValue is a value in the answer of /scheduler/dump.
type DumpedValue struct {
	Key      string
	Value    *api.EncodedValue
	Origin   api.ValueOrigin
	Metadata json.RawMessage
}

// DumpIndex is the answer of /scheduler/dump without arguments: the possible
// arguments. KeyPrefixes are those of the descriptors that have one.
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
