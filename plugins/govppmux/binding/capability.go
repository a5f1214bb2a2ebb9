package binding

import (
	"errors"
	"strings"

	"go.fd.io/govpp/api"
)

// Capability is a type of item, or a part of one, and what it needs of VPP.
type Capability struct {
	// Item is the type, as people call it: "interface TAP".
	Item string
	// Plugin of VPP that brings the messages; empty for those that every VPP has.
	Plugin string
	// NeedsOneOf are the ways to make the item, newest first, each with all its
	// messages; see Variant.
	NeedsOneOf [][]api.Message
}

// Need makes a Capability with one way to make the item.
func Need(item, plugin string, msgs ...api.Message) Capability {
	return Capability{item, plugin, [][]api.Message{msgs}}
}

// Or adds an older way.
func (c Capability) Or(msgs ...api.Message) Capability {
	c.NeedsOneOf = append(c.NeedsOneOf[:len(c.NeedsOneOf):len(c.NeedsOneOf)], msgs)
	return c
}

// Ability reports how far a VPP supports a Capability.
type Ability struct {
	Item   string `json:"item"`
	Plugin string `json:"plugin,omitempty"`
	// Uses is the message that makes the item, as "<name>_<crc>"; empty if this VPP
	// has none: then the item is UNIMPLEMENTED.
	Uses string `json:"uses,omitempty"`
	// Missing are the messages that it lacks, of each way to make the item that is
	// newer than the one in use, joined by "+" where one lacks several.
	Missing []string `json:"missing,omitempty"`
}

// Lack says which messages an operation needs that VPP does not have, for people:
// "route needs one of ip_route_add_del_v2_..., ip_route_add_del_...".
func (a Ability) Lack() string {
	name := a.Item
	if a.Plugin != "" {
		name += " (plugin " + a.Plugin + " of VPP)"
	}
	if len(a.Missing) == 1 {
		return name + " needs " + a.Missing[0]
	}
	return name + " needs one of " + strings.Join(a.Missing, ", ")
}

// Of reports the abilities of the VPP. It fails if the connection is lost.
func (c Capability) Of(vpp Checker) (Ability, error) {
	variants := make([]Variant[int], len(c.NeedsOneOf))
	for i, msgs := range c.NeedsOneOf {
		variants[i] = Variant[int]{Needs: msgs, Do: i}
	}
	a := Ability{Item: c.Item, Plugin: c.Plugin}
	at, err := Pick(vpp, c.Item, variants...)
	var unsupported *UnsupportedError
	switch {
	case errors.As(err, &unsupported):
		a.Missing = unsupported.NeedsOneOf
		return a, nil
	case err != nil:
		return a, err
	}
	a.Uses = NameCRC(c.NeedsOneOf[at][0])
	for _, msgs := range c.NeedsOneOf[:at] {
		a.Missing = append(a.Missing, strings.Join(missingOf(vpp, msgs), "+"))
	}
	return a, nil
}
