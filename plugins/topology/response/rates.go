package response

import "github.com/tenuto-dev/tenuto/infra/rates"

// Rates are what the interfaces in a picture do per second.
type Rates struct {
	// VPP and Linux say whether there are counters; null: they are not needed, or simulated.
	VPP   *Counted `json:"vpp,omitempty"`
	Linux *Counted `json:"linux,omitempty"`
	// Nodes are the rates by the IDs of nodes. The rates of a group are the sum over its interfaces whose rates are known.
	Nodes []rates.Interface `json:"nodes"`
}

// Counted says whether there are counters.
type Counted struct {
	Up     bool   `json:"up"`
	Reason string `json:"reason,omitempty"`
	// Seconds is the time between the last two reads; 0: there was one only, or the counters began again.
	Seconds float64 `json:"seconds"`
}
