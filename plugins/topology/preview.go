package topology

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/topology/response"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// planned returns what the picture depends on after a plan.
func planned(in input, plan *api.Plan) input {
	ops := map[string]*api.RecordedTxnOp{} // the last operation of each value
	parts := map[string]map[string]bool{}  // the derived values with operations, by item
	for i := range plan.Operations {
		op := &plan.Operations[i]
		ops[op.Key] = op
		if op.IsDerived {
			if parts[op.Base] == nil {
				parts[op.Base] = map[string]bool{}
			}
			parts[op.Base][op.Key] = true
		}
	}
	after := in
	after.values, after.reasons = map[string][]value{}, map[string]string{}
	for _, r := range plan.Reasons {
		after.reasons[r.Key] = r.Reason
	}
	after.links = maps.Clone(in.links)
	for model, values := range in.values {
		if known, ok := in.models.ForName(model); ok {
			for key := range ops { // the link of an interface that changes is not known
				if known.Matches(key) {
					delete(after.links, linkName{model, known.Label(key)})
				}
			}
			after.values[model] = plannedValues(known, values, ops, parts)
		}
	}
	return after
}

// plannedValues returns the values of a model after a plan, sorted by key.
func plannedValues(known models.Known, values []value, ops map[string]*api.RecordedTxnOp, parts map[string]map[string]bool) (list []value) {
	had := map[string]bool{}
	for _, v := range values {
		had[v.key] = true
		op := ops[v.key]
		switch {
		case op == nil && parts[v.key] == nil:
			list = append(list, v)
			continue
		case op != nil && gone(op.NewState):
			continue
		case op != nil && op.NewValue != nil:
			v.message, v.found = op.NewValue, false
		}
		v.status = plannedStatus(v, op, ops, parts[v.key])
		list = append(list, v)
	}
	for key, op := range ops {
		if !had[key] && known.Matches(key) && op.NewValue != nil && !op.IsDerived {
			v := value{key: key, message: op.NewValue}
			v.status = plannedStatus(v, op, ops, parts[key])
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b value) int { return strings.Compare(a.key, b.key) })
	return list
}

func gone(state api.ValueState) bool {
	return state == kvscheduler.ValueState_REMOVED || state == kvscheduler.ValueState_NONEXISTENT
}

// plannedStatus returns the status of an item after a plan.
func plannedStatus(v value, op *api.RecordedTxnOp, ops map[string]*api.RecordedTxnOp, parts map[string]bool) *api.BaseValueStatus {
	out := &api.BaseValueStatus{Value: v.status.GetValue()}
	if op != nil {
		out.Value = statusAfter(op)
	}
	for _, s := range v.status.GetDerivedValues() {
		if !parts[s.GetKey()] {
			out.DerivedValues = append(out.DerivedValues, s)
		}
	}
	for key := range parts {
		if op := ops[key]; !gone(op.NewState) {
			out.DerivedValues = append(out.DerivedValues, statusAfter(op))
		}
	}
	return out
}

func statusAfter(op *api.RecordedTxnOp) *api.ValueStatus {
	return &api.ValueStatus{Key: op.Key, State: op.NewState, Error: op.NewErrMsg}
}

// difference returns the picture after a plan, with the changes from the one before, and what goes.
func difference(before, after response.Network, changed map[string]bool) response.Network {
	was := map[string]response.Node{}
	for _, n := range before.Nodes {
		was[n.ID] = n
	}
	out := after
	out.Nodes, out.Links, out.Boxes = nil, slices.Clone(after.Links), slices.Clone(after.Boxes)
	is := map[string]bool{}
	for _, n := range after.Nodes {
		is[n.ID] = true
		former, existed := was[n.ID]
		switch {
		case !existed || former.State == response.Missing && n.State != response.Missing:
			n.Change = response.Appears
		case n.State == response.Missing && former.State != response.Missing:
			n.Change = response.Goes
		case slices.ContainsFunc(n.Items, func(i response.Item) bool { return changed[i.Key] }):
			n.Change = response.Changes
		}
		out.Nodes = append(out.Nodes, n)
	}
	for _, n := range before.Nodes {
		if !is[n.ID] {
			n.Change = response.Goes
			out.Nodes = append(out.Nodes, n)
		}
	}
	out.Links = changedLinks(before.Links, out.Links)
	for _, b := range before.Boxes {
		if !slices.Contains(out.Boxes, b) {
			out.Boxes = append(out.Boxes, b)
		}
	}
	sortNetwork(&out)
	out.Total = len(out.Nodes)
	return out
}

// changedLinks returns the links after a plan, with the changes, and those that go.
func changedLinks(before, after []response.Link) []response.Link {
	id := func(l response.Link) linkID { return linkID{l.From, l.To, l.Kind} }
	was, is := map[linkID]bool{}, map[linkID]bool{}
	for _, l := range before {
		was[id(l)] = true
	}
	for i := range after {
		is[id(after[i])] = true
		if !was[id(after[i])] {
			after[i].Change = response.Appears
		}
	}
	for _, l := range before {
		if !is[id(l)] {
			l.Change = response.Goes
			after = append(after, l)
		}
	}
	return after
}

// changedItems returns the keys of the items whose messages a plan changes.
func changedItems(before, after input) map[string]bool {
	changed, was := map[string]bool{}, map[string]proto.Message{}
	for _, values := range before.values {
		for _, v := range values {
			was[v.key] = v.message
		}
	}
	for _, values := range after.values {
		for _, v := range values {
			if former, existed := was[v.key]; existed && !proto.Equal(former, v.message) {
				changed[v.key] = true
			}
		}
	}
	return changed
}
