package api

import (
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// TroubleStates returns the states of values that are not in effect, the worst first.
func TroubleStates() []ValueState {
	return []ValueState{
		kvscheduler.ValueState_FAILED, kvscheduler.ValueState_RETRYING, kvscheduler.ValueState_MISSING,
		kvscheduler.ValueState_INVALID, kvscheduler.ValueState_UNIMPLEMENTED, kvscheduler.ValueState_PENDING,
	}
}

// StateOfItem returns the state of an item: the worst of its value and of those derived from it.
func StateOfItem(s *BaseValueStatus) ValueState {
	for _, state := range TroubleStates() {
		is := func(v *ValueStatus) bool { return v.GetState() == state }
		if is(s.GetValue()) || slices.ContainsFunc(s.GetDerivedValues(), is) {
			return state
		}
	}
	return s.GetValue().GetState()
}

// WaitsForItself begins the last of the details of a PENDING value that is part
// of a cycle.
const WaitsForItself = "waits for itself: "

// Reason says why a value is in its state: the error, or what it waits for and the error
// of the last attempt; empty if there is nothing to say.
func Reason(s *ValueStatus) string {
	switch {
	case s.GetState() == kvscheduler.ValueState_PENDING:
		var waits []string
		for _, w := range s.GetWaitsFor() {
			waits = append(waits, w.GetText())
		}
		if len(waits) == 0 {
			waits = s.GetDetails() // of a status that was published
		}
		if s.GetError() != "" {
			return waitsFor(waits) + "; last error: " + s.GetError()
		}
		return waitsFor(waits)
	case s.GetError() != "":
		return s.GetError()
	case s.GetState() == kvscheduler.ValueState_UNIMPLEMENTED:
		return "no plugin of this agent handles it"
	case s.GetState() == kvscheduler.ValueState_MISSING:
		return "it disappeared from the southbound; a resync brings it back"
	}
	return ""
}

// waitsFor describes what a PENDING value waits for.
func waitsFor(waits []string) string {
	if len(waits) == 0 {
		return "everything it needs exists; it is about to be created"
	}
	circle := ""
	if last := len(waits) - 1; strings.HasPrefix(waits[last], WaitsForItself) {
		waits, circle = waits[:last], waits[last]
	}
	text := "waits for " + strings.Join(waits, ", ")
	if len(waits) == 0 {
		text = ""
	}
	return strings.Trim(text+"; "+circle, "; ")
}
