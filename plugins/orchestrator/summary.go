package orchestrator

import (
	"context"
	"fmt"
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
	// Shadowed is set if the value of another source is in effect.
	Shadowed bool

	key string // of the value with that State: the item, or a derived value
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
	e.State, e.key = r.Status.GetValue().GetState(), r.Key
	if r.Err != nil && r.Status == nil {
		return Effect{State: kvspb.ValueState_INVALID, Reason: r.Err.Error(), key: r.Key}
	}
	for _, state := range effectStates() {
		if s := r.inState(state); s != nil {
			e.State, e.Reason, e.key = state, api.Reason(s), s.GetKey()
			if e.key != r.Key {
				e.Reason = e.key + ": " + e.Reason
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

// inState returns the value, or else the first derived one, in a state.
func (r *Result) inState(state api.ValueState) *api.ValueStatus {
	if v := r.Status.GetValue(); v.GetState() == state {
		return v
	}
	for _, d := range r.Status.GetDerivedValues() {
		if d.GetState() == state {
			return d
		}
	}
	return nil
}

// maxNamed is the number of pending items of a change whose reasons contain the
// keys they wait for; further ones have the labels of the dependencies.
const maxNamed = 100

// Effects returns the effects of the items of a change of the source.
func (p *Plugin) Effects(source string, results []Result) ([]Effect, response.Summary) {
	effects := make([]Effect, len(results))
	inParallel(len(results), func(i int) { effects[i] = results[i].effect(source) })
	named := 0
	for i := range effects {
		e := &effects[i]
		if e.State != kvspb.ValueState_PENDING || e.Reason == "" || named == maxNamed {
			continue
		}
		named++
		if reason := p.Scheduler.Reason(e.key); reason != "" {
			e.Reason = reason
			if e.key != results[i].Key {
				e.Reason = e.key + ": " + reason
			}
		}
	}
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
