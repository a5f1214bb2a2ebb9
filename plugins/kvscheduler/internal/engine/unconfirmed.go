package engine

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// An operation is undecided while its effect is unknown: its callback timed out, or it
// failed and its effect could not be read, or its session or the process ended. The
// journal keeps the record of its value, and Retrieve gets the value to correlate, until
// the callback has returned and a later read shows whether the value exists. Until then
// no other operation in the same session touches the key.

// decisions is the schedule for reading back the effects of undecided operations. It
// belongs to the worker.
type decisions struct {
	attempt int
	planned bool // a timer runs
}

// undecidedName is the name under which the journal keeps the keys of undecided operations.
const undecidedName = "undecided"

// doubt records an undecided operation. For a derived value it records the base, since
// only the descriptor of the base reads the remains of the derived value.
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
	now := j.clock.Now()
	rec := j.made(op.Key, op.Desc, v, j.seq, now)
	j.state.mu.Lock()
	defer j.state.mu.Unlock()
	j.unconfirmed.Doubt(&rec)
	if replaces(op) {
		former := j.replacedBy(op, now)
		j.unconfirmed.Former(&former)
	}
}

func (j *journal) doubtBase(key string) {
	j.state.mu.Lock()
	defer j.state.mu.Unlock()
	if n := j.state.graph.Node(key); n != nil && n.Root().Desc != nil {
		j.unconfirmed.DoubtDerived(n.Root().Desc.Name, n.Root().Key)
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
		case !req.Closed[call.Southbound]: // otherwise the read after the reconnect decides
			l.overdue.Keep(call)
		}
	}
	if len(decided) > 0 {
		l.decisions.attempt = 0
	}
	l.planDecisions()
	return decided
}

// decided removes the record of an undecided call, unless a read already did. The
// result of the call decides then.
func (j *journal) decided(call *exec.Call) {
	j.state.mu.Lock()
	defer j.state.mu.Unlock()
	n := j.state.graph.Node(call.Key)
	j.unconfirmed.Decide(call.Descriptor, call.Key, n != nil && n.Have != nil)
}

// planDecisions schedules the next read of undecided operations, after 1, 2, 4, ... up to
// 60 seconds.
func (l *retries) planDecisions() {
	d := &l.decisions
	if d.planned || l.overdue.Undecided() == 0 {
		return
	}
	d.planned = true
	l.timers.after(l.timers.delay(*patiently(), d.attempt), &work{typ: api.RetryFailedOps, plan: func(p *transaction) bool {
		d.planned = false
		l.overdue.Wake()
		return l.prepareLate(p)
	}})
	d.attempt++
}

// decideNow schedules that read immediately, because the southbound has just been read.
func (l *retries) decideNow() {
	if l.overdue.Undecided() > 0 {
		l.overdue.Wake()
		l.returnedLate()
	}
}

// keepUndecided writes the keys of undecided operations to the journal.
func (j *journal) keepUndecided() {
	now := j.unconfirmed.Doubts()
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
	if len(put) > 0 && j.store.SaveState(undecidedName, put, false) == nil { // otherwise the next transaction retries
		j.undecided = now
	}
}

// remember restores the records of an earlier process. The operations that were undecided
// or in execution when it ended are undecided.
func (j *journal) remember(records []*ownership.Record, interrupted *ownership.Interrupted) {
	undecided, err := j.store.LoadState(undecidedName)
	if err != nil { // said when the records were read
		undecided = nil
	}
	j.undecided = map[string]bool{}
	for key := range undecided {
		j.undecided[key] = true
	}
	j.unconfirmed.Interrupted = interrupted != nil
	for _, rec := range records {
		if j.undecided[rec.Key] || interrupted != nil && rec.Txn == interrupted.Txn {
			j.unconfirmed.DoubtEarlier(rec)
		} else {
			j.unconfirmed.Add(rec)
		}
	}
	j.rememberFormer()
}

// rememberFormer restores the values that undecided operations replaced.
func (j *journal) rememberFormer() {
	state, err := j.store.LoadState(ownership.FormerState)
	if err != nil { // said when the records were read
		return
	}
	former, err := ownership.Decode(state)
	if err != nil {
		j.log.Error("what an earlier run replaced is not known", "error", err)
	}
	j.former = len(state)
	for i := range former {
		if rec := &former[i]; j.unconfirmed.Doubted(rec.Key) {
			j.unconfirmed.Former(rec)
		}
	}
}
