// Package rehearsal describes the rehearsal of a rollout on simulated copies of the agents: what 'vpp-agent rehearse'
// reads and writes, as JSON.
package rehearsal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
)

// Input is the rollout to rehearse.
type Input struct {
	// Spec has the waves and the rest of the rollout. Its revision and approval are not used, and its durations are
	// shortened.
	Spec rollout.Spec `json:"spec"`
	// Agents are the agents of the waves.
	Agents []Agent `json:"agents"`
	// Faults are what goes wrong.
	Faults []Fault `json:"faults,omitempty"`
}

// Agent is an agent to simulate.
type Agent struct {
	Label string `json:"label"`
	// Before is the configuration that it has; none: it begins without one.
	Before []store.Item `json:"before,omitempty"`
	// After is the configuration that it gets.
	After []store.Item `json:"after"`
}

// Kind is what goes wrong with an agent.
type Kind string

// The kinds of faults.
const (
	Unhealthy Kind = "unhealthy" // an item that the agent has applied is not in effect
	Offline   Kind = "offline"   // the agent does not run
	CutOff    Kind = "cut-off"   // the change of the agent cuts it off from etcd
)

// Kinds returns all kinds of faults.
func Kinds() []Kind { return []Kind{Unhealthy, Offline, CutOff} }

// Fault goes wrong in a rehearsal.
type Fault struct {
	Agent string `json:"agent"`
	Kind  Kind   `json:"kind"`
}

// ParseFault parses a fault in the form AGENT=KIND.
func ParseFault(text string) (f Fault, err error) {
	label, kind, ok := strings.Cut(text, "=")
	f = Fault{label, Kind(kind)}
	if !ok || label == "" || !slices.Contains(Kinds(), f.Kind) {
		return f, fmt.Errorf("%q: expected AGENT=KIND, with a KIND of %s", text, kindsText())
	}
	return f, nil
}

func kindsText() string {
	var all []string
	for _, k := range Kinds() {
		all = append(all, string(k))
	}
	return strings.Join(all, ", ")
}

// Validate returns an error for an input that cannot be rehearsed.
func (in *Input) Validate() error {
	labels := map[string]bool{}
	for _, a := range in.Agents {
		if a.Label == "" || labels[a.Label] {
			return fmt.Errorf("agents: label %q is empty or there twice", a.Label)
		}
		labels[a.Label] = true
	}
	taken := map[string]bool{}
	for _, wave := range in.Spec.Waves {
		for _, label := range wave {
			if !labels[label] || taken[label] {
				return fmt.Errorf("spec.waves: %q is not among the agents, or there twice", label)
			}
			taken[label] = true
		}
	}
	if len(taken) == 0 {
		return fmt.Errorf("spec.waves: empty, expected agents")
	}
	for _, f := range in.Faults {
		if !taken[f.Agent] {
			return fmt.Errorf("faults: %q is in no wave of the rollout", f.Agent)
		}
		if !slices.Contains(Kinds(), f.Kind) {
			return fmt.Errorf("faults: %s: kind %q, expected %s", f.Agent, f.Kind, kindsText())
		}
	}
	return nil
}

// Result is the end of a rehearsal.
type Result struct {
	// Rollout is the rollout as it ended, with the decisions of its waves.
	Rollout   rollout.Rollout              `json:"rollout"`
	Decisions map[int]rollout.WaveDecision `json:"decisions,omitempty"`
	Agents    []AgentResult                `json:"agents"`
	// Warnings say where the copies differ from the agents.
	Warnings []string `json:"warnings,omitempty"`
}

// AgentResult is the state of a simulated agent at the end.
type AgentResult struct {
	Label   string         `json:"label"`
	Running bool           `json:"running"`
	Report  rollout.Report `json:"report"`
	// Items are the items that are not in effect.
	Items []Item `json:"items,omitempty"`
}

// Item is an item that is not in effect.
type Item struct {
	Key   string `json:"key"`
	State string `json:"state"`
	Why   string `json:"why,omitempty"`
}
