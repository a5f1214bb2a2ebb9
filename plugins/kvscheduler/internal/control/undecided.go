package control

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
func (c *Control) doubt(op *plan.Op) {
	if op.Base != "" {
		c.doubtBase(op.Base)
		return
	}
	v := op.Target
	if op.Kind == plan.Down {
		v = op.Have
	}
	if op.Desc.IsProperty() || ofOthers(op, v) {
		return
	}
	rec := made(op.Key, op.Desc, v, c.keeper.seq, c.clock.Now())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keeper.past.Doubt(&rec)
}

func (c *Control) doubtBase(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.graph.Node(key); n != nil && n.Root().Desc != nil {
		c.keeper.past.DoubtDerived(n.Root().Desc.Name, n.Root().Key)
	}
}

// decide reads back the effects of calls that have returned. It returns the calls with a
// known effect; the others are read again later, and no operation touches their keys
// until then.
func (c *Control) decide(calls []*exec.Call, req *plan.Request) (decided []*exec.Call) {
	keys := make([]string, len(calls))
	for i, call := range calls {
		keys[i] = call.Key
	}
	unread := map[string]bool{}
	for _, key := range c.refreshKeys(keys) {
		unread[key] = true
	}
	for _, call := range calls {
		switch {
		case !unread[call.Key] || call.Err == nil && !call.Stale:
			c.decided(call)
			decided = append(decided, call)
		case !req.Closed[call.Southbound]: // else reading decides when it is up again
			c.overdue.Keep(call)
		}
	}
	if len(decided) > 0 {
		c.decisions.attempt = 0
	}
	c.planDecisions()
	return decided
}

// decided forgets the doubt about a call, if reading did not do so: what it returned
// decides then.
func (c *Control) decided(call *exec.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.graph.Node(call.Key)
	c.keeper.past.Decide(call.Descriptor, call.Key, n != nil && n.Have != nil)
}

// planDecisions has what undecided operations did read again after a while: 1, 2, 4
// seconds and so on up to a minute.
func (c *Control) planDecisions() {
	d := &c.decisions
	if d.planned || c.overdue.Undecided() == 0 {
		return
	}
	d.planned = true
	c.after(c.delay(*patiently(), d.attempt), confirmation{})
	d.attempt++
}

// decideNow has it read again at once: the southbound has just been read.
func (c *Control) decideNow() {
	if c.overdue.Undecided() > 0 {
		c.overdue.Wake()
		c.returnedLate()
	}
}

// keepUndecided brings the journal in step with which values may exist.
func (c *Control) keepUndecided() {
	k := &c.keeper
	now := k.past.Doubts()
	put := map[string][]byte{}
	for key := range now {
		if !k.undecided[key] && len(key) <= ownership.MaxKey {
			put[key] = []byte{1}
		}
	}
	for key := range k.undecided {
		if !now[key] {
			put[key] = nil
		}
	}
	if len(put) > 0 && k.journal.SaveState(undecidedName, put, false) == nil { // else after the next transaction
		k.undecided = maps.Clone(now)
	}
}

// remember brings back what an earlier process made. What it was about to make when it
// ended is undecided, as is what was so already.
func (c *Control) remember(records []ownership.Record, interrupted *ownership.Interrupted) {
	k := &c.keeper
	undecided, err := k.journal.LoadState(undecidedName)
	if err != nil { // said when the records were read
		undecided = nil
	}
	k.undecided = map[string]bool{}
	for key := range undecided {
		k.undecided[key] = true
	}
	k.past.Interrupted = interrupted != nil
	for i := range records {
		rec := &records[i]
		if k.undecided[rec.Key] || interrupted != nil && rec.Txn == interrupted.Txn {
			k.past.DoubtEarlier(rec)
		} else {
			k.past.Add(rec)
		}
	}
	c.rememberFormer()
}

// rememberFormer brings back what undecided operations replaced.
func (c *Control) rememberFormer() {
	k := &c.keeper
	state, err := k.journal.LoadState(ownership.FormerState)
	if err != nil { // said when the records were read
		return
	}
	former, err := ownership.DecodeFormer(state)
	if err != nil {
		c.log.Error("what an earlier run replaced is not known", "error", err)
	}
	k.former = len(state)
	for i := range former {
		if rec := &former[i]; k.past.Doubted(rec.Key) {
			k.past.Former(rec)
		}
	}
}
