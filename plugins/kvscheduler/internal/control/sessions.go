package control

import (
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/infra/holder"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// session is what is known of a southbound.
type session struct {
	up     bool
	epoch  uint64
	reason error // why it is down
}

// SouthboundUp implements api.Sessions.
func (c *Control) SouthboundUp(name string, epoch uint64) {
	c.pushSession(&sessionChange{name: name, up: true, epoch: epoch})
}

// SouthboundDown implements api.Sessions.
func (c *Control) SouthboundDown(name string, reason error) {
	c.exec.Crashes.Lose(name, c.clock.Now())
	c.pushSession(&sessionChange{name: name, reason: reason})
}

func (c *Control) pushSession(s *sessionChange) {
	if err := c.push(s); err != nil {
		c.log.Debug("session change ignored", "southbound", s.name, "error", err)
	}
}

// closedSessions are the southbounds that descriptors name and that are not
// known to be up.
func (c *Control) closedSessions() map[string]bool {
	c.sessMu.Lock()
	defer c.sessMu.Unlock()
	closed := map[string]bool{}
	for _, d := range c.registry.Load().All() {
		if d.Southbound != "" && !c.sessions[d.Southbound].up {
			closed[d.Southbound] = true
		}
	}
	return closed
}

// sessionProblem says why a southbound cannot be reached; empty if it can.
func (c *Control) sessionProblem(name string) string {
	if name == "" {
		return ""
	}
	c.sessMu.Lock()
	defer c.sessMu.Unlock()
	s := c.sessions[name]
	var held *holder.HeldError
	switch {
	case s.up:
		return ""
	case errors.As(s.reason, &held):
		return name + ": " + held.Error()
	case s.reason != nil:
		return fmt.Sprintf("%s: disconnected (%v)", name, s.reason)
	}
	return name + ": disconnected"
}

// prepareSession follows a southbound that came or went.
func (c *Control) prepareSession(s *sessionChange, p *prepared) bool {
	c.sessMu.Lock()
	before := c.sessions[s.name]
	c.sessions[s.name] = session{s.up, s.epoch, s.reason}
	c.sessMu.Unlock()
	if before.up && s.up && before.epoch == s.epoch {
		return false
	}
	now := c.clock.Now()
	var calls []exec.InFlight
	if s.up || !errors.Is(s.reason, api.ErrUnresponsive) {
		calls = c.exec.Crashes.Take(s.name, now)
	}
	if !before.up && !s.up && len(calls) == 0 {
		return false
	}
	p.request.Closed = c.closedSessions()
	if !s.up || before.up {
		c.afterCrash(s.name, now, calls)
		p.request.Touch = c.abandon(s.name)
		c.pin(&p.request)
		c.markQuarantined()
	}
	if s.up {
		r := c.refresher(p.request.Closed)
		r.Only = func(d *registry.Descriptor) bool { return d.Southbound == s.name }
		r.All(nil)
		p.request.All = true
		p.request.DropUnwanted = c.fullResyncDone
	}
	return true
}

// abandon takes everything in a southbound for non-existent, without any
// callback. It returns the keys that were thought to exist.
func (c *Control) abandon(name string) []string {
	c.overdue.Forget(name)
	c.reads.Forget(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	var nodes []*graph.Node
	c.graph.Nodes(func(n *graph.Node) bool {
		if n.Root().Desc.Session() == name && n.Have != nil {
			nodes = append(nodes, n)
		}
		return true
	})
	keys := make([]string, 0, len(nodes))
	for _, n := range nodes {
		keys = append(keys, n.Key)
		c.lose(n)
		if n.IsDerived() || n.Obtained() {
			c.graph.SetWant(n, nil)
		}
		n.Err, n.Retrying = nil, false
		c.graph.Remove(n, graph.Lost)
		c.graph.Forget(n)
		if n.Gone() { // its state changes as well
			c.refreshed = append(c.refreshed, n.Root().Key)
		}
	}
	return keys
}

// valuesOf lists the base values in a southbound: its coming and going is part
// of their status, whether or not an operation was executed.
func (c *Control) valuesOf(name string) (keys []string) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	c.graph.Nodes(func(n *graph.Node) bool {
		if !n.IsDerived() && n.Desc.Session() == name {
			keys = append(keys, n.Key)
		}
		return true
	})
	return keys
}
