package exec

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// ending is the end of an operation with a callback. Of one without, which
// takes no time, it is that of the operation that it waited for.
type ending struct {
	op    int32 // its index and 1; 0: none
	order int32 // among the ends
}

// cause is what let an operation start.
type cause struct {
	ending
	why api.OpWait
}

// causes follows what operations wait for: of all that an operation needs to
// start, that which came about last.
type causes struct {
	of []cause // by operation; until the start what released it

	ends    int32
	last    ending // of all
	inline  ending // of those that are executed one after the other
	removal ending
	held    bool // what ends was noticed only after an inline operation
}

// later replaces the cause by an end that came after it.
func (c *cause) later(e ending, why api.OpWait) {
	if e.order > c.order {
		c.ending, c.why = e, why
	}
}

// released is the cause of what the end of an operation releases.
func (s *causes) released() cause {
	if s.held {
		return cause{s.last, api.OpWaitTurn}
	}
	return cause{s.last, api.OpWaitDependency}
}

func (s *causes) startInline(j *job, ops []plan.Op) {
	c := &s.of[j.index]
	c.later(s.inline, api.OpWaitTurn)
	if ops[j.index].Kind != plan.Down {
		c.later(s.removal, api.OpWaitRemovals)
	}
}

// startLane: full tells that there would be no room had nothing ended.
func (s *causes) startLane(j *job, ops []plan.Op, l *lane, full bool) {
	c := &s.of[j.index]
	if l.running+l.freed >= l.limit {
		c.later(l.last, api.OpWaitSlot)
	}
	if full {
		c.later(s.last, api.OpWaitSlot)
	}
	if ops[j.index].Kind != plan.Down {
		c.later(s.removal, api.OpWaitRemovals)
	}
	c.later(l.ahead.ending, l.ahead.why) // which kept all others from being looked at
	l.ahead = *c
}

// ended notes the end of an operation. What ran beside an inline operation may
// have ended earlier, but nothing could start before the inline one ended.
func (s *causes) ended(j *job, removal, inline bool) {
	s.ends++
	e := ending{j.index + 1, s.ends}
	if !j.called {
		e.op = s.of[j.index].op
	}
	if s.held && s.inline.op != 0 {
		e.op = s.inline.op
	}
	s.last = e
	if removal {
		s.removal = e
	}
	if inline {
		s.inline = e
	}
}

// numberCauses writes the causes into the records of this pass, which begin at
// from. It returns the number of the record of what ended last.
func (w *walk) numberCauses(from int) (last int32) {
	of, records := w.causes.of, w.res.Executed[from:]
	for k, i := range w.told {
		of[i].order = int32(from + k + 1) // the order is of no use any more
	}
	for k, i := range w.told {
		rec, c := &records[k], &of[i]
		switch {
		case rec.Start.IsZero():
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
