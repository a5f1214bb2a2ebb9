package status

import (
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// severity orders the states of values that are not in effect, the worst first.
var severity = []kvscheduler.ValueState{
	kvscheduler.ValueState_FAILED, kvscheduler.ValueState_INVALID, kvscheduler.ValueState_RETRYING,
	kvscheduler.ValueState_MISSING, kvscheduler.ValueState_UNIMPLEMENTED, kvscheduler.ValueState_PENDING,
}

// Summary counts the values by state and returns the status of the worst. It describes
// only those, so that it costs one pass over the graph.
func (r *Reader) Summary(filter api.ValueFilter, worst int) api.StateSummary {
	sum := api.StateSummary{Counts: map[api.ValueState]int{}}
	found := make([][]*graph.Node, len(severity))
	groups := map[*registry.Descriptor]map[api.ValueState]int{}
	r.each(filter, "", func(n *graph.Node, state api.ValueState) bool {
		if n.Desc != nil && n.Desc.Unrecorded {
			return true
		}
		counts := groups[n.Desc]
		if counts == nil {
			counts = map[api.ValueState]int{}
			groups[n.Desc] = counts
		}
		counts[state]++
		if i := slices.Index(severity, state); i >= 0 {
			sum.Troubles++
			if len(found[i]) < worst {
				found[i] = append(found[i], n)
			}
		}
		return true
	})
	for d, counts := range groups {
		sum.Groups = append(sum.Groups, api.ValueGroup{Descriptor: d.NameOf(), Counts: counts})
		for state, n := range counts {
			sum.Counts[state] += n
		}
	}
	slices.SortFunc(sum.Groups, func(a, b api.ValueGroup) int { return strings.Compare(a.Descriptor, b.Descriptor) })
	for _, nodes := range found {
		for _, n := range nodes[:min(len(nodes), worst-len(sum.Worst))] {
			sum.Worst = append(sum.Worst, r.value(n))
		}
	}
	return sum
}

// each calls yield for the values of a filter after a key, in the order of keys.
func (r *Reader) each(filter api.ValueFilter, after string, yield func(*graph.Node, api.ValueState) bool) {
	selects := selector(filter)
	for n := range r.Graph.From(max(filter.Prefix, after)) {
		if !strings.HasPrefix(n.Key, filter.Prefix) {
			return
		}
		if state, ok := selects(n); ok && (after == "" || n.Key > after) && !yield(n, state) {
			return
		}
	}
}

// selector returns a function that reports whether a filter selects a value, and its state.
func selector(filter api.ValueFilter) func(*graph.Node) (api.ValueState, bool) {
	part := strings.ToLower(filter.Contains)
	return func(n *graph.Node) (api.ValueState, bool) {
		state := plan.State(n)
		ofState := state != kvscheduler.ValueState_NONEXISTENT && (len(filter.States) == 0 || slices.Contains(filter.States, state))
		ofKind := len(filter.Descriptors) == 0 || slices.Contains(filter.Descriptors, n.Desc.NameOf())
		return state, ofState && ofKind && (part == "" || strings.Contains(strings.ToLower(n.Key), part))
	}
}

// Page returns a page of values.
func (r *Reader) Page(page api.ValuePage) (list []api.ListedValue) {
	if page.Limit <= 0 {
		return nil
	}
	r.each(page.ValueFilter, page.After, func(n *graph.Node, _ api.ValueState) bool {
		v := api.ListedValue{Status: r.value(n), Descriptor: n.Desc.NameOf(), Owner: n.Owner.String(), Since: r.Facts.TxnStart(n.LastTxn)}
		if n.Base != nil {
			v.Base = n.Base.Key
		}
		list = append(list, v)
		return len(list) < page.Limit
	})
	return list
}
