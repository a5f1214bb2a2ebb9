package document

import (
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/infra/models"
)

// plan is how the fields of one type of message are read.
type plan struct {
	fields    map[string]*fieldPlan // by JSON name and by name in the schema
	names     []string              // JSON names
	slots     int                   // how many fields and oneofs there are
	wellKnown bool                  // its JSON does not follow from its fields
}

type fieldPlan struct {
	protoreflect.FieldDescriptor
	kind   protoreflect.Kind
	bounds *models.Limits // of an integer; nil: none
	within *plan          // of a message, or of messages in a list
	slot   int            // the same for all fields of a oneof
}

// planOf makes the plan of a type of message and of all types in it.
func (c *Codec) planOf(md protoreflect.MessageDescriptor) *plan {
	name := string(md.FullName())
	if p := c.plans[name]; p != nil {
		return p
	}
	p := &plan{
		fields: map[string]*fieldPlan{}, slots: md.Fields().Len() + md.Oneofs().Len(),
		wellKnown: strings.HasPrefix(name, "google.protobuf."),
	}
	c.plans[name] = p
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		f := &fieldPlan{FieldDescriptor: fd, kind: fd.Kind(), slot: i, bounds: models.Annotation(fd).Limits}
		if one := fd.ContainingOneof(); one != nil {
			f.slot = md.Fields().Len() + one.Index()
		}
		p.fields[fd.JSONName()], p.fields[string(fd.Name())] = f, f
		p.names = append(p.names, fd.JSONName())
		if fd.Message() != nil {
			f.within = c.planOf(fd.Message())
		}
	}
	return p
}

// message reads a message; false reports an error in it.
func (d *decoder) message(n *yaml.Node, p *path, plan *plan, m protoreflect.Message) bool {
	if plan.wellKnown {
		return d.wellKnown(n, p, m)
	}
	if n.Kind == yaml.ScalarNode && !isNull(n) && plan.fields["name"] != nil && len(n.Value) <= maxHint {
		d.fail(n, p, "expected a mapping, got %s; did you mean {name: %s}?", describe(n), n.Value)
		return false
	}
	good := true
	before := len(d.given)
	d.given = slices.Grow(d.given, plan.slots)[:before+plan.slots]
	clear(d.given[before:])
	ok := d.mapping(n, p, func(key, value *yaml.Node, p *path) {
		f := plan.fields[key.Value]
		if f == nil {
			d.fail(key, p, "unknown field of %s%s", m.Descriptor().Name(), fieldHint(m.Descriptor(), plan.names, key.Value))
			good = false
			return
		}
		if isNull(value) {
			return
		}
		if !d.once(f, key, p, &d.given[before+f.slot]) || !d.field(f, value, p, m) {
			good = false
		}
	})
	d.given = d.given[:before]
	return ok && good
}

// once reports a field given under both of its names, and a second member of a
// oneof; given is the one that was there before.
func (d *decoder) once(f *fieldPlan, key *yaml.Node, p *path, given **yaml.Node) bool {
	first := *given
	*given = key
	switch {
	case first == nil:
		return true
	case f.ContainingOneof() != nil && !f.ContainingOneof().IsSynthetic():
		d.fail(key, p, "excludes %s in line %d: expected only one of them", first.Value, first.Line+d.line)
	default:
		d.fail(key, p, "given twice, first as %s in line %d", first.Value, first.Line+d.line)
	}
	return false
}

// field reads the value of a field.
func (d *decoder) field(f *fieldPlan, n *yaml.Node, p *path, m protoreflect.Message) bool {
	switch {
	case f.IsMap():
		m.Clear(f.FieldDescriptor)
		return d.table(f, n, p, m.Mutable(f.FieldDescriptor).Map())
	case f.IsList():
		m.Clear(f.FieldDescriptor)
		list, good := m.Mutable(f.FieldDescriptor).List(), true
		ok := d.list(n, p, func(e *yaml.Node, p *path) {
			if v, ok := d.element(f, e, p, list.NewElement); ok {
				list.Append(v)
			} else {
				good = false
			}
		})
		return ok && good
	case f.Message() != nil:
		return d.message(n, p, f.within, m.Mutable(f.FieldDescriptor).Message())
	}
	v, ok := d.scalar(f, n, p)
	if ok {
		m.Set(f.FieldDescriptor, v)
	}
	return ok
}

// element reads an element of a list or of a map.
func (d *decoder) element(f *fieldPlan, n *yaml.Node, p *path, fresh func() protoreflect.Value) (protoreflect.Value, bool) {
	if f.Message() == nil {
		return d.scalar(f, n, p)
	}
	v := fresh()
	return v, d.message(n, p, f.within, v.Message())
}

// table reads a map field.
func (d *decoder) table(f *fieldPlan, n *yaml.Node, p *path, m protoreflect.Map) bool {
	good := true
	keys, values := f.within.fields["key"], f.within.fields["value"]
	ok := d.mapping(n, p, func(key, value *yaml.Node, p *path) {
		text := *key
		if keys.kind == protoreflect.StringKind {
			text.Tag = "!!str"
		}
		k, ok := d.scalar(keys, &text, p)
		if !ok {
			good = false
			return
		}
		if v, ok := d.element(values, value, p, m.NewValue); ok {
			m.Set(k.MapKey(), v)
		} else {
			good = false
		}
	})
	return ok && good
}

// wellKnown reads a message whose JSON does not follow from its fields, such as
// google.protobuf.Duration.
func (d *decoder) wellKnown(n *yaml.Node, p *path, m protoreflect.Message) bool {
	target, ok := d.enter(n, p)
	if !ok {
		return false
	}
	defer d.leave(n)
	var value any
	text, err := []byte(nil), target.Decode(&value)
	if err == nil {
		text, err = json.Marshal(value)
	}
	if err == nil {
		err = protojson.Unmarshal(text, m.Interface())
	}
	if err != nil {
		d.fail(n, p, "expected a value of type %s, got %s", m.Descriptor().FullName(), describe(n))
		return false
	}
	return true
}
