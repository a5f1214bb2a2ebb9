package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
	kvspb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Effect is the effect of one item of a change.
type Effect struct {
	// State is the worst state of the value and its derived values, and Reason
	// why it is not in effect; empty if it is.
	State  api.ValueState
	Reason string
	// WaitsFor is what the item and the values derived from it wait for, if it is PENDING.
	WaitsFor []*kvspb.ValueStatus_Unmet
	// Shadowed is set if the value of another source is in effect.
	Shadowed bool
}

// InEffect reports whether the item is in effect.
func (e Effect) InEffect() bool { return e.Reason == "" }

// effectStates returns the states of values that are not in effect, from the worst
// on.
func effectStates() []api.ValueState {
	return []api.ValueState{
		kvspb.ValueState_FAILED, kvspb.ValueState_RETRYING, kvspb.ValueState_MISSING, kvspb.ValueState_INVALID,
		kvspb.ValueState_UNIMPLEMENTED, kvspb.ValueState_PENDING,
	}
}

// effect returns the effect of a changed item of the source.
func (r *Result) effect(source string) (e Effect) {
	e.State = r.Status.GetValue().GetState()
	if r.Err != nil && r.Status == nil {
		return Effect{State: kvspb.ValueState_INVALID, Reason: r.Err.Error()}
	}
	for _, state := range effectStates() {
		if s := r.inState(state); s != nil {
			e.State, e.Reason = state, api.Reason(s)
			if state == kvspb.ValueState_PENDING {
				e.WaitsFor = r.waitsFor()
			}
			if s.GetKey() != r.Key {
				e.Reason = s.GetKey() + ": " + e.Reason
			}
			return e
		}
	}
	switch {
	case r.Err != nil:
		e.Reason = r.Err.Error()
	case r.Source != "" && r.Source != source:
		e.Shadowed, e.Reason = true, "the value of source "+r.Source+" is in effect"
	}
	return e
}

// inState returns the value in a state, or else a derived one: of several that are PENDING the
// first one that waits for another item, because the others may wait for it.
func (r *Result) inState(state api.ValueState) (found *api.ValueStatus) {
	if v := r.Status.GetValue(); v.GetState() == state {
		return v
	}
	derived := r.Status.GetDerivedValues()
	for _, d := range derived {
		if d.GetState() != state {
			continue
		}
		if waitsForOthers(d, derived) {
			return d
		}
		if found == nil {
			found = d
		}
	}
	return found
}

// waitsFor returns what the item and its derived values wait for, each once, except for each other.
func (r *Result) waitsFor() (list []*kvspb.ValueStatus_Unmet) {
	own := append([]*api.ValueStatus{r.Status.GetValue()}, r.Status.GetDerivedValues()...)
	seen := map[string]bool{}
	for _, s := range own {
		seen[s.GetKey()] = true
	}
	for _, s := range own {
		for _, w := range s.GetWaitsFor() {
			if w.GetKey() != "" && !seen[w.GetKey()] {
				seen[w.GetKey()] = true
				list = append(list, w)
			}
		}
	}
	return list
}

// waitsForOthers reports whether a value waits for the key of a value that is not among the others.
func waitsForOthers(s *api.ValueStatus, others []*api.ValueStatus) bool {
	return slices.ContainsFunc(s.GetWaitsFor(), func(w *kvspb.ValueStatus_Unmet) bool {
		return w.GetKey() != "" && !slices.ContainsFunc(others, func(o *api.ValueStatus) bool { return o.GetKey() == w.GetKey() })
	})
}

// Effects returns the effects of the items of a change of the source.
func Effects(source string, results []Result) ([]Effect, response.Summary) {
	effects := make([]Effect, len(results))
	inParallel(len(results), func(i int) { effects[i] = results[i].effect(source) })
	return effects, summarize(results, effects)
}

func summarize(results []Result, effects []Effect) response.Summary {
	s := response.Summary{Items: len(results)}
	first := map[string]string{} // reasons
	for i, e := range effects {
		state := e.State.String()
		switch {
		case e.InEffect():
			s.InEffect++
			continue
		case e.Shadowed:
			s.Shadowed++
			continue
		}
		if e.State != kvspb.ValueState_PENDING {
			s.Failed++
		}
		if s.States == nil {
			s.States = map[string]int{}
		}
		if s.States[state]++; s.States[state] == 1 {
			first[state] = e.Reason
			if len(results) > 1 {
				first[state] = results[i].Key + " " + e.Reason
			}
		}
	}
	parts := []string{fmt.Sprintf("%d of %d in effect", s.InEffect, s.Items)}
	states := effectStates()
	for i := range states { // pending items come first
		name := states[(i+len(states)-1)%len(states)].String()
		n := s.States[name]
		switch reason := first[name]; {
		case n == 0:
			continue
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s (first %s)", n, shown(name), reason))
		default:
			parts = append(parts, fmt.Sprintf("1 %s (%s)", shown(name), reason))
		}
	}
	if s.Shadowed > 0 {
		parts = append(parts, fmt.Sprintf("%d overridden by another source", s.Shadowed))
	}
	s.Text = strings.Join(parts, ", ")
	return s
}

func shown(state string) string {
	if state == kvspb.ValueState_PENDING.String() {
		return "pending"
	}
	return state
}

// WaitFor waits until the values put by a change are configured, and the
// removed ones are removed unless another source desires them. It returns the
// error of the scheduler's WaitFor, which ends the wait as soon as a value
// cannot reach its state.
func (p *Plugin) WaitFor(ctx context.Context, items []KeyVal, results []Result) error {
	var up, down []string
	for i, it := range items {
		switch {
		case it.Val != nil:
			up = append(up, it.Key)
		case results[i].Source == "":
			down = append(down, it.Key)
		}
	}
	for _, w := range []api.WaitRequest{{Keys: up}, {Keys: down, States: []api.ValueState{kvspb.ValueState_NONEXISTENT}}} {
		if len(w.Keys) == 0 {
			continue
		}
		if err := p.Scheduler.WaitFor(ctx, w); err != nil {
			return err
		}
	}
	return nil
}
