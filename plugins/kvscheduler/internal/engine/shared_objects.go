package engine

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// maxUsers limits how many keys of other processes a reason names.
const maxUsers = 5

// sharedObjects names, for each value that a plan deletes or creates again, what other processes
// have in its object: their foreign parts of it, and foreign values that depend on it. It reads the
// parts if the descriptor has ForeignParts, and everything in the southbound if it has KeepsShared.
// Otherwise it names what the last resync found.
func (p *plans) sharedObjects(pl *plan.Plan) (list []api.PlanReason) {
	removed := map[string]*plan.Op{}
	for i := range pl.Ops {
		if op := &pl.Ops[i]; op.Kind == plan.Down && op.Base == "" && !op.Lost && !op.Notified {
			removed[op.Key] = op
		}
	}
	if len(removed) == 0 {
		return nil
	}
	users := map[string][]string{}
	use := func(key string, d *registry.Descriptor, msg proto.Message) {
		for _, of := range p.usedBy(key, d, msg) {
			if removed[of] != nil && removed[key] == nil {
				users[of] = append(users[of], key)
			}
		}
	}
	for n := range p.state.graph.Nodes {
		if foreign(n) {
			use(n.Key, n.Desc, n.Have.Msg)
		}
	}
	p.readOthers(removed, use)
	for key, others := range users {
		slices.Sort(others)
		list = append(list, api.PlanReason{Key: key, Reason: effectOn(removed[key]) + someOf(slices.Compact(others))})
	}
	return list
}

// effectOn says what a removal means for the other processes that use the object, as the beginning of a
// list of what they have in it.
func effectOn(op *plan.Op) string {
	switch {
	case op.Desc.KeepsShared && op.Recreate:
		return "the change will fail, because it deletes and creates the object, and other processes use it: "
	case op.Desc.KeepsShared:
		return "left in the southbound, because other processes use it: "
	}
	return "other processes have parts in it, which are deleted with it or prevent its deletion: "
}

// readOthers reads what other processes may have in the objects of the removed values, without
// changing the graph. What cannot be read is not named.
func (p *plans) readOthers(removed map[string]*plan.Op, use func(key string, d *registry.Descriptor, msg proto.Message)) {
	read := map[*registry.Descriptor]bool{}
	for _, op := range removed {
		if op.Desc.ForeignParts {
			read[op.Desc] = true
		}
		if op.Desc.KeepsShared {
			for _, d := range p.state.registry.Load().RetrieveOrder {
				read[d] = read[d] || d.Retrieve != nil && d.Southbound == op.Desc.Southbound
			}
		}
	}
	for _, d := range p.state.registry.Load().RetrieveOrder {
		if !read[d] {
			continue
		}
		found, _ := p.southbound.refresher(p.southbound.closed()).Descriptor(d)
		for _, kv := range found {
			if n := p.state.graph.Node(kv.Key); kv.Value != nil && (n == nil || foreign(n)) {
				use(kv.Key, d, kv.Value)
			}
		}
	}
}

// usedBy returns the keys of the values that a foreign value is a part of or depends on.
func (p *plans) usedBy(key string, d *registry.Descriptor, msg proto.Message) (keys []string) {
	if object, is := api.ForeignTo(key); is {
		keys = append(keys, object)
	}
	v, err := p.state.registry.Load().Read(key, d, msg)
	if err != nil {
		return keys // such a value cannot be planned either
	}
	for _, dep := range v.Deps {
		if dep.Key != "" {
			keys = append(keys, dep.Key)
		}
	}
	return keys
}

func someOf(keys []string) string {
	text := strings.Join(keys[:min(len(keys), maxUsers)], ", ")
	if n := len(keys) - maxUsers; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
