package document

import (
	"cmp"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/proto/ligato/configurator"
)

// group is a part of the grouped form: the models of one root module.
type group struct {
	name, protoName string // "vppConfig", "vpp_config"
	members         []*member
	byName          map[string]*member
	names           []string // for suggestions: the first name of each member
}

// member is the field of one model.
type member struct {
	model models.Known
	plan  *plan  // of its message
	name  string // as it is written: "bridgeDomains"
	many  bool
}

// layout makes the groups: first the groups of the configurator's messages, then
// one for each other root module. A model without a field there, and every model
// besides its field, goes by the name of its message: <Message>List, also written
// <Message>_list and <Message>, or <Message> for a singleton.
func layout(set *models.Set) []*group {
	var groups []*group
	byRoot := map[string]*group{}
	open := func(root string) *group {
		g := byRoot[root]
		if g == nil {
			g = &group{name: root + "Config", protoName: root + "_config", byName: map[string]*member{}}
			byRoot[root], groups = g, append(groups, g)
		}
		return g
	}
	placed := map[protoreflect.FullName]*member{}
	tops := (&configurator.Config{}).ProtoReflect().Descriptor().Fields()
	for i := range tops.Len() {
		root := strings.TrimSuffix(string(tops.Get(i).Name()), "_config")
		fields := tops.Get(i).Message().Fields()
		for j := range fields.Len() {
			fd := fields.Get(j)
			if m := open(root).place(set, fd); m != nil {
				placed[fd.Message().FullName()] = m
			}
		}
	}
	for _, g := range groups {
		for _, m := range g.members { // of two messages of one name, the older field has the alias
			g.alias(m.model, m)
		}
	}
	for _, model := range set.All() {
		if m := placed[model.ProtoName()]; m == nil {
			root, _, _ := strings.Cut(model.Spec().Module, ".")
			open(root).alias(model, nil)
		}
	}
	return groups
}

// Place returns where the grouped form has the items of a model: "vppConfig.interfaces",
// and whether that is a list.
func (c *Codec) Place(model string) (path string, list bool) {
	for _, g := range c.groups {
		for _, m := range g.members {
			if m.model.Spec().ModelName() == model {
				return g.name + "." + m.name, m.many
			}
		}
	}
	return "", false
}

// place adds the field of a configurator's message, if a model has its type.
func (g *group) place(set *models.Set, fd protoreflect.FieldDescriptor) *member {
	if fd.Message() == nil {
		return nil
	}
	for _, model := range set.All() {
		if model.ProtoName() == fd.Message().FullName() {
			m := &member{model: model, name: fd.JSONName(), many: fd.IsList()}
			g.members = append(g.members, m)
			g.names = append(g.names, m.name)
			g.byName[fd.JSONName()], g.byName[string(fd.Name())] = m, m
			return m
		}
	}
	return nil
}

// alias adds the names that come from the model's message.
func (g *group) alias(model models.Known, m *member) {
	name, written := string(model.ProtoName().Name()), string(model.ProtoName().Name())
	if !model.Singleton() {
		name, written = name+"_list", written+"List" // in JSON
	}
	if m == nil {
		m = &member{model: model, name: written, many: !model.Singleton()}
		g.members = append(g.members, m)
		g.names = append(g.names, written)
	}
	for _, n := range []string{name, written, string(model.ProtoName().Name())} {
		if g.byName[n] == nil {
			g.byName[n] = m
		}
	}
}

// group reads one part of the grouped form.
func (d *decoder) group(g *group, n *yaml.Node, p *path) {
	if isNull(n) {
		return
	}
	d.mapping(n, p, func(key, value *yaml.Node, p *path) {
		m := g.byName[key.Value]
		switch {
		case m == nil:
			d.fail(key, p, "unknown field%s", cmp.Or(suggestion(key.Value, g.names), d.codec.elsewhere(key.Value, g.name), g.byWords(key.Value)))
		case isNull(value):
		case m.many:
			d.items(value, p, func(d *decoder, e *yaml.Node, p *path) { d.member(m, e, p) })
		default:
			d.member(m, value, p)
		}
	})
}

// member reads one item of the grouped form.
func (d *decoder) member(m *member, n *yaml.Node, p *path) {
	value, errs := m.model.NewInstance(), len(d.doc.Errs)
	good := d.message(n, p, m.plan, value.ProtoReflect())
	key, err := m.model.KeyOf(value)
	if err == nil && !d.fits(n, p, key) {
		return
	}
	if !good {
		if err == nil && m.model.Matches(key) {
			for _, e := range d.doc.Errs[errs:] {
				e.item = key
			}
			d.addPartial(n, p, key, value)
		}
		return
	}
	switch {
	case err != nil:
		d.fail(n, p, "%v", err)
	case !m.model.Matches(key):
		d.fail(n, p, "the item has no name; expected the fields that make up its key %s<name>", m.model.KeyPrefix())
	default:
		d.add(n, p, key, value)
	}
}

// list calls f for every element of a list.
func (d *decoder) list(n *yaml.Node, p *path, f func(e *yaml.Node, p *path)) bool {
	target, ok := d.enter(n, p)
	if !ok {
		return false
	}
	defer d.leave(n)
	if target.Kind != yaml.SequenceNode {
		hint := ""
		if target.Kind == yaml.ScalarNode && len(target.Value) <= maxHint {
			hint = "; did you mean [" + target.Value + "]?"
		}
		d.fail(n, p, "expected a list, got %s%s", describe(n), hint)
		return false
	}
	at := d.below(p)
	for i, e := range target.Content {
		at.index = i
		f(e, at)
		if d.stopped() {
			return false
		}
	}
	return true
}
