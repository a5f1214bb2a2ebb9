package response

import "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"

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
