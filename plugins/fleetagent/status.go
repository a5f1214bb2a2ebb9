package fleetagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/holder"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

const (
	// statusInterval is how often an agent looks whether its status has changed. While it changes all the time, it is
	// written every busyInterval, after a few times at once.
	statusInterval = time.Second
	busyInterval   = 10 * time.Second
	// shownFindings is how many items of each kind a status names.
	shownFindings = 5
	// keptHistory is how many confirmed revisions an agent remembers.
	keptHistory = 20
	// longestReason is the limit of a reason in a status.
	longestReason = 300
)

// Values describes the values of the agent. The scheduler implements it.
type Values interface {
	Revision() api.StatusRevision
	SummarizeStates(worst int) api.StateSummary
	LastDrift() *api.DriftReport
}

// past is what an agent has confirmed, and since when it is in its state. It is stored.
type past struct {
	History []store.Confirmed `json:"history"`
	Since   time.Time         `json:"since,omitzero"`
}

const pastKey = "past"

// note records a change of the memory.
func (p past) note(before, after rollout.Memory, now time.Time) past {
	if before.State != after.State || before.Assignment != after.Assignment {
		p.Since = now
	}
	if after.State == rollout.Confirmed && (before.State != rollout.Confirmed || before.Assignment != after.Assignment) {
		p.History = append(slices.Clone(p.History), store.Confirmed{Revision: after.Confirmed, Rollout: after.Assignment.Rollout, Time: now})
		p.History = p.History[max(0, len(p.History)-keptHistory):]
	}
	return p
}

// statusWriter writes the status of an agent when it has changed.
type statusWriter struct {
	*member

	written store.Status
	at      time.Time // of the last write
	wrote   int       // recent writes

	revision api.StatusRevision // that the summary is of
	summary  store.Status       // Items, Waiting and Trouble
	report   *api.DriftReport   // that drift is of
	drift    *store.Findings
	rival    bool // another agent has the label, and that was written
}

// watchStatus writes the status until ctx ends.
func (m *member) watchStatus(ctx context.Context) {
	w := &statusWriter{member: m}
	tick := time.NewTicker(statusInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			w.stopped(context.WithoutCancel(ctx))
			return
		case <-tick.C:
		case <-m.changed:
			if m.metrics.memory.Load().State != rollout.Confirmed {
				continue // with the next tick: the states of a rollout follow fast
			}
		}
		if err := w.look(ctx); err != nil {
			m.Log.Debug("the status in the fleet was not written", "error", err)
		}
	}
}

// look writes the status if it has changed.
func (w *statusWriter) look(ctx context.Context) error {
	var held *holder.HeldError
	err := w.Engine.Usable()
	if err != nil && !errors.As(err, &held) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if held != nil {
		return w.writeRival(ctx)
	}
	if w.rival {
		if err := w.fleet.RemoveRival(ctx, w.label); err != nil {
			return err
		}
		w.rival = false
	}
	return w.write(ctx, w.status())
}

// writeRival says that another agent has the label.
func (w *statusWriter) writeRival(ctx context.Context) error {
	if w.rival {
		return nil
	}
	err := w.fleet.WriteRival(ctx, w.label, w.hold)
	w.rival = err == nil
	return err
}

// stopped says that the agent was stopped.
func (w *statusWriter) stopped(ctx context.Context) {
	if w.at.IsZero() || w.Engine.Usable() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, retryInterval)
	defer cancel()
	s := w.written
	s.Stopped = time.Now().UTC()
	s.Reported = s.Stopped
	if err := w.fleet.WriteStatus(ctx, w.label, s); err != nil {
		w.Log.Debug("the end was not written into the fleet", "error", err)
	}
}

// write writes a status that has changed, unless the last ones were written shortly before.
func (w *statusWriter) write(ctx context.Context, s store.Status) error {
	s.Reported = w.written.Reported
	if !w.at.IsZero() && reflect.DeepEqual(s, w.written) {
		return nil
	}
	const freely = 5
	wrote := max(0, w.wrote-int(time.Since(w.at)/busyInterval))
	if wrote >= freely && reflect.DeepEqual(s.History, w.written.History) { // a confirmed revision is written at once
		return nil
	}
	s.Reported = time.Now().UTC().Truncate(time.Second)
	if err := w.fleet.WriteStatus(ctx, w.label, s); err != nil {
		return err
	}
	w.wrote, w.written, w.at = wrote+1, s, time.Now()
	return nil
}

// status returns the status of now.
func (w *statusWriter) status() store.Status {
	w.read()
	s := store.Status{
		Instance: w.hold.Instance, Host: w.hold.Host, Started: w.started.UTC().Truncate(time.Second),
		Items: w.summary.Items, Waiting: w.summary.Waiting, Trouble: w.summary.Trouble, Drift: w.drift,
	}
	if p := w.past.Load(); p != nil {
		s.Since, s.History = p.Since, p.History
	}
	w.mu.Lock()
	s.NotFollowed = w.notFollowed
	w.mu.Unlock()
	return s
}

// read reads what has changed in the scheduler.
func (w *statusWriter) read() {
	if w.Values == nil {
		return
	}
	if r := w.Values.Revision(); r != w.revision || w.summary.Items == 0 {
		w.revision = r
		w.summary = summarize(w.Values.SummarizeStates(shownFindings), w.summary.Trouble.Since)
	}
	if r := w.Values.LastDrift(); r != w.report {
		w.report = r
		var since time.Time
		if w.drift != nil {
			since = w.drift.Since
		}
		w.drift = drifted(r, since)
	}
}

// summarize counts the items of the agent. since is when there were items in trouble first.
func summarize(sum api.StateSummary, since time.Time) (s store.Status) {
	for state, n := range sum.Items {
		switch {
		case state == kvscheduler.ValueState_PENDING:
			s.Waiting = n
		case inTrouble(state):
			s.Trouble.Count += n
		case state != kvscheduler.ValueState_CONFIGURED:
			continue // what other processes have made
		}
		s.Items += n
	}
	for _, v := range sum.Worst {
		if inTrouble(v.GetState()) {
			s.Trouble.First = append(s.Trouble.First, store.Finding{Key: v.GetKey(), State: v.GetState().String(), Reason: short(api.Reason(v))})
		}
	}
	begin(&s.Trouble, since)
	return s
}

// drifted returns the items of a report, with those derived from them as one.
func drifted(r *api.DriftReport, since time.Time) *store.Findings {
	f := &store.Findings{}
	items := map[string]bool{}
	for i := range r.Drifts {
		d := &r.Drifts[i]
		key := d.Key
		if d.Base != "" {
			key = d.Base
		}
		if items[key] || len(r.Repairs) > 0 && !d.Foreign() {
			continue
		}
		items[key] = true
		if len(f.First) < shownFindings {
			f.First = append(f.First, store.Finding{Key: key, State: string(d.Kind), Reason: short(differing(d))})
		}
	}
	f.Count = len(items)
	begin(f, since)
	return f
}

// differing describes the fields of a drift.
func differing(d *api.Drift) string {
	if len(d.Fields) == 0 {
		return ""
	}
	f := d.Fields[0]
	text := fmt.Sprintf("%s: %s -> %s", f.Field, cmp.Or(f.Believed, "(unset)"), cmp.Or(f.Found, "(unset)"))
	if more := len(d.Fields) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// begin sets Since; since is what it was before.
func begin(f *store.Findings, since time.Time) {
	if f.Count == 0 {
		return
	}
	if since.IsZero() {
		since = time.Now().UTC().Truncate(time.Second)
	}
	f.Since = since
}

// short limits the length of a reason.
func short(text string) string {
	if len(text) <= longestReason {
		return text
	}
	return strings.ToValidUTF8(text[:longestReason], "") + "..."
}
