// Package holder lets agents with the same label share a machine without taking each
// other's work apart: at most one of them holds a southbound at a time. An agent has an
// Identity, by which the others name it, and a Lock that ends with its process.
package holder

import (
	"fmt"
	"strings"
	"time"
)

// Identity says which agent a process is.
type Identity struct {
	Program string    `json:"program"`
	Label   string    `json:"label"`
	PID     int       `json:"pid"`
	Host    string    `json:"host"`  // name of the host, or of the container
	Since   time.Time `json:"since"` // start of the process
	// Instance is random. With a state-dir it is kept there, so that it survives
	// restarts; else each process has its own.
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
	// Holder is the other agent: an Identity as text, or what else is known of it.
	Holder string
}

// Error says who holds the label, and what to do.
func (e *HeldError) Error() string {
	return fmt.Sprintf("label %q is held by %s: stop it, or start this agent with another --microservice-label", e.Label, e.Holder)
}
