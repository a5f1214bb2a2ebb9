package render

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/infra/suggest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// node is a value of a template.
type node struct {
	tree     *document.Tree
	fields   []*node // values of the fields of a mapping
	elements []*node
	parts    []part         // of a string with references
	constant bool           // there is no reference in it
	each     *node          // of an element that is repeated: its value
	peers    []*fleet.Agent // that it is repeated for, sorted by name
}

// config is a NetworkConfig that is ready to be rendered.
type config struct {
	*fleet.NetworkConfig
	template *node
	refs     []use
	peers    []*fleet.Agent // of ForEach, sorted by name
	around   []*fleet.Agent // peers of the innermost forEach around the node that is compiled; nil: there is none
}

// use is a reference in a template, with the peers that it can be about.
type use struct {
	*reference
	peers []*fleet.Agent
}

// compile parses the strings of a template.
func (r *Rendering) compile(c *config, t *document.Tree, path string, fail func(at document.Position, path string, err error)) *node {
	n := &node{tree: t, constant: true}
	switch t.Kind {
	case document.Mapping:
		for _, f := range t.Fields {
			at := join(path, f.Name)
			if parts, err := parse(f.Name); parts != nil || err != nil {
				fail(f.Position, at, errNameReference)
				continue
			}
			n.fields = append(n.fields, r.compile(c, f.Value, at, fail))
		}
		n.constant = !slices.ContainsFunc(n.fields, func(v *node) bool { return !v.constant })
	case document.List:
		for i, e := range t.Elements {
			n.elements = append(n.elements, r.element(c, e, path+"["+strconv.Itoa(i)+"]", fail))
		}
		n.constant = !slices.ContainsFunc(n.elements, func(v *node) bool { return !v.constant })
	case document.String:
		parts, err := parse(t.Text)
		if err != nil {
			fail(t.Position, path, err)
		}
		n.parts, n.constant = parts, parts == nil
		for _, p := range parts {
			if p.ref == nil {
				continue
			}
			if err := c.allowed(p.ref); err != nil {
				fail(t.Position, path, err)
			}
			c.refs = append(c.refs, use{p.ref, c.around})
		}
	}
	return n
}

// element compiles an element of a list.
func (r *Rendering) element(c *config, t *document.Tree, path string, fail func(at document.Position, path string, err error)) *node {
	f, value, ok, errs := fleet.RepeatedElement(t, path)
	for _, err := range errs {
		if e, is := errors.AsType[*document.Error](err); is {
			fail(e.Position, e.Field, errors.New(e.Msg))
		}
	}
	switch {
	case !ok:
		return r.compile(c, t, path, fail)
	case len(errs) > 0:
		return &node{tree: t, constant: true}
	}
	n := &node{tree: t, peers: r.peersOf(c, f)}
	outer := c.around
	c.around = n.peers
	n.each = r.compile(c, value, path+".value", fail)
	c.around = outer
	return n
}

// peersOf returns the agents of a forEach, not nil; if there are none that is a warning.
func (r *Rendering) peersOf(c *config, f fleet.ForEach) []*fleet.Agent {
	peers := append([]*fleet.Agent{}, r.matching(f.Peers)...)
	if len(peers) == 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("NetworkConfig %s has no peers (%s)", c.Metadata.Name, selectorText(f.Peers)))
	}
	return peers
}

var errNameReference = fmt.Errorf("the name of a field cannot have references, only values can")

// allowed reports a reference to a peer without peers.
func (c *config) allowed(r *reference) error {
	if r.root == rootPeer && c.around == nil {
		return fmt.Errorf("%s: there is a peer only with spec.forEach, or in an element of a list with forEach", r.text)
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// scope is what references are resolved in.
type scope struct {
	*Rendering
	config      *config
	agent, peer *fleet.Agent
	report      func(peer *fleet.Agent, at document.Position, path string, err error)
}

func (s *scope) fail(at document.Position, path string, err error) { s.report(s.peer, at, path, err) }

// build returns a template with the values of its references.
func (s *scope) build(n *node, path string) *document.Tree {
	if n.constant {
		return n.tree
	}
	t := &document.Tree{Position: n.tree.Position, Kind: n.tree.Kind}
	switch t.Kind {
	case document.Mapping:
		t.Fields = slices.Clone(n.tree.Fields)
		for i, f := range n.fields {
			t.Fields[i].Value = f.tree
			if !f.constant {
				t.Fields[i].Value = s.build(f, join(path, t.Fields[i].Name))
			}
		}
	case document.List:
		for i, e := range n.elements {
			at := path + "[" + strconv.Itoa(i) + "]"
			switch {
			case e.each != nil:
				t.Elements = append(t.Elements, s.repeat(e, at)...)
			case e.constant:
				t.Elements = append(t.Elements, e.tree)
			default:
				t.Elements = append(t.Elements, s.build(e, at))
			}
		}
	default:
		return s.text(n, path)
	}
	return t
}

// repeat builds an element for each of its peers.
func (s *scope) repeat(n *node, path string) (all []*document.Tree) {
	for _, peer := range n.peers {
		if peer != s.agent {
			of := *s
			of.peer = peer
			all = append(all, of.build(n.each, path+".value"))
		}
	}
	return all
}

// text returns a string with the values of its references. One that is only a reference becomes its value.
func (s *scope) text(n *node, path string) *document.Tree {
	if len(n.parts) == 1 && n.parts[0].ref != nil {
		value, err := s.value(n.parts[0].ref)
		if err == nil {
			var t *document.Tree
			if t, err = document.TreeOf(value, n.tree.Position); err == nil {
				return t
			}
		}
		s.fail(n.tree.Position, path, err)
		return &document.Tree{Position: n.tree.Position}
	}
	t := &document.Tree{Position: n.tree.Position, Kind: document.String}
	for _, p := range n.parts {
		if p.ref == nil {
			t.Text += p.text
			continue
		}
		text, err := s.scalar(p.ref)
		if err != nil {
			s.fail(n.tree.Position, path, err)
		}
		t.Text += text
	}
	return t
}

// scalar returns the text of a value inside a string.
func (s *scope) scalar(r *reference) (string, error) {
	value, err := s.value(r)
	if err != nil {
		return "", err
	}
	switch v := value.(type) {
	case string:
		return v, nil
	case []any, map[string]any:
		return "", fmt.Errorf("%s is %s, which can only be used alone, not inside a string", r.text, fleet.Describe(value))
	}
	t, err := document.TreeOf(value, document.Position{})
	if err != nil {
		return "", err
	}
	return t.Text, nil
}

// value returns what a reference names.
func (s *scope) value(r *reference) (any, error) {
	if r.root == rootPool {
		return s.pools[r.name].valueFor(s.agent.Metadata.Name)
	}
	a := s.agent
	if r.root == rootPeer {
		a = s.peer
	}
	switch r.part {
	case partLabel:
		return a.Metadata.Name, nil
	case partLabels:
		if value, ok := a.Metadata.Labels[r.name]; ok {
			return value, nil
		}
		return nil, fmt.Errorf("no label %q%s", r.name, question(suggest.Nearest(r.name, slices.Sorted(maps.Keys(a.Metadata.Labels)))))
	}
	value, err := s.variable(a, r.name)
	if err != nil {
		return nil, err
	}
	return follow(value, r)
}

// variable returns a value of an agent: its own, else one of the pool of the variable, else the default.
func (s *scope) variable(a *fleet.Agent, name string) (any, error) {
	declared, isDeclared := s.config.Spec.Variables[name]
	value, own := a.Spec.Values[name]
	switch {
	case own:
	case declared.Pool != "":
		given, err := s.pools[declared.Pool].valueFor(a.Metadata.Name)
		if err != nil {
			return nil, err
		}
		value = given
	case declared.Default != nil:
		value = declared.Default
	default:
		known := slices.Sorted(maps.Keys(a.Spec.Values))
		if !isDeclared {
			known = append(known, slices.Sorted(maps.Keys(s.config.Spec.Variables))...)
		}
		return nil, fmt.Errorf("no value %q%s", name, question(suggest.Nearest(name, known)))
	}
	value, err := declared.Type.Normalize(value)
	if err != nil {
		return nil, fmt.Errorf("value %q: %w", name, err)
	}
	return value, nil
}

// follow goes into a value.
func follow(value any, r *reference) (any, error) {
	at := r.part + "." + r.name
	for _, s := range r.rest {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[s.name]
			if s.name == "" {
				return nil, fmt.Errorf("%s: %s is an object, expected the name of a field", r.text, at)
			}
			if !ok {
				return nil, fmt.Errorf("%s: %s has no %q%s", r.text, at, s.name, question(suggest.Nearest(s.name, slices.Sorted(maps.Keys(v)))))
			}
			value = next
		case []any:
			if s.name != "" {
				return nil, fmt.Errorf("%s: %s is a list, expected an index such as [0]", r.text, at)
			}
			if s.index >= len(v) {
				return nil, fmt.Errorf("%s: %s has %d elements, the first is [0]", r.text, at, len(v))
			}
			value = v[s.index]
		default:
			return nil, fmt.Errorf("%s: %s is %s, expected an object or a list", r.text, at, fleet.Describe(value))
		}
		at += s.String()
	}
	return value, nil
}
