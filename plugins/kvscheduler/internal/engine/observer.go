package engine

import (
	"slices"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// observePeriod is how often values that are only observed are looked at,
// because the southbound does not report their changes.
const observePeriod = 10 * time.Second

// observer follows the values that the policy observe leaves to others. It belongs to the
// worker.
type observer struct {
	*state
	*timers
	southbound *southbound

	observed map[string]*registry.Descriptor
	looking  bool // a look at them is planned
}

// observe keeps the list of what is observed.
func (o *observer) observe(change *plan.Change) {
	switch {
	case o.policies == nil || change.Want == nil || !change.Want.Observed:
	case o.observed == nil:
		o.observed = map[string]*registry.Descriptor{change.Key: change.Desc}
	default:
		o.observed[change.Key] = change.Desc
	}
}

// lookAtNew reads what is asked for, is only observed and is not known to exist,
// unless everything was read just now.
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

// readAmong looks at values that others make. What came or went, be it derived,
// is to be planned for.
func (o *observer) readAmong(p *transaction, keys map[*registry.Descriptor]map[string]bool) {
	before := o.present(keys)
	r := o.southbound.refresher(p.request.Closed)
	for _, d := range o.registry.Load().RetrieveOrder() {
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

// present are those of the values, and of what is derived from them, that exist.
func (o *observer) present(keys map[*registry.Descriptor]map[string]bool) map[string]bool {
	found := map[string]bool{}
	for _, of := range keys {
		for key := range of {
			n := o.graph.Node(key)
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

// planLook looks at what is observed after a while, if there is anything.
func (o *observer) planLook() {
	if len(o.observed) == 0 || o.looking {
		return
	}
	o.looking = true
	o.after(observePeriod, observation{})
}

// prepareObserved reads what is observed; false if nothing came or went.
func (o *observer) prepareObserved(p *transaction) bool {
	p.opts.Description = "a look at what is only observed"
	o.looking = false
	keys := map[*registry.Descriptor]map[string]bool{}
	for key, d := range o.observed {
		n := o.graph.Node(key)
		if n == nil || n.Want == nil || !n.Want.Observed {
			delete(o.observed, key) // not wanted any more
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
