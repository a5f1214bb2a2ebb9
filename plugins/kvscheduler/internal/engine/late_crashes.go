package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/quarantine"
)

const (
	// calm is the time from the synchronization with a southbound to the first trial of a suspect:
	// a value that brings it down with a delay is to do so while nothing else is in flight.
	calm = 2 * time.Second
	// pause is how long no search begins after one that found nothing.
	pause = time.Hour
	// maxLatest limits the values that are known to have changed lately; with more of them all
	// values are equally likely culprits.
	maxLatest = 10_000
)

// life is the time from the connect of a southbound to its disconnect.
type life struct {
	began, ended time.Time // ended is zero while it lives
	// explained: the southbound went down during operations on values that were suspects before.
	explained bool
	busy      bool            // the southbound went down during operations
	found     map[string]bool // the desired values that existed when it began
}

// lateCrashes searches for values that crash a southbound some time after they were applied. The
// Tracker has the state of the search.
type lateCrashes struct {
	*trials

	lives  map[string]*life          // by southbound
	latest map[string]*latestChanges // by southbound
	steps  int                       // counts the probations
}

// latestChanges are the values of a southbound that changed since it last survived a probation.
type latestChanges struct {
	at    map[string]uint64 // when, by the count of transactions
	last  *transaction
	count uint64
	// retried is the count of the first transaction whose changes may be to blame instead of a
	// value of quarantine that is applied again.
	retried uint64
}

func newLateCrashes(tr *trials) *lateCrashes {
	return &lateCrashes{trials: tr, lives: map[string]*life{}, latest: map[string]*latestChanges{}}
}

func (d *lateCrashes) off() bool { return d.opts.CrashWindow == 0 || d.suspects.After() == 0 }

// changing notes that the northbound changes a value.
func (d *lateCrashes) changing(p *transaction, change *plan.Change) {
	name := change.Desc.Session()
	if name == "" || d.off() || change.Node != nil && change.Node.Want == change.Want {
		return
	}
	l, changed := d.lives[name], d.exec.Crashes.Changed(name)
	d.suspects.Search(name).Changed(change.Key, change.Want == nil, l != nil && !l.ended.IsZero())
	lately := d.lately(name)
	if p != lately.last {
		if l != nil && l.ended.IsZero() && d.clock.Now().Sub(later(l.began, changed)) > d.opts.CrashWindow {
			clear(lately.at) // it survived the earlier changes
		}
		lately.last, lately.count = p, lately.count+1
	}
	if len(lately.at) <= maxLatest {
		lately.at[change.Key] = lately.count
	}
}

func (d *lateCrashes) lately(name string) *latestChanges {
	l := d.latest[name]
	if l == nil {
		l = &latestChanges{at: map[string]uint64{}}
		d.latest[name] = l
	}
	return l
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// down notes that a southbound went down. calls are the operations in flight.
func (d *lateCrashes) down(name string, at time.Time, calls []exec.InFlight) {
	l := d.lives[name]
	if l == nil {
		return
	}
	if l.ended.IsZero() {
		l.ended = at
	}
	l.busy = l.busy || len(calls) > 0
	l.explained = slices.ContainsFunc(calls, func(c exec.InFlight) bool { return d.suspects.Get(c.Key) != nil })
}

// up begins a new life of a southbound, whose values were read, and draws conclusions from the
// end of the last one. Nothing that is held back is applied before.
func (d *lateCrashes) up(name string) {
	last, changed := d.lives[name], d.exec.Crashes.Changed(name)
	now := &life{began: d.clock.Now(), found: d.existing(name)}
	d.lives[name] = now
	d.exec.Crashes.Begin(name)
	if d.off() || last == nil || last.ended.IsZero() || lived(last.found, now.found) {
		return
	}
	s := d.suspects.Search(name)
	if s.Searches() || len(s.Retried) > 0 || len(s.Found) > 0 && !last.busy {
		d.crashedAgain(s, last, changed)
	} else {
		d.crashed(s, last, changed)
	}
	d.suspects.SearchChanged()
	d.reportSuspects()
	d.save()
}

// existing lists the desired values of a southbound that exist.
func (d *lateCrashes) existing(name string) map[string]bool {
	found := map[string]bool{}
	for n := range d.state.graph.Nodes {
		if !n.IsDerived() && n.Desc.Session() == name && n.Have != nil && n.Desired() != nil && !n.Desc.IsProperty() {
			found[n.Key] = true
		}
	}
	return found
}

// lived reports whether a southbound that is connected again did not crash: it has values that
// the scheduler created after the last connect.
func lived(before, found map[string]bool) bool {
	for key := range found {
		if !before[key] {
			return true
		}
	}
	return len(found) > 1 && len(found) == len(before)
}

// crashed counts a crash of a southbound while no search is active.
func (d *lateCrashes) crashed(s *quarantine.Search, last *life, changed time.Time) {
	name := s.Southbound
	switch {
	case changed.IsZero():
		if !d.has(name) {
			d.log.Warn("southbound went down with none of the values of the agent in it", "southbound", name)
		}
		return
	case last.ended.Sub(changed) > d.opts.CrashWindow: // it lived with what it had
		s.Crashes = nil
		delete(d.latest, name)
		return
	case last.explained: // the trials find the value
		s.Crashes = nil
		return
	}
	s.Recent(last.ended)
	if delay := last.ended.Sub(last.began); len(s.Crashes) == 0 || delay < s.Delay {
		s.Delay = delay
	}
	s.Crashes = append(s.Crashes, last.ended)
	if len(s.Crashes) >= d.suspects.After() && !last.ended.Before(s.Paused) {
		d.begin(s, false)
	}
}

// has reports whether the northbound desires a value of the southbound.
func (d *lateCrashes) has(name string) bool {
	for n := range d.state.graph.Nodes {
		if !n.IsDerived() && n.Desc.Session() == name && n.Desired() != nil {
			return true
		}
	}
	return false
}

// begin begins a search.
func (d *lateCrashes) begin(s *quarantine.Search, sure bool) {
	d.suspects.DropTried(s.Southbound)
	order, tries := d.candidates(s.Southbound)
	if len(order) == 0 {
		d.log.Warn("southbound crashes again and again with none of the values of the agent in it", "southbound", s.Southbound, "times", len(s.Crashes))
		s.Crashes = nil
		return
	}
	s.Begin(order, tries, sure)
	d.hold(s)
	d.log.Warn("southbound crashes again and again soon after its values are applied; searching for the value that causes it",
		"southbound", s.Southbound, "times", len(s.Crashes), "values", len(order), "held back", len(s.Held()))
}

// hold makes suspects of what the search holds back. It returns what is given back.
func (d *lateCrashes) hold(s *quarantine.Search) []string {
	return d.suspects.Hold(s, d.opts.CrashWindow)
}

// crashedAgain draws conclusions from a crash while a search is active.
func (d *lateCrashes) crashedAgain(s *quarantine.Search, last *life, changed time.Time) {
	s.Crashes = append(s.Crashes, last.ended)
	if delay := last.ended.Sub(changed); !changed.IsZero() && delay > s.Delay {
		s.Delay = min(delay, d.opts.CrashWindow)
	}
	if len(s.Retried) > 0 {
		retried, ambiguous := s.Retried, d.ambiguous(s)
		s.Retried = nil
		switch {
		case !ambiguous:
			d.quarantine(s, retried[0].Key, append(slices.Clone(retried[0].Crashes), last.ended))
		case !s.Searches():
			d.begin(s, false)
		default:
			d.conclude(s, s.Crashed())
		}
		return
	}
	if !s.Searches() { // without the values that were found
		d.begin(s, true)
		return
	}
	d.conclude(s, s.Crashed())
}

// ambiguous reports whether a crash may be due to something other than one value that was in
// quarantine and is applied again: to a second one, or to a value that changed with it or later.
func (d *lateCrashes) ambiguous(s *quarantine.Search) bool {
	lately := d.lately(s.Southbound)
	for key, at := range lately.at {
		if at >= lately.retried && key != s.Retried[0].Key {
			return true
		}
	}
	return len(s.Retried) > 1
}

// quarantine puts a value into quarantine, if it is still desired.
func (d *lateCrashes) quarantine(s *quarantine.Search, key string, crashes []time.Time) bool {
	desired := d.state.desired(key, "")
	if desired == nil {
		return false
	}
	d.suspects.Quarantine(key, s.Southbound, crashes, desired)
	d.log.Error("value quarantined", "key", key, "southbound", s.Southbound, "crashes", len(crashes), "when", "soon after it was applied")
	return true
}

// conclude acts on the verdict of a step of a search. It returns the values that are no longer held back.
func (d *lateCrashes) conclude(s *quarantine.Search, v quarantine.Verdict) (back []string) {
	switch v {
	case quarantine.Continues:
		back = d.hold(s)
		d.log.Info("the next step of the search for the value that brings a southbound down", "southbound", s.Southbound,
			"steps", s.Steps, "values", len(s.Order), "in question", s.Hi-max(s.Lo, 0), "held back", len(s.Held()))
		return back
	case quarantine.Culprit:
		key := s.Order[s.Hi-1]
		s.End()
		back = d.hold(s)
		if !d.quarantine(s, key, s.Crashes) {
			d.begin(s, true)
			return back
		}
		s.Found = append(s.Found, key)
	case quarantine.Innocent:
		s.End()
		back = d.hold(s)
		s.Crashes = nil
		d.log.Warn("southbound keeps running with all values: none of them is to blame", "southbound", s.Southbound)
	case quarantine.Unrelated:
		d.log.Error("southbound crashes whichever values are held back: none of them is to blame, and all are applied", "southbound", s.Southbound)
		s.End()
		back = d.hold(s)
		for _, key := range s.Found {
			if d.suspects.Get(key).Found() {
				d.suspects.Drop(key)
				back = append(back, key)
			}
		}
		s.Crashes, s.Found, s.Paused = nil, nil, d.clock.Now().Add(pause)
	}
	return back
}

// survived acts on the survival of a probation. It returns the values to apply.
func (d *lateCrashes) survived(s *quarantine.Search) (back []string) {
	for _, r := range s.Retried {
		d.log.Warn("southbound keeps running with a value that was in quarantine", "southbound", s.Southbound, "key", r.Key)
	}
	s.Retried = nil
	switch {
	case s.Searches():
		for _, key := range s.Order { // the client may have withdrawn some with a resync
			if key != "" && d.state.desired(key, "") == nil {
				s.Changed(key, true, false)
			}
		}
		return d.conclude(s, s.Survived())
	case len(s.Found) > 1: // the last one may have been to blame for what was found before
		key := s.Found[0]
		s.Found = s.Found[1:]
		if suspect := d.suspects.Get(key); suspect.Found() {
			d.log.Info("a value in quarantine is applied again, as another one was found since", "southbound", s.Southbound, "key", key)
			s.Retried = []quarantine.Retried{{Key: key, Crashes: suspect.Crashes}}
			lately := d.lately(s.Southbound)
			lately.retried = lately.count + 1
			d.suspects.Drop(key)
			return []string{key}
		}
		return d.survived(s)
	}
	s.Found, s.Crashes = nil, nil
	return nil
}

// retry notes that a value which a search had found is applied again, by the running transaction
// if changed is set. The next crash is due to it, unless it is ambiguous.
func (d *lateCrashes) retry(found api.Suspect, changed bool) {
	s, lately := d.suspects.Search(found.Southbound), d.lately(found.Southbound)
	s.Found = slices.DeleteFunc(s.Found, func(key string) bool { return key == found.Key })
	s.Retried = append(s.Retried, quarantine.Retried{Key: found.Key, Crashes: found.Crashes})
	lately.retried = lately.count
	if !changed {
		lately.retried++
	}
	d.suspects.SearchChanged()
	d.watch(found.Southbound)
}

// endSearch gives back what a search holds back; the next crash begins another one.
func (d *lateCrashes) endSearch(name string) (back []string) {
	s := d.suspects.Search(name)
	s.End()
	d.suspects.SearchChanged()
	return d.hold(s)
}

// watch starts the probation of a southbound, if its survival is needed for a verdict.
func (d *lateCrashes) watch(name string) {
	l := d.lives[name]
	if s := d.suspects.Search(name); d.off() || !s.Active() || l == nil || !l.ended.IsZero() {
		return
	}
	d.steps++
	now, probation := d.clock.Now(), d.probation(name)
	d.timers.after(probation, &survival{southbound: name, life: l, step: d.steps, latest: now.Add(3 * probation)})
}

func (d *lateCrashes) probation(name string) time.Duration {
	return d.suspects.Search(name).Probation(d.opts.CrashWindow)
}

// survival is the end of a probation: the southbound survived.
type survival struct {
	internal
	southbound string
	life       *life
	step       int       // of the probation; another one may have begun
	latest     time.Time // however often values change, it ends then
	done       bool
	back       []string
}

func (t *survival) prepare(e *Engine, p *transaction) (bool, error) {
	d := e.trials.late
	if !t.done {
		if d.lives[t.southbound] != t.life || !t.life.ended.IsZero() || d.steps != t.step {
			return false, nil
		}
		if left := d.left(t, e.named > 0); left > 0 {
			e.timers.after(left, t)
			return false, nil
		}
		t.done = true
		t.back = d.survived(d.suspects.Search(t.southbound))
		d.suspects.SearchChanged()
		d.watch(t.southbound)
		d.markQuarantined()
		d.reportSuspects()
		d.save()
		e.trials.pin(&p.request)
	}
	p.opts.Description = fmt.Sprintf("%d values, since southbound %s survives without them", len(t.back), t.southbound)
	p.request.Touch = append(p.request.Touch, t.back...)
	return len(t.back) > 0, nil
}

// left is the remaining time of the probation, which is longer if values changed meanwhile, or if the
// northbound has not asked for anything yet.
func (d *lateCrashes) left(t *survival, asked bool) time.Duration {
	now, probation := d.clock.Now(), d.probation(t.southbound)
	if !asked {
		t.latest = now.Add(3 * probation)
		return probation
	}
	if !now.Before(t.latest) {
		return 0
	}
	return d.exec.Crashes.Changed(t.southbound).Add(probation).Sub(now)
}

// openSearches restores the searches of an earlier run.
func (d *lateCrashes) openSearches() {
	kept, err := d.journal.load(searchesName)
	if err != nil {
		d.log.Error("what earlier runs held back is not known", "error", err)
		return
	}
	for name, data := range kept {
		if err := d.suspects.RestoreSearch(name, data, d.opts.CrashWindow); err != nil {
			d.log.Error("a record of what is held back is damaged and ignored", "southbound", name, "error", err)
		}
	}
}

// candidates lists the values of a southbound that may crash it, each after the values that it
// depends on. Those that changed last, with what depends on them, come last. tries are the numbers
// of values without the last change, and without all changes.
func (d *lateCrashes) candidates(name string) (order []string, tries []int) {
	r := ranks{state: d.state, of: map[*graph.Node]*rank{}}
	if lately := d.latest[name]; lately != nil && len(lately.at) <= maxLatest {
		r.latest = lately.at
	}
	r.indexDerived()
	var list []*graph.Node
	for n := range d.state.graph.Nodes {
		if n.IsDerived() || n.Desc.Session() != name || n.Desired() == nil || d.suspects.Get(n.Key) != nil {
			continue
		}
		list = append(list, n)
		r.rank(n)
	}
	slices.SortFunc(list, r.compare)
	old, last := len(list), len(list)
	for i := len(list) - 1; i >= 0 && r.of[list[i]].changed > 0; i-- {
		old = i
		if r.of[list[i]].changed == r.of[list[len(list)-1]].changed {
			last = i
		}
	}
	for _, n := range list {
		order = append(order, n.Key)
	}
	for _, n := range []int{last, old} {
		if n > 0 && n < len(list) {
			tries = append(tries, n)
		}
	}
	return order, tries
}
