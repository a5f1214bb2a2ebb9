package exec

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// ending is the end of an operation. An operation without a callback takes no time,
// so it has the ending of the operation that it waited for.
type ending struct {
	op    int32 // index of the operation + 1; 0: none
	order int32 // position among all ends
}

// cause is the end of another operation that let an operation start.
type cause struct {
	ending
	why api.OpWait
}

// causes tracks, for each operation, the last condition for its start that was met.
type causes struct {
	of []cause // by operation; before its start, the end of its last predecessor

	ends    int32
	last    ending // of any operation
	inline  ending // of the operations that run one after the other
	removal ending
	held    bool // ends are noticed late, after an inline operation
}

// later replaces the cause by a later end.
func (c *cause) later(e ending, why api.OpWait) {
	if e.order > c.order {
		c.ending, c.why = e, why
	}
}

// released returns the cause for operations whose last predecessor has just ended.
func (s *causes) released() cause {
	if s.held {
		return cause{s.last, api.OpWaitTurn}
	}
	return cause{s.last, api.OpWaitDependency}
}

func (s *causes) startInline(i int32, ops []plan.Op) {
	c := &s.of[i]
	c.later(s.inline, api.OpWaitTurn)
	if ops[i].Kind != plan.Down {
		c.later(s.removal, api.OpWaitRemovals)
	}
}

// startPooled determines the cause of an operation that starts in a pool. full reports
// that all slots were in use before the last operation ended.
func (s *causes) startPooled(i int32, ops []plan.Op, l *workerPool, full bool) {
	c := &s.of[i]
	if l.running+l.freed >= l.limit {
		c.later(l.last, api.OpWaitSlot)
	}
	if full {
		c.later(s.last, api.OpWaitSlot)
	}
	if ops[i].Kind != plan.Down {
		c.later(s.removal, api.OpWaitRemovals)
	}
	c.later(l.ahead.ending, l.ahead.why) // the pool starts its operations in order
	l.ahead = *c
}

// ended records the end of an operation. A concurrent operation may have ended before
// the inline one, but no other could start before the inline one ended.
func (s *causes) ended(i int32, removal bool, j *job) {
	s.ends++
	e := ending{i + 1, s.ends}
	if !j.called {
		e.op = s.of[i].op
	}
	if s.held && s.inline.op != 0 {
		e.op = s.inline.op
	}
	s.last = e
	if removal {
		s.removal = e
	}
	if j.inline {
		s.inline = e
	}
}

// numberCauses writes the causes into the records of this pass, which start at
// index from. It returns the number of the record that ended last.
func (w *walk) numberCauses(from int) (last int32) {
	of, records := w.causes.of, w.res.Executed[from:]
	for k, i := range w.told {
		of[i].order = int32(from + k + 1) // reused for the number of the record
	}
	for k, i := range w.told {
		rec, c := &records[k], &of[i]
		switch {
		case !rec.HasRun():
		case c.op != 0:
			rec.After, rec.Waited = of[c.op-1].order, c.why
		case w.last != 0:
			rec.After, rec.Waited = w.last, api.OpWaitReplan
		}
	}
	if w.causes.last.op == 0 {
		return w.last
	}
	return of[w.causes.last.op-1].order
}
