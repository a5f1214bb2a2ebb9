package engine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/btree"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// ProblemStates lists the states of values with a problem, the worst one first: a value that waits has
// none.
func ProblemStates() []api.ValueState {
	return slices.DeleteFunc(api.TroubleStates(), func(s api.ValueState) bool { return s == kvscheduler.ValueState_PENDING })
}

// Problems summarizes the base values that have a problem, or that have a derived value
// with one.
type Problems struct {
	// Values counts the base values by the worst state of the value and its derived
	// values; states without values are absent.
	Values map[api.ValueState]int
	// Key is the first value in the worst state, and Reason its error. Without
	// problems both are empty.
	Key, Reason string
}

// problems is the set of base values with a problem. Only the worker uses it.
type problems struct {
	severity map[api.ValueState]int
	states   map[string]api.ValueState // by base key
	sorted   *btree.BTreeG[problem]    // the worst first, then by key
	counts   map[api.ValueState]int
	told     Problems
}

type problem struct {
	severity int // the position in ProblemStates
	key      string
}

func newProblems() problems {
	p := problems{
		severity: map[api.ValueState]int{}, states: map[string]api.ValueState{}, counts: map[api.ValueState]int{},
		sorted: btree.NewG(32, func(a, b problem) bool {
			return cmp.Or(cmp.Compare(a.severity, b.severity), cmp.Compare(a.key, b.key)) < 0
		}),
	}
	for i, state := range ProblemStates() {
		p.severity[state] = i
	}
	return p
}

// of returns the worst problem of a base value and its derived values, and the key of
// the value that has it; found is false if there is none.
func (p *problems) of(n *graph.Node) (state api.ValueState, key string, found bool) {
	if n == nil {
		return state, key, false
	}
	worst := len(p.severity)
	look := func(v *graph.Node) bool {
		s := plan.State(v)
		at, bad := p.severity[s]
		if bad && (at < worst || at == worst && key != n.Key && v.Key < key) {
			worst, state, key = at, s, v.Key
		}
		return true
	}
	look(n)
	n.Derived(look)
	return state, key, worst < len(p.severity)
}

// set records the problem of a base value, or that it has none.
func (p *problems) set(key string, state api.ValueState, found bool) {
	before, had := p.states[key]
	if had == found && before == state {
		return
	}
	if had {
		p.sorted.Delete(problem{p.severity[before], key})
		delete(p.states, key)
		if p.counts[before]--; p.counts[before] == 0 {
			delete(p.counts, before)
		}
	}
	if found {
		p.sorted.ReplaceOrInsert(problem{p.severity[state], key})
		p.states[key] = state
		p.counts[state]++
	}
}

// problemCounter reports the problems whenever they change. It belongs to the worker.
type problemCounter struct {
	*shared

	problems problems
	ignored  bool // Options has no Conditions: the problems are not counted
}

// note updates the problems of base values whose status may have changed, and reports
// the problems if they changed.
func (pc *problemCounter) note(changed []string) {
	if pc.ignored {
		return
	}
	p := &pc.problems
	cursor := pc.state.graph.Cursor(len(changed))
	for _, key := range changed {
		state, _, found := p.of(cursor.Node(key))
		if found || len(p.states) > 0 {
			p.set(key, state, found)
		}
	}
	now := Problems{Values: maps.Clone(p.counts)}
	if first, any := p.sorted.Min(); any {
		_, now.Key, _ = p.of(pc.state.graph.Node(first.key))
		now.Reason = pc.reasonOf(first.key, now.Key)
	}
	if maps.Equal(now.Values, p.told.Values) && now.Key == p.told.Key && now.Reason == p.told.Reason {
		return
	}
	p.told = now
	pc.conditions.Problems(now)
}

// reasonOf returns why the base value, or one derived from it, has a problem.
func (pc *problemCounter) reasonOf(base, key string) string {
	pc.state.mu.RLock()
	defer pc.state.mu.RUnlock()
	s := pc.statuses.reader().Base(base)
	i := slices.IndexFunc(s.DerivedValues, func(d *api.ValueStatus) bool { return d.Key == key })
	if i < 0 {
		return api.Reason(s.Value)
	}
	return api.Reason(s.DerivedValues[i])
}
