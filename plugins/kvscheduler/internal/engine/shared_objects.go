package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// maxUsers limits how many keys of other processes a reason names.
const maxUsers = 5

// sharedObjects names, for each value that a plan deletes or creates again, what other processes
// have in its object: their foreign parts of it, and foreign values that depend on it. It reads the
// parts if the descriptor has ForeignParts; the others are those of the last reading.
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
	users := p.readParts(removed)
	for n := range p.state.graph.Nodes {
		if !foreign(n) {
			continue
		}
		for _, key := range p.usedBy(n) {
			if removed[key] != nil && removed[n.Key] == nil {
				users[key] = append(users[key], n.Key)
			}
		}
	}
	for key, others := range users {
		slices.Sort(others)
		effect := "deleted with it, although other processes made it: "
		if removed[key].Desc.KeepsShared {
			effect = "left in the southbound, because other processes use it: "
		}
		list = append(list, api.PlanReason{Key: key, Reason: effect + someOf(slices.Compact(others))})
	}
	return list
}

// readParts reads the foreign parts of the removed values whose descriptors have ForeignParts. Parts
// that cannot be read are not named.
func (p *plans) readParts(removed map[string]*plan.Op) map[string][]string {
	users, read := map[string][]string{}, map[*registry.Descriptor]bool{}
	for _, op := range removed {
		if !op.Desc.ForeignParts || read[op.Desc] {
			continue
		}
		read[op.Desc] = true
		found, _ := p.southbound.refresher(p.southbound.closed()).Descriptor(op.Desc)
		for _, kv := range found {
			if object, is := api.ForeignTo(kv.Key); is && removed[object] != nil {
				users[object] = append(users[object], kv.Key)
			}
		}
	}
	return users
}

// usedBy returns the keys of the values that a foreign value is a part of or depends on.
func (p *plans) usedBy(n *graph.Node) (keys []string) {
	if object, is := api.ForeignTo(n.Key); is {
		return []string{object}
	}
	v, err := p.state.registry.Load().Read(n.Key, n.Desc, n.Have.Msg)
	if err != nil {
		return nil // such a value cannot be planned either
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
