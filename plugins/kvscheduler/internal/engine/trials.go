package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/quarantine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// verdict is the time to wait after the failed operation of a trial: if the southbound
// has not disconnected by then, it survived the operation.
const verdict = time.Second

// trials determines which values crash their southbound. After a crash it applies each
// suspect alone. The journal has the suspects, so that the next process knows about a
// trial that crashed the agent as well.
type trials struct {
	*shared

	suspects *quarantine.Tracker

	late *lateCrashes

	queued  map[string]int // number of queued trials, by southbound
	unsaved bool           // a write failed: the next one has to include all suspects
}

// unknown reports whether it is unknown if a value exists, because its descriptor is
// unreadable.
func (tr *trials) unknown(n *graph.Node) bool {
	root := n.Root()
	return root.Have == nil && tr.reads.Of(root.Key, root.Desc) != nil
}

// due returns the suspects of a southbound that wait for their trial.
func (tr *trials) due(southbound string) []api.Suspect {
	return tr.suspects.List(func(s *quarantine.Suspect) bool {
		return s.Southbound == southbound && !s.Quarantined && !s.HeldBack && !s.Tried && !s.Early
	})
}

// afterCrash adds the suspects for the crash of a southbound: the callbacks that failed,
// and those that hang.
func (tr *trials) afterCrash(southbound string, now time.Time, calls []exec.InFlight) {
	calls = tr.inFlight(southbound, calls)
	tr.late.down(southbound, now, calls) // with a disconnect
	if len(calls) > 0 {
		tr.log.Warn("southbound went down during operations", "southbound", southbound, "operations", len(calls))
	}
	if tr.suspects.Search(southbound).Searches() {
		return // which takes account of all values
	}
	for _, s := range tr.suspects.Crashed(southbound, now, calls) {
		tr.log.Error("value quarantined", "key", s.Key, "southbound", southbound, "crashes", len(s.Crashes))
	}
	for i := range calls {
		if s := tr.suspects.Get(calls[i].Key); s != nil {
			s.Desired = tr.state.desired(s.Key, s.Base)
		}
	}
	tr.reportSuspects()
	tr.save() // immediately: the agent may crash with its southbound
}

// inFlight adds the callbacks that hang to those that failed.
func (tr *trials) inFlight(southbound string, calls []exec.InFlight) []exec.InFlight {
	for _, call := range tr.overdue.List() {
		if call.Southbound == southbound && !call.Stale && !call.Unread() && call.Owed != nil {
			calls = append(calls, exec.InFlight{Key: call.Key, Base: call.Owed.Base, Callback: call.Callback})
		}
	}
	for i := range calls {
		if calls[i].Base == calls[i].Key {
			calls[i].Base = ""
		}
	}
	return calls
}

func (tr *trials) reportSuspects() { tr.conditions.Suspects(tr.Suspects()) }

// beginTrials queues the trial of the next suspect of a southbound, unless one is
// queued already.
func (tr *trials) beginTrials(southbound string) {
	if tr.queued[southbound] == 0 {
		tr.tryNext(southbound, 0)
	}
}

// connected begins the trials of a southbound after it was synchronized, and waits whether it
// survives.
func (tr *trials) connected(southbound string) {
	tr.late.watch(southbound)
	delay := min(calm, tr.opts.CrashWindow)
	if tr.late.off() || len(tr.due(southbound)) == 0 {
		delay = 0
	}
	tr.tryNext(southbound, delay)
}

// tryNext queues the trial of the next suspect of a southbound.
func (tr *trials) tryNext(southbound string, delay time.Duration) {
	if len(tr.suspects.List(func(s *quarantine.Suspect) bool {
		return s.Southbound == southbound && !s.Quarantined && !s.HeldBack
	})) == 0 {
		tr.save()
		return
	}
	tr.queued[southbound]++
	t := &trial{ofTxn: tr.journal.seq, southbound: southbound}
	if delay > 0 {
		t.life = tr.late.lives[southbound]
		tr.timers.after(delay, t)
	} else {
		_ = tr.admission.push(t) // fails if the scheduler is closed
	}
}

// prepareTrial requests a plan for one suspect, to be applied alone.
func (tr *trials) prepareTrial(t *trial, p *transaction) bool {
	southbound := t.southbound
	tr.queued[southbound]--
	if p.request.Closed[southbound] {
		return false // the trials continue after the reconnect
	}
	if t.life != nil && t.life != tr.late.lives[southbound] && tr.queued[southbound] > 0 {
		return false // the southbound was connected again, and another one is queued since
	}
	p.request.DropUnwanted = tr.state.fullResyncDone // an earlier run may have failed to remove undesired values
	// The southbound survived the trials of these suspects, so they are released.
	for _, s := range tr.suspects.List(func(s *quarantine.Suspect) bool { return s.Southbound == southbound && s.Tried }) {
		if n, tried := tr.state.graph.Node(s.Key), tr.suspects.Get(s.Key); n != nil && (tried.Again || n.Root().Revision != tried.Revision) {
			p.request.Touch = append(p.request.Touch, s.Key)
		}
		tr.suspects.Drop(s.Key)
		delete(p.request.Pinned, s.Key)
	}
	tr.reportSuspects()
	for _, s := range tr.due(southbound) {
		n := tr.state.graph.Node(s.Key)
		if n == nil {
			tr.suspects.Drop(s.Key)
			continue
		}
		if tr.unknown(n) || tr.overdue.Holds(s.Key) {
			continue // the plan could not change it; its trial follows later
		}
		delete(p.request.Pinned, s.Key)
		t.suspect = s.Key
		p.opts.Description = fmt.Sprintf("%s alone, since southbound %s went down while it was worked on", s.Key, southbound)
		p.request.Touch = append(p.request.Touch, s.Key)
		return true
	}
	return len(p.request.Touch) > 0
}

// afterTrial handles the result of a trial.
func (tr *trials) afterTrial(t *trial, res *exec.Result) {
	if t.suspect == "" {
		return // no suspect was left to try
	}
	failed := slices.ContainsFunc(res.Failures, func(f exec.Failure) bool { return f.Key == t.suspect })
	if !failed {
		tr.suspects.Drop(t.suspect)
		tr.reportSuspects()
		tr.tryNext(t.southbound, 0)
		return
	}
	if s := tr.suspects.Get(t.suspect); s != nil {
		s.Tried = true
		if n := tr.state.graph.Node(t.suspect); n != nil {
			s.Revision = n.Root().Revision
		}
	}
	tr.tryNext(t.southbound, verdict)
}

// changing notes a change of the northbound.
func (tr *trials) changing(p *transaction, change *plan.Change) {
	if !p.dry {
		tr.late.changing(p, change)
	}
	tr.releaseIfChanged(p, change, p.dry)
}

// releaseIfChanged releases a value, and the values derived from it, from quarantine if a
// transaction changes or deletes it. If the value is unchanged, it adds a QuarantineError.
func (tr *trials) releaseIfChanged(p *transaction, change *plan.Change, dry bool) {
	if tr.suspects.Len() == 0 {
		return
	}
	for _, s := range tr.suspects.List(func(s *quarantine.Suspect) bool {
		return s.Quarantined && (s.Key == change.Key || s.Base == change.Key)
	}) {
		if sameWish(tr.suspects.Get(s.Key).Desired, change.Want) {
			p.delayed = append(p.delayed, api.KeyWithError{
				Key: s.Key, TxnOperation: operation(change), Error: &api.QuarantineError{Suspect: s},
			})
			continue
		}
		delete(p.request.Pinned, s.Key)
		if !dry {
			if tr.suspects.Get(s.Key).Found() && change.Want != nil {
				tr.late.retry(s, true)
			}
			tr.suspects.Drop(s.Key)
			tr.reportSuspects()
		}
	}
}

// sameWish reports whether the desired state of a value is unchanged.
func sameWish(wish proto.Message, want *registry.Value) bool {
	if wish == nil || want == nil || want.FromSB {
		return wish == nil && (want == nil || want.FromSB)
	}
	return proto.Equal(wish, want.Msg)
}

// followSuspects updates the suspects after a change of the desired state.
func (tr *trials) followSuspects() {
	if tr.suspects.Len() > 0 {
		tr.arrive()
		tr.markQuarantined()
	}
}

func (tr *trials) Suspects() []api.Suspect { return tr.suspects.List(nil) }

func (tr *trials) ReleaseQuarantined(ctx context.Context, keys ...string) error {
	var problem error
	err := tr.admission.onWorker(ctx, func() { problem = tr.release(keys) })
	if err != nil {
		return err
	}
	return problem
}

func (tr *trials) release(keys []string) error {
	released := tr.suspects.List(func(s *quarantine.Suspect) bool {
		return (s.Quarantined || s.HeldBack) && (len(keys) == 0 || slices.Contains(keys, s.Key))
	})
	for _, key := range keys {
		if !slices.ContainsFunc(released, func(s api.Suspect) bool { return s.Key == key }) {
			return fmt.Errorf("%s: %w", key, api.ErrNotQuarantined)
		}
	}
	southbounds := map[string]bool{}
	var back []string
	for _, q := range released {
		switch s := tr.suspects.Get(q.Key); {
		case s == nil: // given back with another one
			continue
		case s.HeldBack:
			back = append(back, tr.late.endSearch(q.Southbound)...)
			continue
		case s.Found():
			tr.suspects.Drop(q.Key)
			tr.late.retry(q, false)
			back = append(back, q.Key)
		default:
			tr.suspects.Release(q.Key)
			southbounds[q.Southbound] = true
		}
		if n := tr.state.graph.Node(q.Key); n != nil {
			tr.state.setError(n, nil)
		}
	}
	tr.reportSuspects()
	tr.save()
	for southbound := range southbounds {
		tr.beginTrials(southbound)
	}
	tr.giveBack(back)
	return nil
}

// giveBack queues a transaction that applies released values.
func (tr *trials) giveBack(keys []string) {
	if len(keys) == 0 {
		return
	}
	_ = tr.admission.push(&work{typ: api.RetryFailedOps, plan: func(p *transaction) bool { // fails if the scheduler is closed
		p.opts.Description = "released: " + abbreviated(keys)
		p.request.Touch = keys
		return true
	}})
}

// pin excludes values from a planning request that must not change now: suspects, and
// values with a callback that has not returned.
func (tr *trials) pin(req *plan.Request) {
	req.Pinned, req.Unfinished = nil, nil
	tr.overdue.Pin(req)
	req.Pinned = tr.suspects.Pin(req.Pinned)
}

// suspectsName is the name under which the journal keeps the suspects.
const suspectsName = "quarantine"

// searchesName is the name under which the journal keeps the searches.
const searchesName = "quarantine-search"

// open restores the suspects of an earlier run. They stay unchanged until a client
// configures them, or sends a full resync without them.
func (tr *trials) open() {
	kept, err := tr.journal.load(suspectsName)
	if err != nil {
		tr.log.Error("what earlier runs put into quarantine is not known", "error", err)
		return
	}
	for key, data := range kept {
		if err := tr.suspects.Restore(key, data); err != nil {
			tr.log.Error("a record of the quarantine is damaged and ignored", "key", key, "error", err)
		}
	}
	tr.late.openSearches()
	if n := tr.suspects.Len(); n > 0 {
		tr.log.Warn("values are known to have been worked on when their southbound went down, in an earlier run",
			"values", n, "quarantined", len(tr.quarantined()))
		tr.reportSuspects()
	}
	tr.save()
}

func (tr *trials) quarantined() []api.Suspect {
	return tr.suspects.List(func(s *quarantine.Suspect) bool { return s.Quarantined })
}

// save writes the suspects that changed, and the searches, to the journal.
func (tr *trials) save() {
	if tr.journal.store == nil || !tr.suspects.Changed() && !tr.unsaved {
		return
	}
	put, err := tr.suspects.TakeChanges(tr.unsaved)
	if err != nil {
		tr.log.Error("a value in quarantine could not be recorded", "error", err)
	}
	searches, searched, err := tr.suspects.TakeSearches(tr.unsaved)
	if err != nil {
		tr.log.Error("a search for what brings a southbound down could not be recorded", "error", err)
	}
	err = tr.journal.store.SaveState(suspectsName, put, tr.unsaved)
	if err == nil && searched {
		err = tr.journal.store.SaveState(searchesName, searches, true)
	}
	if err != nil {
		if !tr.unsaved {
			tr.log.Error("who may have brought a southbound down could not be recorded; it is kept in memory until it can be", "error", err)
		}
		tr.unsaved = true
		tr.journal.writeLater()
		return
	}
	tr.unsaved = false
}

// arrive finds the suspects of an earlier run that are desired now, and treats them like
// the suspects of this run.
func (tr *trials) arrive() {
	southbounds := map[string]bool{}
	tr.suspects.Update(func(s *quarantine.Suspect) {
		if s.Early && (tr.state.fullResyncDone || tr.state.desired(s.Key, s.Base) != nil) {
			s.Early = false
			southbounds[s.Southbound] = true
		}
	})
	for southbound := range southbounds {
		tr.beginTrials(southbound)
	}
}

// markQuarantined sets the error of the values in quarantine, and drops those that are
// no longer desired.
func (tr *trials) markQuarantined() {
	for _, s := range tr.quarantined() {
		n := tr.state.graph.Node(s.Key)
		switch {
		case n != nil:
			if err := (&api.QuarantineError{Suspect: s}); n.Err == nil || n.Err.Error() != err.Error() {
				tr.state.setError(n, err)
			}
		case !tr.suspects.Get(s.Key).Early && (s.Base == "" || tr.state.graph.Node(s.Base) == nil):
			tr.suspects.Drop(s.Key)
			tr.reportSuspects()
		}
	}
}
