// Package catalogue lists the items of the VPP plugins that their tests configure. An
// item is declared once, in a file of its own; package vpptest runs the same suites on
// all of them, and other tests take their configuration from here.
package catalogue

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
)

// HostInterfaces are the interfaces of the kernel that exist in all suites.
func HostInterfaces() []string { return []string{"eth0", "eth1", "eth2"} }

// Namespaces are the network namespaces that exist in all suites with a real VPP that can make
// TAPs.
func Namespaces() []string {
	if withoutTAPs() != "" {
		return nil
	}
	return []string{"dataplane", "other"}
}

// withoutTAPs returns why a real VPP cannot make TAPs on this machine; empty: it can.
func withoutTAPs() string {
	if _, err := os.Stat("/dev/vhost-net"); err != nil {
		return "VPP needs /dev/vhost-net for TAPs, which this machine lacks"
	}
	return ""
}

// Item is one type of configuration item, or a part of one that VPP has operations of
// its own for. The exemplars of all items can be configured together: those that share
// an object have the same one in Needs.
type Item struct {
	// Name is the name of the model ("vpp.teib"), followed by what distinguishes the entries of
	// a model: the type of an interface ("vpp.interfaces VXLAN_TUNNEL") or a part
	// of the item ("vpp.interfaces: addresses").
	Name string
	// Make returns the exemplar. It reads back from VPP as it is written.
	Make func() proto.Message
	// Needs returns the items that must be configured for it: without each of them the
	// exemplar is PENDING.
	Needs func() []proto.Message
	// Part is the key of the derived value that the entry is about; empty: the item.
	Part string
	// Capability is the operation of VPP that the item needs, as Capabilities lists it.
	Capability string
	// Spellings change the exemplar into other texts of the same configuration.
	Spellings []Change
	// Updates change the exemplar into what VPP changes in place.
	Updates []Change
	// UpdateNeeds is the message without which VPP has to delete and create for Updates too;
	// nil: none.
	UpdateNeeds api.Message
	// ListNeeds is the message without which VPP does not list the entries: an agent that
	// restarts configures them again, and does not find out that another client deleted
	// them. nil: every release lists them, or none does (see Without).
	ListNeeds api.Message
	// Recreates change the exemplar into what VPP has to delete and create for.
	Recreates []Change
	// Refusals change the exemplar into values that are INVALID, by what the error says.
	Refusals map[string]Change
	// Conflicts are pairs of items that VPP cannot have together.
	Conflicts []Conflict
	// ByHand returns the request by which another client deletes the exemplar in VPP, and
	// an empty reply. The function gives the index of an interface or a classifier table.
	ByHand func(index func(name string) uint32, m proto.Message) (req, reply api.Message)
	// Leaves names requests that leave something in VPP if VPP refuses them, and says what;
	// the suite of faults does not try them.
	Leaves map[string]string
	// Unread changes an expected value into the one that is read, where VPP chooses
	// a value or does not report it; nil: values read back as they were written.
	Unread func(want, got proto.Message)
	// Without gives the reasons for what the item lacks, by field: Needs, Spellings, Updates,
	// Recreates, Refusals, Conflicts, ByHand; besides Real if a real VPP cannot have it on
	// this machine, Retrieve if VPP does not report it, and Restart if an agent cannot read it
	// back and configures it again.
	Without map[string]string
}

// Change changes a copy of the exemplar.
type Change func(m proto.Message)

// To returns a change of messages of one type.
func To[M proto.Message](change func(M)) Change {
	return func(m proto.Message) { change(m.(M)) }
}

// Conflict is two items that are right by themselves; the second wants what the first has.
type Conflict struct {
	// First is the value that VPP has, Second the refused one.
	First, Second proto.Message
	// Needs are what one of them needs besides the Needs of the item.
	Needs []proto.Message
	// Part is the key of the derived value that is refused; empty: the item.
	Part string
	// Says is what the error of the second one says: the paths of the fields, and who has it.
	Says string
}

//go:generate go run github.com/tenuto-dev/tenuto/infra/funclist -type "func() Item" -var items

// All returns the items, ordered by name.
func All() []Item {
	all := interfaceParts()
	for _, one := range items {
		all = append(all, one())
	}
	slices.SortFunc(all, func(a, b Item) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Key returns the key of a message of a model; it panics if no model has the message.
func Key(m proto.Message) string {
	key, err := allmodels.MustSet().KeyOf(m)
	if err != nil {
		panic(err)
	}
	return key
}

// Values gives messages of models their keys.
func Values(messages ...proto.Message) map[string]proto.Message {
	out := make(map[string]proto.Message, len(messages))
	for _, m := range messages {
		out[Key(m)] = m
	}
	return out
}

// Model returns the name of the item's model.
func (i Item) Model() string {
	name, _, _ := strings.Cut(i.Name, " ")
	return strings.TrimSuffix(name, ":")
}

// Real reports whether a real VPP can have the exemplar on this machine.
func (i Item) Real() bool { return i.Without["Real"] == "" }

// Needed returns the items that must be configured for the exemplar, by key.
func (i Item) Needed() map[string]proto.Message {
	if i.Needs == nil {
		return map[string]proto.Message{}
	}
	return Values(i.Needs()...)
}

// Key returns the key of the value that the entry is about.
func (i Item) Key() string {
	if i.Part != "" {
		return i.Part
	}
	return Key(i.Make())
}

// Changed returns the exemplar with a change.
func (i Item) Changed(c Change) proto.Message {
	m := i.Make()
	c(m)
	return m
}

// Lacks returns what is wrong with the declaration: optional fields that are empty
// without a reason, and reasons for fields that are not empty.
func (i Item) Lacks() (problems []string) {
	empty := map[string]bool{
		"Needs": i.Needs == nil, "Spellings": len(i.Spellings) == 0, "Updates": len(i.Updates) == 0,
		"Recreates": len(i.Recreates) == 0, "Refusals": len(i.Refusals) == 0, "Conflicts": len(i.Conflicts) == 0,
		"ByHand": i.ByHand == nil,
	}
	for field, without := range empty {
		switch why := i.Without[field]; {
		case i.Part != "":
			// The item that it is a part of has them.
		case without && why == "":
			problems = append(problems, fmt.Sprintf("%s: %s is empty, and Without has no reason", i.Name, field))
		case !without && why != "":
			problems = append(problems, fmt.Sprintf("%s: has %s, and a reason not to: %s", i.Name, field, why))
		}
	}
	for field := range i.Without {
		if _, known := empty[field]; !known && !slices.Contains([]string{"Real", "Retrieve", "Restart"}, field) {
			problems = append(problems, fmt.Sprintf("%s: Without names %s, which is no optional field", i.Name, field))
		}
	}
	if i.Make == nil || i.Capability == "" {
		problems = append(problems, i.Name+": needs Make and Capability")
	}
	slices.Sort(problems)
	return problems
}
