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

// effect returns the effect of a changed item of the source.
func (r *Result) effect(source string) (e Effect) {
	e.State = r.Status.GetValue().GetState()
	if r.Err != nil && r.Status == nil {
		return Effect{State: kvspb.ValueState_INVALID, Reason: r.Err.Error()}
	}
	for _, state := range api.TroubleStates() {
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
	for _, d := range r.Status.GetDerivedValues() {
		if d.GetState() != state {
			continue
		}
		if slices.ContainsFunc(d.GetWaitsFor(), func(w *kvspb.ValueStatus_Unmet) bool { return !w.GetOwn() }) {
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
	seen := map[string]bool{}
	for _, s := range append([]*api.ValueStatus{r.Status.GetValue()}, r.Status.GetDerivedValues()...) {
		for _, w := range s.GetWaitsFor() {
			if !w.GetOwn() && !seen[w.GetText()] {
				seen[w.GetText()] = true
				list = append(list, w)
			}
		}
	}
	return list
}

// Effects returns the effects of the items of a change of the source.
func Effects(source string, results []Result) ([]Effect, response.Summary) {
	effects := make([]Effect, len(results))
	inParallel(len(results), func(i int) { effects[i] = results[i].effect(source) })
	return effects, summarize(results, effects)
}

func summarize(results []Result, effects []Effect) response.Summary {
	s := response.Summary{}
	first := map[string]string{} // reasons
	for i, e := range effects {
		if e.InEffect() && results[i].Source == "" {
			s.Removed++
			continue
		}
		s.Items++
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
	s.Text = summaryText(&s, first)
	return s
}

// summaryText describes a summary; first are the reasons of the first item in each state.
func summaryText(s *response.Summary, first map[string]string) string {
	var parts []string
	if s.Items > 0 || s.Removed == 0 {
		parts = append(parts, fmt.Sprintf("%d of %d in effect", s.InEffect, s.Items))
	}
	states := api.TroubleStates()
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
	if s.Removed > 0 {
		parts = append(parts, fmt.Sprintf("%d removed", s.Removed))
	}
	return strings.Join(parts, ", ")
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
