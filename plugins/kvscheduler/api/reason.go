package api

import (
	"strings"

	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

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
