package engine

import (
	"slices"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// observePeriod is the interval at which observed values are read, since the
// southbound does not report their changes.
const observePeriod = 10 * time.Second

// observer tracks the values with the ownership policy observe. It belongs to the worker.
type observer struct {
	*shared

	observed map[string]*registry.Descriptor
	looking  bool // an observation is scheduled
}

// observe adds the value of a change to the observed values, or removes it.
func (o *observer) observe(change *plan.Change) {
	switch {
	case o.opts.Policies == nil || change.Want == nil || !change.Want.Observed:
	case o.observed == nil:
		o.observed = map[string]*registry.Descriptor{change.Key: change.Desc}
	default:
		o.observed[change.Key] = change.Desc
	}
}

// lookAtNew reads the observed values among the changes that are not known to exist,
// unless all values have just been read.
func (o *observer) lookAtNew(p *transaction, read bool) {
	defer o.planLook()
	if read {
		return
	}
	keys := map[*registry.Descriptor]map[string]bool{}
	for i := range p.request.Changes {
		ch := &p.request.Changes[i]
		if ch.Want == nil || !ch.Want.Observed || ch.Node != nil && ch.Node.Have != nil {
			continue
		}
		if keys[ch.Desc] == nil {
			keys[ch.Desc] = map[string]bool{}
		}
		keys[ch.Desc][ch.Key] = true
	}
	o.readAmong(p, keys)
}

// readAmong reads observed values. It requests a plan for base and derived values that
// appeared or disappeared.
func (o *observer) readAmong(p *transaction, keys map[*registry.Descriptor]map[string]bool) {
	before := o.present(keys)
	r := o.southbound.refresher(p.request.Closed)
	for _, d := range o.state.registry.Load().RetrieveOrder() {
		if of := keys[d]; of != nil && d.Retrieve != nil && !p.request.Closed[d.Session()] {
			r.Among(d, of)
		}
	}
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
func (o *observer) present(keys map[*registry.Descriptor]map[string]bool) map[string]bool {
	found := map[string]bool{}
	for _, of := range keys {
		for key := range of {
			n := o.state.graph.Node(key)
			if n == nil || n.Have == nil {
				continue
			}
			found[key] = true
			for child := range n.Derived {
				if child.Have != nil {
					found[child.Key] = true
				}
			}
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
	o.timers.after(observePeriod, observation{})
}

// prepareObserved reads the observed values. It returns false if none appeared or
// disappeared.
func (o *observer) prepareObserved(p *transaction) bool {
	p.opts.Description = "a look at what is only observed"
	o.looking = false
	keys := map[*registry.Descriptor]map[string]bool{}
	for key, d := range o.observed {
		n := o.state.graph.Node(key)
		if n == nil || n.Want == nil || !n.Want.Observed {
			delete(o.observed, key) // no longer desired
			continue
		}
		if keys[d] == nil {
			keys[d] = map[string]bool{}
		}
		keys[d][key] = true
	}
	o.readAmong(p, keys)
	o.planLook()
	return len(p.request.Touch) > 0
}
