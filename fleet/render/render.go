// Package render makes the configuration of each agent from the objects of a fleet. It is pure: the
// same objects and allocations give the same result, whatever their order.
package render

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/suggest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// Input is what the configuration of agents is made from.
type Input struct {
	fleet.Objects
	// Allocations are the values that pools gave before. Agents keep them.
	Allocations Allocations
	// Codec reads the configurations; it knows the models.
	Codec *document.Codec
	// Selected selects the agents that are rendered; nil selects all. The others may still be peers, and
	// pools give them the same values.
	Selected func(*fleet.Agent) bool
}

// Rendering is a fleet that is ready to be rendered. It must not be used concurrently.
type Rendering struct {
	// Errs are errors that do not depend on an agent: references that no agent can have, pools that do not
	// exist. NetworkConfigs with errors are left out of the results.
	Errs []*Error
	// Warnings are about what is valid but hardly meant.
	Warnings []string
	// New are the values that pools give for the first time, sorted by pool and agent.
	New []Allocation

	in       Input
	agents   []*fleet.Agent // sorted by name
	configs  []*config      // with the highest priority first
	selected map[*config][]*fleet.Agent
	pools    map[string]*pool
	checks   map[protoreflect.FullName]*models.Annotations
}

// Result is the configuration of one agent.
type Result struct {
	Agent *fleet.Agent
	Items []Item   // sorted by key
	Errs  []*Error // if there are any, the items are incomplete
}

// Item is an item with the NetworkConfig that it comes from. Its position is in the template.
type Item struct {
	document.Item
	Config string
}

// Render checks the objects and allocates the values of pools. The results are in Agents.
func Render(in Input) *Rendering {
	r := &Rendering{in: in, selected: map[*config][]*fleet.Agent{}, pools: map[string]*pool{}, checks: map[protoreflect.FullName]*models.Annotations{}}
	for i := range in.Agents {
		r.agents = append(r.agents, &in.Agents[i])
	}
	slices.SortFunc(r.agents, func(a, b *fleet.Agent) int { return strings.Compare(a.Metadata.Name, b.Metadata.Name) })
	for i := range in.Pools {
		p := &in.Pools[i]
		r.pools[p.Metadata.Name] = r.newPool(p, in.Allocations[p.Metadata.Name])
	}
	for _, name := range slices.Sorted(maps.Keys(in.Allocations)) {
		if r.pools[name] == nil {
			r.Warnings = append(r.Warnings, fmt.Sprintf("there are allocations of pool %s, which does not exist", name))
		}
	}
	for i := range in.NetworkConfigs {
		r.add(&in.NetworkConfigs[i])
	}
	slices.SortFunc(r.configs, func(a, b *config) int {
		return cmp.Or(-cmp.Compare(a.Spec.Priority, b.Spec.Priority), strings.Compare(a.Metadata.Name, b.Metadata.Name))
	})
	slices.SortFunc(r.Errs, func(a, b *Error) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Error(), b.Error()))
	})
	slices.Sort(r.Warnings)
	if len(r.Errs) == 0 {
		r.allocate()
	}
	return r
}

// add adds a NetworkConfig, unless it has errors.
func (r *Rendering) add(nc *fleet.NetworkConfig) {
	c := &config{NetworkConfig: nc}
	before := len(r.Errs)
	fail := func(at document.Position, path string, err error) {
		r.Errs = append(r.Errs, &Error{Position: at, Config: nc.Metadata.Name, Path: path, Msg: err.Error()})
	}
	if nc.Spec.ForEach != nil {
		c.peers = r.peersOf(c, *nc.Spec.ForEach)
		c.around = c.peers
	}
	c.template = r.compile(c, nc.Spec.Template, "", fail)
	for _, ref := range c.refs {
		if ref.root == rootPool && r.pools[ref.name] == nil {
			fail(r.placeOf(c.template, ref.reference))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(nc.Spec.Variables)) {
		if err := r.checkVariable(nc.Spec.Variables[name]); err != nil {
			fail(nc.Metadata.Source, "spec.variables."+name+".pool", err)
		}
	}
	selected := r.matching(nc.Spec.Selector)
	if len(selected) == 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("NetworkConfig %s selects no agent (%s)", nc.Metadata.Name, selectorText(nc.Spec.Selector)))
	}
	if len(r.Errs) == before {
		r.configs = append(r.configs, c)
		r.selected[c] = selected
	}
}

func selectorText(s fleet.Selector) string { return cmp.Or(s.String(), "all agents") }

func (r *Rendering) matching(s fleet.Selector) (all []*fleet.Agent) {
	for _, a := range r.agents {
		if s.Matches(a.Metadata.Labels) {
			all = append(all, a)
		}
	}
	return all
}

// placeOf returns where a reference to an unknown pool is, and the error.
func (r *Rendering) placeOf(n *node, ref *reference) (at document.Position, path string, err error) {
	err = fmt.Errorf("%s: %w", ref.text, r.unknownPool(ref.name))
	var find func(n *node, path string) bool
	find = func(n *node, here string) bool {
		if slices.ContainsFunc(n.parts, func(p part) bool { return p.ref == ref }) {
			at, path = n.tree.Position, here
			return true
		}
		for i, f := range n.fields {
			if find(f, join(here, n.tree.Fields[i].Name)) {
				return true
			}
		}
		for i, e := range n.elements {
			if find(e, fmt.Sprintf("%s[%d]", here, i)) {
				return true
			}
		}
		if n.each != nil {
			return find(n.each, here+".value")
		}
		return false
	}
	find(n, "")
	return at, path, err
}

func (r *Rendering) unknownPool(name string) error {
	return fmt.Errorf("no pool %q%s", name, question(suggest.Nearest(name, slices.Sorted(maps.Keys(r.pools)))))
}

// checkVariable checks the pool of a variable.
func (r *Rendering) checkVariable(v fleet.Variable) error {
	p := r.pools[v.Pool]
	switch {
	case v.Pool == "":
		return nil
	case p == nil:
		return r.unknownPool(v.Pool)
	case !p.Spec.Type.Gives(v.Type):
		return fmt.Errorf("pool %s of type %s has no values of type %s", v.Pool, p.Spec.Type, v.Type)
	}
	return nil
}

// Allocations returns all values that pools have given: the earlier ones and New.
func (r *Rendering) Allocations() Allocations {
	all := Allocations{}
	for pool, agents := range r.in.Allocations {
		all[pool] = maps.Clone(agents)
	}
	for _, n := range r.New {
		if all[n.Pool] == nil {
			all[n.Pool] = map[string]string{}
		}
		all[n.Pool][n.Agent] = n.Value
	}
	return all
}

// Agents renders the selected agents, one after the other, in the order of their names. If there are Errs
// there are no results.
func (r *Rendering) Agents() iter.Seq[*Result] {
	return func(yield func(*Result) bool) {
		if len(r.Errs) > 0 {
			return
		}
		for _, a := range r.agents {
			if (r.in.Selected == nil || r.in.Selected(a)) && !yield(r.agent(a)) {
				return
			}
		}
	}
}

// agent renders one agent.
func (r *Rendering) agent(a *fleet.Agent) *Result {
	m := &merger{Rendering: r, result: &Result{Agent: a}, items: map[string]entry{}, reported: map[string]bool{}}
	for _, c := range r.configs {
		if !c.Spec.Selector.Matches(a.Metadata.Labels) {
			continue
		}
		if c.Spec.ForEach == nil {
			m.add(c, nil)
			continue
		}
		for _, peer := range c.peers {
			if peer != a {
				m.add(c, peer)
			}
		}
	}
	slices.SortFunc(m.result.Items, func(a, b Item) int { return strings.Compare(a.Key, b.Key) })
	if m.more > 0 {
		m.result.Errs = append(m.result.Errs, &Error{Agent: a.Metadata.Name, Msg: fmt.Sprintf("and %d more errors", m.more)})
	}
	return m.result
}

// merger collects the items of one agent.
type merger struct {
	*Rendering
	result   *Result
	items    map[string]entry
	reported map[string]bool // errors, without the peer
	more     int             // errors that are not reported
}

// entry is an item that an agent has already.
type entry struct {
	value  proto.Message
	config *config
	peer   *fleet.Agent
}

// maxErrors is the maximum number of errors of one agent.
const maxErrors = 100

func (m *merger) fail(c *config, peer *fleet.Agent, at document.Position, path, msg string) {
	id := c.Metadata.Name + "\x00" + path + "\x00" + msg
	if m.reported[id] {
		return
	}
	if m.reported[id] = true; len(m.result.Errs) == maxErrors {
		m.more++
		return
	}
	e := &Error{Position: at, Agent: m.result.Agent.Metadata.Name, Config: c.Metadata.Name, Path: path, Msg: msg}
	if peer != nil {
		e.Peer = peer.Metadata.Name
	}
	m.result.Errs = append(m.result.Errs, e)
}

// add adds the items of a NetworkConfig, or of its repetition for a peer.
func (m *merger) add(c *config, peer *fleet.Agent) {
	failed := false
	s := &scope{Rendering: m.Rendering, config: c, agent: m.result.Agent, peer: peer}
	s.report = func(peer *fleet.Agent, at document.Position, path string, err error) {
		failed = true
		m.fail(c, peer, at, path, err.Error())
	}
	root := s.build(c.template, "")
	if failed { // fields of what is missing are wrong, too
		return
	}
	doc, paths := m.in.Codec.DecodeTree(root)
	for _, e := range doc.Errs {
		m.fail(c, peer, e.Position, e.Field, e.Msg)
	}
	for i, it := range doc.Items {
		it.File = root.File
		m.item(c, peer, it, paths[i])
		for _, v := range m.violations(it.Value) {
			m.fail(c, peer, root.Find(paths[i]+"."+v.Field).Position, paths[i]+"."+jsonPath(v.Field), v.Err.Error())
		}
	}
}

// violations returns the fields of an item with values that their annotations exclude.
func (m *merger) violations(value proto.Message) []models.Violation {
	d := value.ProtoReflect().Descriptor()
	check := m.checks[d.FullName()]
	if check == nil {
		check = models.AnnotationsOf(d)
		m.checks[d.FullName()] = check
	}
	return check.Violations(value.ProtoReflect())
}

// jsonPath returns the path of a field as documents have it.
func jsonPath(path string) string {
	var b strings.Builder
	upper := false
	for _, r := range path {
		switch {
		case r == '_':
			upper = true
		case upper:
			b.WriteString(strings.ToUpper(string(r)))
			upper = false
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// item adds an item, unless one with the same key has a higher priority.
func (m *merger) item(c *config, peer *fleet.Agent, it document.Item, path string) {
	other, twice := m.items[it.Key]
	switch {
	case !twice:
		m.items[it.Key] = entry{it.Value, c, peer}
		m.result.Items = append(m.result.Items, Item{it, c.Metadata.Name})
	case other.config == c && (peer == nil || other.peer == peer):
		m.fail(c, peer, it.Position, path, fmt.Sprintf("the template gives the item %s twice", m.nameOf(it.Key)))
	case other.config == c:
		if !proto.Equal(other.value, it.Value) {
			m.fail(c, nil, it.Position, path, fmt.Sprintf("peers %s and %s give the item %s different values; expected a name with ${peer.label}",
				other.peer.Metadata.Name, peer.Metadata.Name, m.nameOf(it.Key)))
		}
	case other.config.Spec.Priority == c.Spec.Priority:
		m.fail(c, nil, it.Position, path, fmt.Sprintf("NetworkConfig %s gives the item %s as well, with the same priority %d; expected different priorities",
			other.config.Metadata.Name, m.nameOf(it.Key), c.Spec.Priority))
	}
}

// nameOf returns MODEL/NAME for a key.
func (m *merger) nameOf(key string) string {
	model, ok := m.in.Codec.Models().ForKey(key)
	if !ok || model.Singleton() {
		return key
	}
	return model.Spec().ModelName() + "/" + model.Label(key)
}
