package response

import "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"

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
}
