package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// queueLines returns names and values: the running and the waiting changes of
// the northbound and of the scheduler.
func queueLines(q *api.QueueStatus) (lines [][2]string) {
	add := func(name, format string, args ...any) {
		lines = append(lines, [2]string{name, fmt.Sprintf(format, args...)})
	}
	ch := q.Changes
	if ch != nil && ch.Running != nil {
		add("Change", "%s, for %v", withSource(ch.Running), rounded(ch.Running.For))
	}
	if r := q.Running; r != nil {
		what := r.Class
		if r.Description != "" {
			what += ": " + r.Description
		}
		add("Executing", "%s, for %v", what, rounded(r.For))
		if p := r.Progress; p != nil {
			add("Progress", "%s", cmdutil.ProgressText(p))
		}
	}
	if ch != nil && ch.Waiting > 0 {
		why := ""
		if ch.Closed {
			why = ", for the initial synchronisation"
		}
		most := ""
		if ch.MostWaiting > 1 {
			most = fmt.Sprintf(", %d from %s", ch.MostWaiting, ch.Most)
		}
		add("Waiting", "%d changes%s, the first for %v (%s; clients: %d of %d%s)",
			ch.Waiting, why, rounded(ch.OldestAge), counts(ch.Sources, nil), ch.Clients, ch.Capacity, most)
	}
	switch {
	case q.Length > 0:
		add("Scheduled", "%d, the first for %v (%s)", q.Length, rounded(q.OldestAge), counts(q.Waiting, map[string]int{"northbound": q.Capacity}))
	case ch == nil || ch.Waiting == 0:
		add("Waiting", "nothing")
	}
	if ch != nil && ch.Refused > 0 {
		add("Refused", "%d changes of clients, as %d waited (queue-capacity in orchestrator.conf)", ch.Refused, ch.Capacity)
	}
	return lines
}

func writeQueue(f *cmdutil.Factory, b *strings.Builder, q *api.QueueStatus) {
	for _, l := range queueLines(q) {
		f.WriteField(b, fmt.Sprintf("    %-13s", l[0]+":"), l[1])
	}
}

func withSource(r *api.RunningChange) string {
	if r.Source == "" {
		return r.What
	}
	return r.What + " (" + r.Source + ")"
}

// counts returns "northbound: 2 of 200, notifications: 1", without zero counts.
func counts(of, bounds map[string]int) string {
	var parts []string
	for name, n := range of {
		part := fmt.Sprintf("%s: %d", name, n)
		if bound, ok := bounds[name]; ok {
			part += fmt.Sprintf(" of %d", bound)
		}
		if n > 0 {
			parts = append(parts, part)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

func rounded(s api.Seconds) time.Duration { return time.Duration(s).Round(time.Millisecond) }
