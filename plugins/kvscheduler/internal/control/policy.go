package control

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// observePeriod is how often values that are only observed are looked at,
// because nobody tells that they come and go.
const observePeriod = 10 * time.Second

var errIgnored = errors.New(`the ownership policy for it is "ignore": this agent neither makes nor reads such values`)

// byPolicy makes a wish what its policy allows; false: it is as it was.
func (c *Control) byPolicy(change *plan.Change) bool {
	v := change.Want
	switch c.opts.Policies.Of(change.Desc, change.Key) {
	case registry.Ignore:
		change.Want = &registry.Value{Msg: v.Msg, Invalid: errIgnored}
		return true
	case registry.Observe:
		change.Want = &registry.Value{Msg: v.Msg, Observed: true}
		return true
	case registry.Adopt:
		n := change.Node
		change.Adopt = n != nil && n.Have != nil && n.Have.FromSB
	}
	return false
}

// giveUp ends a wish. What was adopted or only observed is left in place, as
// something of the southbound.
func (c *Control) giveUp(n *graph.Node) plan.Change {
	change := plan.Change{Key: n.Key, Node: n, Desc: n.Desc}
	switch {
	case n.Have == nil:
	case n.Want != nil && n.Want.Observed:
		change.Want = n.Have
	case n.Adopted:
		change.Want = c.registry.Load().Found(n.Key, n.Desc, n.Have.Msg, true)
	}
	return change
}

// adopt notes what is being taken over, and what is given back.
func (c *Control) adopt(changes []plan.Change) {
	if c.opts.Policies == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range changes {
		ch := &changes[i]
		if n := c.graph.Node(ch.Key); n != nil && ch.Want != nil {
			n.Adopted = ch.Adopt || n.Adopted && !ch.Want.FromSB
		}
	}
}

// observe keeps the list of what is observed.
func (c *Control) observe(change *plan.Change) {
	switch {
	case c.opts.Policies == nil || change.Want == nil || !change.Want.Observed:
	case c.observed == nil:
		c.observed = map[string]*registry.Descriptor{change.Key: change.Desc}
	default:
		c.observed[change.Key] = change.Desc
	}
}

// lookAtNew reads what is asked for, is only observed and is not known to exist,
// unless everything was read just now.
func (c *Control) lookAtNew(p *prepared, read bool) {
	defer c.planLook()
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
	c.readAmong(p.request.Closed, keys)
}

func (c *Control) readAmong(closed map[string]bool, keys map[*registry.Descriptor]map[string]bool) {
	r := c.refresher(closed)
	for _, d := range c.registry.Load().RetrieveOrder() {
		if of := keys[d]; of != nil && d.Retrieve != nil && !closed[d.Session()] {
			r.Among(d, of)
		}
	}
}

// planLook looks at what is observed after a while, if there is anything.
func (c *Control) planLook() {
	if len(c.observed) == 0 || c.looking {
		return
	}
	c.looking = true
	c.after(observePeriod, &job{typ: api.RetryFailedOps, observe: true})
}

// prepareObserved reads what is observed; false if nothing came or went.
func (c *Control) prepareObserved(j *job, p *prepared) bool {
	j.typ = api.SBNotification // it waits like a retry, and is news of the southbound
	j.opts.Description = "a look at what is only observed"
	c.looking = false
	keys := map[*registry.Descriptor]map[string]bool{}
	was := map[string]bool{}
	for key, d := range c.observed {
		n := c.graph.Node(key)
		if n == nil || n.Want == nil || !n.Want.Observed {
			delete(c.observed, key) // not wanted any more
			continue
		}
		if keys[d] == nil {
			keys[d] = map[string]bool{}
		}
		keys[d][key], was[key] = true, n.Have != nil
	}
	c.readAmong(p.request.Closed, keys)
	for key, existed := range was {
		if n := c.graph.Node(key); n != nil && (n.Have != nil) != existed {
			p.request.Touch = append(p.request.Touch, key)
		}
	}
	slices.SortFunc(p.request.Touch, strings.Compare)
	c.planLook()
	return len(p.request.Touch) > 0
}
