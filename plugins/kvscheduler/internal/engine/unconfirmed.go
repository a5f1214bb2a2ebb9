package engine

import (
	"maps"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// An operation is undecided while its effect is unknown: its callback timed out, or it
// failed and its effect could not be read, or its southbound or the process ended
// meanwhile. Its value stays on record, and descriptors get it to recognise what they
// find, until the callback has returned and a reading that follows has decided whether
// the value exists. Within a session no other operation touches the key meanwhile.

// decisions is when what undecided operations did is read again. Only the worker
// changes it.
type decisions struct {
	attempt int
	planned bool // a timer runs
}

// undecidedName is what the journal keeps the keys of undecided operations under.
const undecidedName = "undecided"

// doubt remembers an operation of unknown outcome. That of a derived value is about its
// base: only the descriptor of the base reads what is left of it.
func (j *journal) doubt(op *plan.Op) {
	if op.Base != "" {
		j.doubtBase(op.Base)
		return
	}
	v := op.Target
	if op.Kind == plan.Down {
		v = op.Have
	}
	if op.Desc.IsProperty() || ofOthers(op, v) {
		return
	}
	rec := made(op.Key, op.Desc, v, j.seq, j.clock.Now())
	j.mu.Lock()
	defer j.mu.Unlock()
	j.past.Doubt(&rec)
}

func (j *journal) doubtBase(key string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := j.graph.Node(key); n != nil && n.Root().Desc != nil {
		j.past.DoubtDerived(n.Root().Desc.Name, n.Root().Key)
	}
}

// decide reads back the effects of calls that have returned. It returns the calls with a
// known effect; the others are read again later, and no operation touches their keys
// until then.
func (l *retries) decide(calls []*exec.Call, req *plan.Request) (decided []*exec.Call) {
	keys := make([]string, len(calls))
	for i, call := range calls {
		keys[i] = call.Key
	}
	unread := map[string]bool{}
	for _, key := range l.southbound.refreshKeys(keys) {
		unread[key] = true
	}
	for _, call := range calls {
		switch {
		case !unread[call.Key] || call.Err == nil && !call.Stale:
			l.journal.decided(call)
			decided = append(decided, call)
		case !req.Closed[call.Southbound]: // else reading decides when it is up again
			l.overdue.Keep(call)
		}
	}
	if len(decided) > 0 {
		l.decisions.attempt = 0
	}
	l.planDecisions()
	return decided
}

// decided forgets the doubt about a call, if reading did not do so: what it returned
// decides then.
func (j *journal) decided(call *exec.Call) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := j.graph.Node(call.Key)
	j.past.Decide(call.Descriptor, call.Key, n != nil && n.Have != nil)
}

// planDecisions has what undecided operations did read again after a while: 1, 2, 4
// seconds and so on up to a minute.
func (l *retries) planDecisions() {
	d := &l.decisions
	if d.planned || l.overdue.Undecided() == 0 {
		return
	}
	d.planned = true
	l.after(l.delay(*patiently(), d.attempt), confirmation{})
	d.attempt++
}

// decideNow has it read again at once: the southbound has just been read.
func (l *retries) decideNow() {
	if l.overdue.Undecided() > 0 {
		l.overdue.Wake()
		l.returnedLate()
	}
}

// keepUndecided brings the journal in step with which values may exist.
func (j *journal) keepUndecided() {
	now := j.past.Doubts()
	put := map[string][]byte{}
	for key := range now {
		if !j.undecided[key] && len(key) <= ownership.MaxKey {
			put[key] = []byte{1}
		}
	}
	for key := range j.undecided {
		if !now[key] {
			put[key] = nil
		}
	}
	if len(put) > 0 && j.store.SaveState(undecidedName, put, false) == nil { // else after the next transaction
		j.undecided = maps.Clone(now)
	}
}

// remember brings back what an earlier process made. What it was about to make when it
// ended is undecided, as is what was so already.
func (j *journal) remember(records []ownership.Record, interrupted *ownership.Interrupted) {
	undecided, err := j.store.LoadState(undecidedName)
	if err != nil { // said when the records were read
		undecided = nil
	}
	j.undecided = map[string]bool{}
	for key := range undecided {
		j.undecided[key] = true
	}
	j.past.Interrupted = interrupted != nil
	for i := range records {
		rec := &records[i]
		if j.undecided[rec.Key] || interrupted != nil && rec.Txn == interrupted.Txn {
			j.past.DoubtEarlier(rec)
		} else {
			j.past.Add(rec)
		}
	}
	j.rememberFormer()
}

// rememberFormer brings back what undecided operations replaced.
func (j *journal) rememberFormer() {
	state, err := j.store.LoadState(ownership.FormerState)
	if err != nil { // said when the records were read
		return
	}
	former, err := ownership.DecodeFormer(state)
	if err != nil {
		j.log.Error("what an earlier run replaced is not known", "error", err)
	}
	j.former = len(state)
	for i := range former {
		if rec := &former[i]; j.past.Doubted(rec.Key) {
			j.past.Former(rec)
		}
	}
}
