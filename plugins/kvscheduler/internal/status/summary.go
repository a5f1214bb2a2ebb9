package status

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// severity orders the states of values that are not in effect.
var severity = api.TroubleStates()

// Summary counts the values and the items by state, and returns the status of the worst: of each item
// the value that says most. It describes only those, so that it costs one pass over the graph.
func (r *Reader) Summary(filter api.ValueFilter, worst int) api.StateSummary {
	sum := api.StateSummary{Counts: map[api.ValueState]int{}, Items: map[api.ValueState]int{}}
	groups := map[*registry.Descriptor]map[api.ValueState]int{}
	t := troubles{r: r, wanted: worst, items: map[*graph.Node]trouble{}}
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
		if n.Base == nil {
			sum.Items[state]++
		}
		if i := slices.Index(severity, state); i >= 0 {
			t.add(n, i)
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
	sum.Troubles, sum.Worst = len(t.items), t.worst()
	selects := selector(filter)
	for item, of := range t.items {
		if own, counted := selects(item); counted {
			sum.Items[own]--
		}
		sum.Items[severity[of.severity]]++
	}
	maps.DeleteFunc(sum.Items, func(_ api.ValueState, n int) bool { return n == 0 })
	return sum
}

// troubles are the items that are not in effect: whose value, or one derived from it, is not.
type troubles struct {
	r        *Reader
	wanted   int // how many are to be described
	items    map[*graph.Node]trouble
	examined int
}

// trouble is the value of an item that says most about why it is not in effect.
type trouble struct {
	value    *graph.Node
	severity int  // index in severity
	cause    bool // it is no consequence of another trouble
}

// maxExamined is how many PENDING values are examined, in the order of keys, for whether another
// value is to blame. A missing interface can have a million routes that wait for it.
const maxExamined = 10_000

func (t *troubles) add(n *graph.Node, severe int) {
	now, known := t.items[n.Root()]
	is := trouble{value: n, severity: severe, cause: true}
	if severity[severe] == kvscheduler.ValueState_PENDING && t.wanted > 0 {
		t.examined++
		is.cause = t.examined <= maxExamined && !t.r.consequence(n)
	}
	if !known || is.severity < now.severity || is.severity == now.severity && is.cause && !now.cause {
		t.items[n.Root()] = is
	}
}

// worst returns the status of the worst values: causes before their consequences.
func (t *troubles) worst() (list []*api.ValueStatus) {
	order := func(a, b trouble) int {
		if c := cmp.Compare(a.severity, b.severity); c != 0 {
			return c
		}
		if a.cause != b.cause {
			if a.cause {
				return -1
			}
			return 1
		}
		return strings.Compare(a.value.Key, b.value.Key)
	}
	var first []trouble // the first ones, sorted
	for _, of := range t.items {
		if len(first) == t.wanted && (t.wanted == 0 || order(of, first[len(first)-1]) > 0) {
			continue
		}
		at, _ := slices.BinarySearchFunc(first, of, order)
		first = slices.Insert(first, at, of)
		first = first[:min(len(first), t.wanted)]
	}
	for _, of := range first {
		list = append(list, t.r.value(of.value))
	}
	return list
}

// consequence reports whether a PENDING value waits only for values that are desired and not in
// effect either.
func (r *Reader) consequence(n *graph.Node) bool {
	if n.Want == nil || r.Facts.SessionProblem(n.Desc.Session()) != "" {
		return false
	}
	waits, cause := false, false
	graph.Lacks(actual{r, n}, n.Want, func(_ int, dep *api.Dependency) bool {
		waits, cause = true, !r.desired(dep, func(*graph.Node) bool { return true })
		return !cause
	})
	return waits && !cause
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
		return state, ofState && ofKind && strings.HasPrefix(n.Key, filter.Prefix) && (part == "" || strings.Contains(strings.ToLower(n.Key), part))
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
