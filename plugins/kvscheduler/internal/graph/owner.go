package graph

import (
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Owner is who an existing value belongs to, which decides what the scheduler may do
// with it. The Graph changes it, by an Event, as Transitions allow.
type Owner uint8

// The owners.
const (
	// None: the value does not exist.
	None Owner = iota
	// Ours: the scheduler created the value, or took it over. It changes and removes it.
	Ours
	// Adopted: another process created the value and the northbound desires it, under
	// the policy adopt. The scheduler changes it in place and never removes it.
	Adopted
	// Observed: another process created the value and the northbound desires whatever
	// there is, under the policy observe. The scheduler only reads it.
	Observed
	// Foreign: another process created the value and the northbound does not desire it.
	// The scheduler only reads it.
	Foreign
)

// String returns the name of an owner in lower case.
func (o Owner) String() string {
	return [...]string{"none", "ours", "adopted", "observed", "foreign"}[o]
}

// Event is what may change the owner of a value.
type Event uint8

// The events. Transitions explains them.
const (
	Unchanged Event = iota // the value belongs to whom it belonged before
	Created
	FoundRecorded
	Found
	TakenOver
	Adopt
	Observe
	GivenBack
	Restored
	Deleted
	Lost
)

// Transition is a change of owner by an event.
type Transition struct {
	Event   Event
	Name    string  // of the event
	From    []Owner // the owners that the event may change
	To      Owner
	Meaning string
}

// Transitions are all changes of owner, by event. ARCHITECTURE.md has this table, and
// the random test checks each change against it.
var Transitions = [...]Transition{
	Unchanged: {Name: "unchanged"},
	Created:   {Name: "created", From: []Owner{None}, To: Ours, Meaning: "an operation created the value"},
	FoundRecorded: {
		Name: "found with record", From: []Owner{None, Foreign}, To: Ours,
		Meaning: "it was read, and is on record, or its mark confirms an operation of unknown outcome",
	},
	Found: {
		Name: "found without record", From: []Owner{None, Ours, Adopted}, To: Foreign,
		Meaning: "it was read or notified, is not on record, and is not desired, or has the key of a value that could not be created",
	},
	TakenOver: {
		Name: "taken over", From: []Owner{None, Foreign}, To: Ours,
		Meaning: "the northbound desires a managed value that another process created; with a derived value: an operation on it began",
	},
	Adopt: {
		Name: "adopted", From: []Owner{None, Foreign}, To: Adopted,
		Meaning: "the northbound desires a value that another process created, and the policy is adopt",
	},
	Observe: {
		Name: "observed", From: []Owner{None, Foreign}, To: Observed,
		Meaning: "the northbound desires whatever another process created, and the policy is observe",
	},
	GivenBack: {
		Name: "given back", From: []Owner{Ours, Adopted, Observed}, To: Foreign,
		Meaning: "the northbound no longer desires an adopted or observed value; ours: its derived values",
	},
	Restored: {
		Name: "restored", From: []Owner{None}, To: Foreign,
		Meaning: "a revert created the derived values of an adopted value again",
	},
	Deleted: {
		Name: "deleted", From: []Owner{Ours, Foreign}, To: None,
		Meaning: "an operation removed the value; foreign: a derived one, or the southbound reported the removal",
	},
	Lost: {
		Name: "lost", From: []Owner{Ours, Adopted, Observed, Foreign}, To: None,
		Meaning: "it was not found, or its southbound disconnected",
	},
}

// String returns the name of an event.
func (e Event) String() string { return Transitions[e].Name }

// Owner is who a value belongs to after the event.
func (e Event) Owner(n *Node) Owner {
	if e == Unchanged {
		return n.Owner
	}
	return Transitions[e].To
}

// Allowed reports whether the event may change a value of this owner.
func (e Event) Allowed(from Owner) bool {
	if e == Unchanged || from == Transitions[e].To {
		return true
	}
	return slices.Contains(Transitions[e].From, from)
}

// Ours reports whether the value exists and the scheduler created it or took it over.
func (n *Node) Ours() bool { return n.Owner == Ours }

// Made reports whether the scheduler made the base value by an operation: such values
// are on record, and it removes them when they are no longer desired.
func (n *Node) Made() bool { return n.Base == nil && n.Owner == Ours && !n.Desc.IsProperty() }

// Refused reports whether the value is foreign and has settings that its model lacks: a desired
// value does not take it over.
func (n *Node) Refused() bool { return n.Owner == Foreign && len(api.Unmodeled(n.Have.Msg)) > 0 }

// Left reports whether the value is adopted and left as it is: its change would need
// something that the scheduler may not do, or cannot.
func (n *Node) Left() bool { return n.Owner == Adopted && n.Held }

// Left returns the values that are adopted and left as they are, sorted by key. Each plan
// looks at them again.
func (g *Graph) Left() (left []*Node) {
	for n := range g.held {
		if n.Left() {
			left = append(left, n)
		}
	}
	slices.SortFunc(left, func(a, b *Node) int { return strings.Compare(a.Key, b.Key) })
	return left
}

// SetHeld notes whether a value stays as it is although something else is desired.
func (g *Graph) SetHeld(n *Node, held bool) {
	n.Held = held
	if held {
		g.held[n] = struct{}{}
	} else {
		delete(g.held, n)
	}
}

// Obtained reports whether Want only mirrors what the southbound has.
func (n *Node) Obtained() bool { return n.Want != nil && n.Want.FromSB }

// Desired is what the northbound asks for, valid or not; nil if it asks for nothing.
func (n *Node) Desired() *registry.Value {
	if n.Obtained() {
		return nil
	}
	return n.Want
}

// InForce is what the northbound asks for or, if that is invalid, its last valid value;
// nil if there is none.
func (n *Node) InForce() *registry.Value {
	if v := n.Want.InForce(); v != nil && !v.FromSB {
		return v
	}
	return nil
}

// NeverValid reports whether the northbound asks for the value, and never asked for a
// valid one: what is found under the key is left as it is.
func (n *Node) NeverValid() bool { return n.Desired() != nil && n.InForce() == nil }

// Own changes the owner of a value that exists.
func (g *Graph) Own(n *Node, event Event) {
	from := n.Owner
	n.Owner = event.Owner(n)
	if n.Owner != from && g.OwnerChanged != nil {
		g.OwnerChanged(n, from, event)
	}
}

// observe is Own for a new Want, as far as that decides who a value belongs to.
func (g *Graph) observe(n *Node) {
	switch observed := n.Want != nil && n.Want.Observed; {
	case observed && n.Owner == Foreign:
		g.Own(n, Observe)
	case !observed && n.Owner == Observed:
		g.Own(n, GivenBack)
	}
}
