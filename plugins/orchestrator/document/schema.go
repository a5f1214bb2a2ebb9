package document

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// FieldNames says by which of their names a schema knows fields.
type FieldNames int

// Fields are written "physAddress" or "phys_address"; a document may have both
// forms.
const (
	BothNames FieldNames = iota
	JSONNames
	ProtoNames
)

// SchemaURI is the version of JSON Schema that Schema is written in.
const SchemaURI = "https://json-schema.org/draft/2020-12/schema"

// object is a part of a schema.
type object = map[string]any

// Schema returns the JSON Schema of documents, for editors and for programs
// that make documents. What it accepts may still be refused: it knows neither
// that one of several fields excludes the others nor what makes sense.
func (c *Codec) Schema(names FieldNames) map[string]any { return c.DescribedSchema(names, nil) }

// DescribedSchema returns the Schema with descriptions of messages and fields, for
// editors. describe returns the text for the full name of one; nil and "" leave it out.
func (c *Codec) DescribedSchema(names FieldNames, describe func(protoreflect.FullName) string) map[string]any {
	if describe == nil {
		describe = func(protoreflect.FullName) string { return "" }
	}
	s := &schema{codec: c, names: names, types: object{}, describe: describe}
	top := object{
		"data": object{"type": "array", "items": object{
			"type": "object", "additionalProperties": false, "required": []string{"key"},
			"properties": object{"key": object{"type": "string"}, "value": object{"type": []string{"object", "string"}}},
		}},
	}
	for _, g := range c.groups {
		members := object{}
		for name, m := range g.byName {
			if !s.wanted(g, name) {
				continue
			}
			item := s.message(m.model.NewInstance().ProtoReflect().Descriptor())
			if m.many {
				item = object{"type": "array", "items": item}
			}
			members[name] = orNull(item)
		}
		group := orNull(closed(members))
		if names != ProtoNames {
			top[g.name] = group
		}
		if names != JSONNames {
			top[g.protoName] = group
		}
	}
	root := closed(top)
	root["$schema"], root["$defs"] = SchemaURI, s.types
	return root
}

// schema is one that is being made.
type schema struct {
	codec *Codec
	names FieldNames
	types object // by the full name of the message

	describe func(protoreflect.FullName) string
}

// wanted reports whether a group is shown to have a member by this name; those
// that a message gives besides its field are only shown among both.
func (s *schema) wanted(g *group, name string) bool {
	m := g.byName[name]
	switch s.names {
	case JSONNames:
		return name == m.name
	case ProtoNames:
		if name == m.name { // unless it has another one
			for other, n := range g.byName {
				if n == m && other != name && camel(other) == m.name {
					return false
				}
			}
		}
		return camel(name) == m.name || name == m.name
	}
	return true
}

// camel is the name in JSON for the one in a schema of protobuf.
func camel(name string) string {
	parts := strings.Split(name, "_")
	for i, p := range parts[1:] {
		if p != "" {
			parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}

func closed(properties object) object {
	return object{"type": "object", "additionalProperties": false, "properties": properties}
}

// orNull is for what may be left empty.
func orNull(o object) object {
	return object{"anyOf": []any{o, object{"type": "null"}}}
}

// described adds the description of a message or field.
func (s *schema) described(d protoreflect.Descriptor, o object) object {
	if text := strings.Join(strings.Fields(s.describe(d.FullName())), " "); text != "" {
		o["description"] = text
	}
	return o
}

// message returns a reference to the schema of a type of message.
func (s *schema) message(md protoreflect.MessageDescriptor) object {
	name := string(md.FullName())
	ref := object{"$ref": "#/$defs/" + name}
	if _, done := s.types[name]; done {
		return ref
	}
	if strings.HasPrefix(name, "google.protobuf.") { // their JSON does not follow from their fields
		s.types[name] = object{}
		return ref
	}
	fields := object{}
	s.types[name] = s.described(md, closed(fields)) // before the fields: a type may contain itself
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		f := s.described(fd, orNull(s.field(fd)))
		if s.names != ProtoNames {
			fields[fd.JSONName()] = f
		}
		if s.names != JSONNames {
			fields[string(fd.Name())] = f
		}
	}
	return ref
}

func (s *schema) field(fd protoreflect.FieldDescriptor) object {
	switch {
	case fd.IsMap():
		return object{"type": "object", "additionalProperties": s.single(fd.MapValue())}
	case fd.IsList():
		return object{"type": "array", "items": s.single(fd)}
	}
	return s.single(fd)
}

// single is a field without its list or map.
func (s *schema) single(fd protoreflect.FieldDescriptor) object {
	switch fd.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return s.message(fd.Message())
	case protoreflect.StringKind:
		return object{"type": "string"}
	case protoreflect.BoolKind:
		return object{"type": "boolean"}
	case protoreflect.BytesKind:
		return object{"type": "string", "contentEncoding": "base64"}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return object{"type": "number"}
	case protoreflect.EnumKind:
		var values []any
		for i := range fd.Enum().Values().Len() {
			values = append(values, string(fd.Enum().Values().Get(i).Name()))
		}
		for i := range fd.Enum().Values().Len() {
			values = append(values, int32(fd.Enum().Values().Get(i).Number()))
		}
		return object{"enum": values}
	}
	low, high := limits(s.codec.plans[string(fd.ContainingMessage().FullName())].fields[fd.JSONName()])
	whole := object{"type": "integer", "minimum": low, "maximum": high}
	switch fd.Kind() {
	case protoreflect.Int64Kind, protoreflect.Uint64Kind, protoreflect.Sint64Kind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		whole["type"] = []string{"integer", "string"} // not every program has numbers as large
	}
	return whole
}
