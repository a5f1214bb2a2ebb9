// Package holder prevents agents with the same label on one machine from managing the
// same southbound at the same time. An agent has an Identity, which names it to the
// others, and a Lock that ends with its process.
package holder

import (
	"fmt"
	"strings"
	"time"
)

// Identity identifies the process of an agent.
type Identity struct {
	Program string    `json:"program"`
	Label   string    `json:"label"`
	PID     int       `json:"pid"`
	Host    string    `json:"host"`  // name of the host, or of the container
	Since   time.Time `json:"since"` // start of the process
	// Instance is random. With a state-dir it is stored there and survives
	// restarts; otherwise each process has its own.
	Instance string `json:"instance"`
	StateDir string `json:"state-dir,omitempty"`
}

// String describes the agent for a message: "vpp-agent pid 7 on host h since ...".
func (i Identity) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s pid %d", i.Program, i.PID)
	if i.Host != "" {
		fmt.Fprintf(&b, " on host %s", i.Host)
	}
	fmt.Fprintf(&b, " since %s", i.Since.UTC().Format(time.RFC3339))
	if i.StateDir != "" {
		fmt.Fprintf(&b, " (state-dir %s)", i.StateDir)
	}
	return b.String()
}

// HeldError reports that another agent holds a southbound.
type HeldError struct {
	Label string
	// Holder describes the other agent: its Identity as text, or whatever is known
	// of it.
	Holder string
}

// Error names the holder of the label and the remedy.
func (e *HeldError) Error() string {
	return fmt.Sprintf("label %q is held by %s: stop it, or start this agent with another --microservice-label", e.Label, e.Holder)
}

// Claim is what an agent writes to a data store for its label: its identity, and which process it is.
type Claim struct {
	Identity
	Process string `json:"process,omitempty"` // of Process
}

// ReplacedBy reports whether another agent may take the label over: an agent that started later with the
// same state-dir, or one that sees that the process has ended.
func (c Claim) ReplacedBy(other Claim) bool {
	return c.Instance == other.Instance && c.Since.Before(other.Since) || ended(c.Process)
}
