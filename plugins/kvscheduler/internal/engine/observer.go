package engine

import (
	"slices"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// observePeriod is the interval at which observed values are read, since the
// southbound does not report their changes.
const observePeriod = 10 * time.Second

// observer tracks the values with the ownership policy observe. It belongs to the worker.
type observer struct {
	*shared

	observed map[string]bool
	looking  bool // an observation is scheduled
}

// observe adds the value of a change to the observed values.
func (o *observer) observe(p *transaction, change *plan.Change) {
	if !p.dry && change.Want != nil && change.Want.Observed {
		o.observed[change.Key] = true
	}
}

// lookAtNew reads the observed values among the changes that are not known to exist,
// unless all values have just been read.
func (o *observer) lookAtNew(p *transaction, read bool) {
	defer o.planLook()
	if read {
		return
	}
	var keys []string
	for i := range p.request.Changes {
		ch := &p.request.Changes[i]
		exists := ch.Node != nil && ch.Node.Have != nil
		if ch.Want != nil && ch.Want.Observed && !exists && !p.request.Closed[ch.Desc.Session()] {
			keys = append(keys, ch.Key)
		}
	}
	o.read(p, keys)
}

// read reads observed values. It requests a plan for base and derived values that
// appeared or disappeared.
func (o *observer) read(p *transaction, keys []string) {
	before := o.present(keys)
	o.southbound.readAgain(keys, p.request.Closed)
	after := o.present(keys)
	for key := range before {
		if !after[key] {
			p.request.Touch = append(p.request.Touch, key)
		}
	}
	for key := range after {
		if !before[key] {
			p.request.Touch = append(p.request.Touch, key)
		}
	}
	slices.Sort(p.request.Touch)
}

// present returns the values, and values derived from them, that exist.
func (o *observer) present(keys []string) map[string]bool {
	found := map[string]bool{}
	for _, key := range o.state.withDerived(keys) {
		if n := o.state.graph.Node(key); n != nil && n.Have != nil {
			found[key] = true
		}
	}
	return found
}

// planLook schedules the next observation, if any value is observed.
func (o *observer) planLook() {
	if len(o.observed) == 0 || o.looking {
		return
	}
	o.looking = true
	o.timers.after(observePeriod, &work{typ: api.SBNotification, plan: o.prepareObserved})
}

// prepareObserved reads the observed values. It returns false if none appeared or
// disappeared.
func (o *observer) prepareObserved(p *transaction) bool {
	p.opts.Description = "a look at what is only observed"
	o.looking = false
	var keys []string
	for key := range o.observed {
		switch n := o.state.graph.Node(key); {
		case n == nil || n.Want == nil || !n.Want.Observed:
			delete(o.observed, key) // no longer desired
		case !p.request.Closed[n.Desc.Session()]:
			keys = append(keys, key)
		}
	}
	o.read(p, keys)
	o.planLook()
	return len(p.request.Touch) > 0
}
