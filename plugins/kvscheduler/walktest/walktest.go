// Package walktest tests that the state of a southbound does not depend on history: after any
// sequence of configurations, each replacing the one before it, the southbound has the same state
// as a fresh one that gets only the last.
package walktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Values are items by their keys.
type Values = map[string]proto.Message

// Step is a configuration that replaces the one before it.
type Step struct {
	Values Values
	// Restart restarts the agent before the step.
	Restart bool
	// Changes makes the step a transaction with the differences from the step before, instead of
	// a resync.
	Changes bool
}

// World is an agent with its southbound.
type World interface {
	// Apply makes the configuration of a step the only one. Items that are refused stay failed.
	Apply(Step)
	// State returns the state of the southbound, line by line. The order does not matter.
	State() []string
	// ListValueStatus returns the states of all items if the argument is empty. Items that are not
	// configured belong to the state.
	ListValueStatus(keyPrefix string) []*api.BaseValueStatus
	// End ends the agent and the southbound.
	End()
}

// Walks are random walks over configurations.
type Walks struct {
	Count, Steps int
	// Seed is the seed of the first walk. The following walks have the following numbers.
	Seed uint64
	// Generate returns a function that returns one step after the other.
	Generate func(seed uint64) (next func() Step)
	// Start starts a fresh world.
	Start func() World
	// Settle is how long a difference may last until the southbound has done what it does in its
	// own time.
	Settle time.Duration

	// ended is called with the steps so far if a world ends the test.
	ended func([]Step)
}

// Run walks. The first walk with a difference is shrunk.
func (w Walks) Run(t *testing.T) {
	t.Helper()
	tried, items, different := 0, 0, 0
	for n := range w.Count {
		seed := w.Seed + uint64(n)
		next := w.Generate(seed)
		steps := make([]Step, w.Steps)
		for s := range steps {
			steps[s] = next()
			items += len(steps[s].Values)
		}
		w.ended = func(so []Step) { t.Logf("walk %d ended the test:\n%s", seed, describe(so)) }
		at, diff := w.diverges(steps)
		if diff == "" {
			tried += len(steps)
			continue
		}
		tried += at + 1
		different++
		t.Errorf("walk %d, step %d of %d: the state depends on history\n%s", seed, at+1, len(steps), diff)
		if different == 1 {
			s := shrinking{Walks: w, steps: steps[:at+1], diff: diff, until: time.Now().Add(shrinkTime)}
			s.shrink()
			t.Errorf("the shortest walk with it:\n%s%s", describe(s.steps), s.diff)
		}
	}
	t.Logf("%d walks, %d of them with differences; %d configurations, %d items", w.Count, different, tried, items)
}

// diverges walks over the configurations and returns the first one after which the state
// differs from a fresh one, and the difference.
func (w Walks) diverges(steps []Step) (at int, diff string) {
	walked, whole := w.Start(), false
	defer walked.End()
	defer func() {
		if !whole && w.ended != nil {
			w.ended(steps[:at+1])
		}
	}()
	for n, step := range steps {
		at = n
		walked.Apply(step)
		diff, invalid := w.differs(walked, step)
		if invalid != "" {
			diff = "the item is invalid: " + invalid
		}
		if diff != "" {
			whole = true
			return n, diff
		}
	}
	whole = true
	return 0, ""
}

// Diverges walks over the configurations. It describes the first one after which the state differs
// from a fresh one, with those before it; empty: there is none.
func (w Walks) Diverges(steps []Step) string {
	at, diff := w.diverges(steps)
	if diff == "" {
		return ""
	}
	return describe(steps[:at+1]) + diff
}

// differs returns the difference of a world from a fresh one, and an item of the step that is
// invalid: of that the world keeps what it had.
func (w Walks) differs(walked World, step Step) (diff, invalid string) {
	fresh := w.Start()
	defer fresh.End()
	fresh.Apply(Step{Values: step.Values})
	deadline := time.Now().Add(w.Settle)
	for pause := w.Settle / 50; ; pause *= 2 {
		was, is := read(walked), read(fresh)
		diff := was.difference(is)
		if diff == "" || !time.Now().Before(deadline) {
			return diff, is.invalid
		}
		<-time.After(pause)
	}
}

// state is the state of a world.
type state struct {
	lines   map[string]int    // how often there is a line
	errors  map[string]string // of lines about items
	invalid string            // an item that is invalid, with the error
}

func read(w World) state {
	s := state{map[string]int{}, map[string]string{}, ""}
	for _, line := range w.State() {
		s.lines[line]++
	}
	for _, status := range w.ListValueStatus("") {
		for _, v := range append(status.GetDerivedValues(), status.GetValue()) {
			switch v.GetState() {
			case kvscheduler.ValueState_CONFIGURED, kvscheduler.ValueState_OBTAINED, kvscheduler.ValueState_DISCOVERED:
				continue
			case kvscheduler.ValueState_INVALID:
				s.invalid = v.GetKey() + ": " + v.GetError()
			}
			what := v.GetState()
			if what == kvscheduler.ValueState_RETRYING { // whether it does depends on the attempts so far
				what = kvscheduler.ValueState_FAILED
			}
			line := fmt.Sprintf("value %s is %s", v.GetKey(), what)
			s.lines[line]++
			s.errors[line] = v.GetError()
		}
	}
	return s
}

// difference returns the lines that differ between a state after a walk and a fresh one.
func (s state) difference(fresh state) string {
	var lines []string
	add := func(some, others state, what string) {
		for line, n := range some.lines {
			if n > others.lines[line] {
				lines = append(lines, strings.TrimSpace(line+"\n  "+some.errors[line])+"\n  "+what+"\n")
			}
		}
	}
	add(s, fresh, "only after the walk")
	add(fresh, s, "only with the last configuration alone")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// shrinkTime is how long a walk is shrunk.
const shrinkTime = 2 * time.Minute

// shrinking is a walk whose last step has a difference.
type shrinking struct {
	Walks
	steps []Step
	diff  string
	until time.Time
}

// shrink removes steps, items and kinds of steps as long as the state still differs.
func (s *shrinking) shrink() {
	for n := 0; n < len(s.steps)-1; {
		if !s.smaller(slices.Delete(slices.Clone(s.steps), n, n+1)) {
			n++
		}
	}
	for n := range s.steps {
		if s.steps[n].Restart {
			s.simplify(n, func(step *Step) { step.Restart = false })
		}
		if s.steps[n].Changes {
			s.simplify(n, func(step *Step) { step.Changes = false })
		}
		keys := slices.Sorted(maps.Keys(s.steps[n].Values))
		for size := (len(keys) + 1) / 2; size > 0; size /= 2 {
			for chunk := range slices.Chunk(slices.Clone(keys), size) {
				if s.simplify(n, func(step *Step) {
					step.Values = maps.Clone(step.Values)
					maps.DeleteFunc(step.Values, func(key string, _ proto.Message) bool { return slices.Contains(chunk, key) })
				}) {
					keys = slices.DeleteFunc(keys, func(key string) bool { return slices.Contains(chunk, key) })
				}
			}
		}
	}
	for n := range s.steps {
		for _, key := range slices.Sorted(maps.Keys(s.steps[n].Values)) {
			s.shrinkItem(n, key)
		}
	}
}

// shrinkItem removes fields of an item as long as the state still differs.
func (s *shrinking) shrinkItem(n int, key string) {
	s.steps[n].Values[key].ProtoReflect().Range(func(field protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		s.simplify(n, func(step *Step) {
			v := proto.Clone(step.Values[key])
			v.ProtoReflect().Clear(field)
			step.Values = maps.Clone(step.Values)
			step.Values[key] = v
		})
		return true
	})
}

// simplify keeps a change of a step if the state still differs.
func (s *shrinking) simplify(n int, change func(*Step)) bool {
	steps := slices.Clone(s.steps)
	change(&steps[n])
	return s.smaller(steps)
}

// smaller keeps steps if the state differs after the last one alone, and no item has become invalid.
func (s *shrinking) smaller(steps []Step) bool {
	if time.Now().After(s.until) {
		return false
	}
	walked := s.Start()
	defer walked.End()
	for n, step := range steps {
		walked.Apply(step)
		diff, invalid := s.differs(walked, step)
		switch last := n == len(steps)-1; {
		case invalid != "", last && diff == "", !last && diff != "":
			return false
		case last:
			s.steps, s.diff = steps, diff
		}
	}
	return true
}

func describe(steps []Step) string {
	var b strings.Builder
	for n, step := range steps {
		fmt.Fprintf(&b, "step %d", n+1)
		if step.Restart {
			b.WriteString(", after a restart of the agent")
		}
		if step.Changes {
			b.WriteString(", as changes of the step before")
		}
		b.WriteString("\n")
		for _, key := range slices.Sorted(maps.Keys(step.Values)) {
			fmt.Fprintf(&b, "  %s %s\n", key, Text(step.Values[key]))
		}
	}
	return b.String()
}

// Text returns a message as one line of JSON with the names of the schema.
func Text(m proto.Message) string {
	var compact bytes.Buffer
	b, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err == nil {
		err = json.Compact(&compact, b)
	}
	if err != nil {
		return err.Error()
	}
	return compact.String()
}
