package control

import (
	"errors"
	"slices"
	"strings"
	"time"

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
	switch c.policies.Of(change.Desc, change.Key) {
	case registry.Ignore:
		change.Want = &registry.Value{Msg: v.Msg, Invalid: errIgnored}
		return true
	case registry.Observe:
		change.Want = &registry.Value{Msg: v.Msg, Observed: true}
		return true
	case registry.Adopt:
		n := change.Node
		change.Adopt = n != nil && n.Have != nil && !n.Ours()
	}
	return false
}

// noBusiness: what exists under the key is never as the scheduler made it.
func (st *state) noBusiness(n *graph.Node) bool {
	p := st.policies.Of(n.Desc, n.Key)
	return p == registry.Observe || p == registry.Ignore
}

// giveUp ends a wish. What was adopted or only observed is left in place, as
// something of the southbound, and so is what was never wanted validly.
func (c *Control) giveUp(n *graph.Node) plan.Change {
	change := plan.Change{Key: n.Key, Node: n, Desc: n.Desc}
	switch {
	case n.Have == nil:
	case n.Owner() == graph.Observed:
		change.Want = n.Have
	case n.Owner() == graph.Adopted || n.Want.KeepsFound():
		change.Want = c.asItIs(n)
	}
	return change
}

// instead gives an invalid wish for a value that was found what stays in force:
// as another agent's if it was adopted, or is not on record.
func (c *Control) instead(v *registry.Value, n *graph.Node) *registry.Value {
	if v.Invalid != nil && (n.Owner() == graph.Adopted || n.Ours() && !c.journal.recorded(n)) {
		return v.Instead(c.asItIs(n))
	}
	return v.Instead(n.Have)
}

// asItIs is what exists as something of the southbound. Its properties are those of
// the value as it was read last: they need nothing but their base.
func (c *Control) asItIs(n *graph.Node) *registry.Value {
	v := n.AsItIs()
	v.FromSB = true
	property := func(dv registry.Derived) bool { return dv.Desc.IsProperty() }
	if read, err := c.registry.Load().Read(n.Key, n.Desc, v.Msg); err == nil {
		v.Derived = slices.DeleteFunc(v.Derived, property)
		for _, dv := range read.Derived {
			if property(dv) {
				v.Derived = append(v.Derived, dv)
			}
		}
		slices.SortFunc(v.Derived, func(a, b registry.Derived) int { return strings.Compare(a.Key, b.Key) })
	}
	for i := range v.Derived {
		v.Derived[i].Value = &registry.Value{Msg: v.Derived[i].Value.Msg, FromSB: true}
	}
	return v
}

// leave makes a value of others that was given back before a callback of it
// returned what it is now, with what is derived from it.
func (c *Control) leave(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.graph.Node(key)
	if n == nil {
		return
	}
	if n = n.Root(); !n.Obtained() {
		return
	}
	var v *registry.Value
	pieces := map[string]*registry.Value{}
	if n.Have != nil {
		v = c.asItIs(n)
		for i := range v.Derived {
			pieces[v.Derived[i].Key] = v.Derived[i].Value
		}
	}
	for _, child := range slices.Collect(n.Derived) {
		c.setForeign(child, pieces[child.Key])
	}
	c.setForeign(n, v)
}

// setForeign makes a value one of others; nil: it does not exist.
func (c *Control) setForeign(n *graph.Node, v *registry.Value) {
	c.graph.SetWant(n, v)
	if v == nil {
		c.graph.Remove(n, graph.Lost)
	} else {
		_ = c.graph.SetHave(n, v, n.Meta, graph.GivenBack) // its metadata is known to be usable
	}
	c.graph.Forget(n)
}

// adopt notes what is about to be taken over.
func (c *Control) adopt(changes []plan.Change) {
	if c.policies == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range changes {
		if n := c.graph.Node(changes[i].Key); n != nil && changes[i].Adopt {
			c.graph.Own(n, graph.Adopt)
		}
	}
}

// giveBack notes what was given back, or was not taken over after all.
func (c *Control) giveBack(changes []plan.Change) {
	if c.policies == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range changes {
		if n := c.graph.Node(changes[i].Key); n != nil && n.Owner() == graph.Adopted && n.Desired() == nil {
			c.graph.Own(n, graph.GivenBack)
		}
	}
}

// observe keeps the list of what is observed.
func (c *Control) observe(change *plan.Change) {
	switch {
	case c.policies == nil || change.Want == nil || !change.Want.Observed:
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
	c.readAmong(p, keys)
}

// readAmong looks at values that others make. What came or went, be it derived,
// is to be planned for.
func (c *Control) readAmong(p *prepared, keys map[*registry.Descriptor]map[string]bool) {
	before := c.present(keys)
	r := c.southbound.refresher(p.request.Closed)
	for _, d := range c.registry.Load().RetrieveOrder() {
		if of := keys[d]; of != nil && d.Retrieve != nil && !p.request.Closed[d.Session()] {
			r.Among(d, of)
		}
	}
	after := c.present(keys)
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
func (c *Control) present(keys map[*registry.Descriptor]map[string]bool) map[string]bool {
	found := map[string]bool{}
	for _, of := range keys {
		for key := range of {
			n := c.graph.Node(key)
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
func (c *Control) planLook() {
	if len(c.observed) == 0 || c.looking {
		return
	}
	c.looking = true
	c.after(observePeriod, observation{})
}

// prepareObserved reads what is observed; false if nothing came or went.
func (c *Control) prepareObserved(p *prepared) bool {
	p.opts.Description = "a look at what is only observed"
	c.looking = false
	keys := map[*registry.Descriptor]map[string]bool{}
	for key, d := range c.observed {
		n := c.graph.Node(key)
		if n == nil || n.Want == nil || !n.Want.Observed {
			delete(c.observed, key) // not wanted any more
			continue
		}
		if keys[d] == nil {
			keys[d] = map[string]bool{}
		}
		keys[d][key] = true
	}
	c.readAmong(p, keys)
	c.planLook()
	return len(p.request.Touch) > 0
}
