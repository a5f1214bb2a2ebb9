package document

import (
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/proto/ligato"
)

// plan is how the fields of one type of message are read.
type plan struct {
	fields map[string]*fieldPlan // by JSON name and by name in the schema
	names  []string              // JSON names
}

type fieldPlan struct {
	protoreflect.FieldDescriptor
	bounds *ligato.LigatoOptions_IntRange // of an integer; nil: none
}

// planOf makes the plan of a type of message and of all types in it.
func (c *Codec) planOf(md protoreflect.MessageDescriptor) *plan {
	name := string(md.FullName())
	if p := c.plans[name]; p != nil {
		return p
	}
	p := &plan{fields: map[string]*fieldPlan{}}
	c.plans[name] = p
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		f := &fieldPlan{FieldDescriptor: fd}
		if opts, ok := proto.GetExtension(fd.Options(), ligato.E_LigatoOptions).(*ligato.LigatoOptions); ok {
			f.bounds = opts.GetIntRange()
		}
		p.fields[fd.JSONName()], p.fields[string(fd.Name())] = f, f
		p.names = append(p.names, fd.JSONName())
		if fd.Message() != nil {
			c.planOf(fd.Message())
		}
	}
	return p
}

// message reads a message; false tells that something in it is wrong.
func (d *decoder) message(n *yaml.Node, p *path, m protoreflect.Message) bool {
	md := m.Descriptor()
	if strings.HasPrefix(string(md.FullName()), "google.protobuf.") {
		return d.wellKnown(n, p, m)
	}
	plan := d.codec.plans[string(md.FullName())]
	good := true
	given := map[protoreflect.Name]*yaml.Node{}
	ok := d.mapping(n, p, func(key, value *yaml.Node, p *path) {
		f := plan.fields[key.Value]
		if f == nil {
			d.fail(key, p, "unknown field of %s%s", md.Name(), suggestion(key.Value, plan.names))
			good = false
			return
		}
		if isNull(value) {
			return
		}
		if !d.once(f, key, p, given) || !d.field(f, value, p, m) {
			good = false
		}
	})
	return ok && good
}

// once reports a field given under both of its names, and a second member of a
// oneof.
func (d *decoder) once(f *fieldPlan, key *yaml.Node, p *path, given map[protoreflect.Name]*yaml.Node) bool {
	slot := f.Name()
	if one := f.ContainingOneof(); one != nil {
		slot = one.Name()
	}
	first, taken := given[slot]
	given[slot] = key
	switch {
	case !taken:
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
		return d.table(f, n, p, m.Mutable(f.FieldDescriptor).Map())
	case f.IsList():
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
		return d.message(n, p, m.Mutable(f.FieldDescriptor).Message())
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
	return v, d.message(n, p, v.Message())
}

// table reads a map field.
func (d *decoder) table(f *fieldPlan, n *yaml.Node, p *path, m protoreflect.Map) bool {
	good := true
	keys := &fieldPlan{FieldDescriptor: f.MapKey()}
	values := &fieldPlan{FieldDescriptor: f.MapValue()}
	ok := d.mapping(n, p, func(key, value *yaml.Node, p *path) {
		text := *key
		if keys.Kind() == protoreflect.StringKind {
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

// wellKnown reads a message whose JSON is not that of its fields, such as
// google.protobuf.Duration.
func (d *decoder) wellKnown(n *yaml.Node, p *path, m protoreflect.Message) bool {
	target, leave, ok := d.enter(n, p)
	if !ok {
		return false
	}
	defer leave()
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
