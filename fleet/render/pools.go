package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/internal/span"
)

// Allocations are the values that pools have given to agents: pool, agent, value.
type Allocations map[string]map[string]string

// Allocation is one value that a pool has given.
type Allocation struct{ Pool, Agent, Value string }

// pool gives values to agents.
type pool struct {
	*fleet.Pool
	set      *span.Set
	given    map[string]string // by agent
	taken    map[span.Number]string
	reserved []span.Span // what agents have without the pool
	failed   map[string]bool
}

// valueFor returns the value of an agent.
func (p *pool) valueFor(agent string) (any, error) {
	text, ok := p.given[agent]
	switch {
	case p.failed[agent]:
		return nil, fmt.Errorf("pool %s has no free value: all %d are given", p.Metadata.Name, p.set.Size())
	case !ok:
		return nil, fmt.Errorf("pool %s has no value", p.Metadata.Name)
	case p.Spec.Type == fleet.PoolInteger:
		return strconv.ParseInt(text, 10, 64)
	}
	return text, nil
}

// newPool returns a pool with the values that it gave before.
func (r *Rendering) newPool(p *fleet.Pool, before map[string]string) *pool {
	set, problems := span.New(string(p.Spec.Type), p.Spec.Ranges, p.Spec.Exclude, p.Spec.PrefixLength)
	for _, problem := range problems { // Decode has found them, if it has read the pool
		r.Errs = append(r.Errs, &Error{Position: p.Metadata.Source, Pool: p.Metadata.Name, Path: "spec." + problem.Field, Msg: problem.Err.Error()})
	}
	made := &pool{Pool: p, set: set, given: map[string]string{}, taken: map[span.Number]string{}, failed: map[string]bool{}}
	for _, agent := range slices.Sorted(maps.Keys(before)) {
		text := before[agent]
		n, err := set.Parse(text)
		if other, twice := made.taken[n]; err == nil && twice {
			err = fmt.Errorf("%s was given to %s as well", text, other)
		}
		if err != nil {
			r.Errs = append(r.Errs, &Error{Position: p.Metadata.Source, Pool: p.Metadata.Name, Agent: agent, Msg: "allocation: " + err.Error()})
			continue
		}
		if len(problems) == 0 && !set.Contains(n) {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s keeps %s of pool %s, which the pool no longer has", agent, text, p.Metadata.Name))
		}
		made.given[agent], made.taken[n] = set.Format(n), agent
	}
	return made
}

// reserve keeps values from others that an agent has without the pool. It returns the agent to which the
// pool has given the value.
func (p *pool) reserve(agent string, value any) (other string) {
	text, ok := value.(string)
	if n, isNumber := value.(int64); isNumber {
		text, ok = strconv.FormatInt(n, 10), true
	}
	if !ok {
		return ""
	}
	first, last, related := p.set.Cover(text)
	switch owner, known := p.taken[first]; {
	case !related || owner == agent:
	case owner != "":
		return owner
	case first == last && !known:
		p.taken[first] = ""
	case first != last:
		p.reserved = append(p.reserved, span.Span{First: first, Last: last})
	}
	return ""
}

// free reports whether a value can be given.
func (p *pool) free(n span.Number) bool {
	if _, taken := p.taken[n]; taken {
		return false
	}
	return !slices.ContainsFunc(p.reserved, func(s span.Span) bool { return !n.Less(s.First) && !s.Last.Less(n) })
}

// allocate gives the lowest free values to agents that have none, in the order of their names.
func (p *pool) allocate(agents map[string]bool) (fresh []Allocation) {
	values := p.set.Values()
	for _, agent := range slices.Sorted(maps.Keys(agents)) {
		if _, has := p.given[agent]; has {
			continue
		}
		n, ok := values.Next()
		for ok && !p.free(n) {
			n, ok = values.Next()
		}
		if !ok {
			p.failed[agent] = true
			continue
		}
		p.given[agent], p.taken[n] = p.set.Format(n), agent
		fresh = append(fresh, Allocation{p.Metadata.Name, agent, p.given[agent]})
	}
	return fresh
}

// allocate finds the agents that need a value of a pool and have none, and allocates one.
func (r *Rendering) allocate() {
	need := map[string]map[string]bool{}
	add := func(pool, agent string) {
		if need[pool] == nil {
			need[pool] = map[string]bool{}
		}
		need[pool][agent] = true
	}
	for _, c := range r.configs {
		r.reserve(c)
		for _, ref := range c.refs {
			r.users(c, ref, add)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(need)) {
		r.New = append(r.New, r.pools[name].allocate(need[name])...)
	}
}

// users calls add for each agent that gets a value of a pool for a reference.
func (r *Rendering) users(c *config, ref use, add func(pool, agent string)) {
	agents, name := r.selected[c], ref.name
	if len(agents) == 0 {
		return
	}
	if ref.root == rootPeer {
		agents = ref.peers
	}
	if ref.root != rootPool {
		if name = c.Spec.Variables[ref.name].Pool; ref.part != partValues || name == "" {
			return
		}
	}
	for _, a := range agents {
		if _, own := a.Spec.Values[ref.name]; !own || ref.root == rootPool {
			add(name, a.Metadata.Name)
		}
	}
}

// reserve keeps the values from pools that agents have themselves.
func (r *Rendering) reserve(c *config) {
	for _, name := range slices.Sorted(maps.Keys(c.Spec.Variables)) {
		v := c.Spec.Variables[name]
		if v.Pool == "" {
			continue
		}
		for _, a := range r.agents {
			own, ok := a.Spec.Values[name]
			if !ok {
				continue
			}
			if n, err := v.Type.Normalize(own); err == nil {
				own = n
			}
			if other := r.pools[v.Pool].reserve(a.Metadata.Name, own); other != "" {
				r.Errs = append(r.Errs, &Error{
					Position: a.Metadata.Source, Agent: a.Metadata.Name, Pool: v.Pool, Path: "spec.values." + name,
					Msg: fmt.Sprintf("%v is allocated to %s", own, other),
				})
			}
		}
	}
}
