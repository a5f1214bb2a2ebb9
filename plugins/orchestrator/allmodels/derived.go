package allmodels

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template/parse"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/models"
	schema "github.com/tenuto-dev/tenuto/proto"
)

// FormerTemplateOf returns TemplateOf for clients of the predecessor, which cannot execute a
// template with a field that their messages lack: optional parts with such a field are left out. It
// reports false if all names have such a field.
func FormerTemplateOf(m models.Known) (string, bool) {
	template := TemplateOf(m)
	if m.Name() == nil {
		return template, true
	}
	for _, f := range m.Name().Required() {
		if schema.IsAddedField(f) {
			return "", false
		}
	}
	for _, f := range m.Name().Fields() {
		if schema.IsAddedField(f) {
			template = regexp.MustCompile(`\{\{if \.`+models.GoName(f)+`\}\}.*?\{\{end\}\}`).ReplaceAllString(template, "")
		}
	}
	return template, true
}

// TemplateOf returns the text/template that computes the name of an item of a model from
// its message, for clients that know the models only by their description. It is empty for singletons.
// For a model of a custom agent whose names only a function knows, it is derived from the names of
// sample items, and empty if they do not consist of texts and numbers of their fields, one after the other.
func TemplateOf(m models.Known) string {
	switch {
	case m.Singleton():
		return ""
	case m.Name() != nil:
		return m.Name().Template()
	}
	sample, marks := m.NewInstance(), []string{}
	fields := sample.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if v, mark, ok := marked(f, i); ok {
			sample.ProtoReflect().Set(f, v)
			marks = append(marks, mark, "{{."+models.GoName(f)+"}}")
		}
	}
	name, err := nameOf(m, sample)
	if err != nil || strings.Contains(name, "{{") {
		return ""
	}
	template := strings.NewReplacer(marks...).Replace(name)
	if !namesAgree(m, template, sample) {
		return ""
	}
	return template
}

// marked returns a value of a field that is recognised in a name, with its text.
func marked(f protoreflect.FieldDescriptor, index int) (v protoreflect.Value, mark string, ok bool) {
	if f.IsList() || f.IsMap() || f.ContainingOneof() != nil {
		return v, "", false
	}
	number := 7_010_007 + 1_000*index
	switch f.Kind() {
	case protoreflect.StringKind:
		mark = fmt.Sprintf("mark%dq", number)
		return protoreflect.ValueOfString(mark), mark, true
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(number)), strconv.Itoa(number), true
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(int64(number)), strconv.Itoa(number), true
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(number)), strconv.Itoa(number), true
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(number)), strconv.Itoa(number), true
	}
	return v, "", false
}

func nameOf(m models.Known, item proto.Message) (string, error) {
	key, err := m.KeyOf(item)
	return strings.TrimPrefix(key, m.KeyPrefix()), err
}

// texts are values that functions of names may change or parse.
var texts = []string{"", "x", "A b", "10.1.0.0/16", "10.1.0.7/16", "2001:DB8::1", "2001:db8::/32", "10.1.1.1", "0A:00:00:00:00:01", "a/b"}

// namesAgree reports whether a template gives the names of samples: of an empty item, and of
// copies of both in which one field has another value.
func namesAgree(m models.Known, template string, full proto.Message) bool {
	agrees := func(item proto.Message) bool {
		want, err := nameOf(m, item)
		got, terr := NameFrom(template, item.ProtoReflect())
		return err == nil && terr == nil && got == want
	}
	for _, base := range []proto.Message{m.NewInstance(), full} {
		if !agrees(base) {
			return false
		}
		fields := base.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			f := fields.Get(i)
			if f.IsList() || f.IsMap() || f.Message() != nil {
				continue
			}
			for _, v := range others(f) {
				item := proto.Clone(base)
				item.ProtoReflect().Set(f, v)
				if !agrees(item) {
					return false
				}
			}
		}
	}
	return true
}

// others are values of a field that namesAgree tries.
func others(f protoreflect.FieldDescriptor) (list []protoreflect.Value) {
	switch f.Kind() {
	case protoreflect.StringKind:
		for _, text := range texts {
			list = append(list, protoreflect.ValueOfString(text))
		}
	case protoreflect.BytesKind:
		list = append(list, protoreflect.ValueOfBytes([]byte("x")))
	case protoreflect.BoolKind:
		list = append(list, protoreflect.ValueOfBool(true))
	case protoreflect.EnumKind:
		for i := range f.Enum().Values().Len() {
			list = append(list, protoreflect.ValueOfEnum(f.Enum().Values().Get(i).Number()))
		}
	case protoreflect.FloatKind:
		list = append(list, protoreflect.ValueOfFloat32(1.5))
	case protoreflect.DoubleKind:
		list = append(list, protoreflect.ValueOfFloat64(1.5))
	default:
		if v, _, ok := marked(f, 0); ok {
			list = append(list, v)
		}
	}
	return list
}

// errNoFields is the error for a template that is made of more than fields.
var errNoFields = errors.New("only the agent knows the names of the items")

// NameFrom returns the name of an item by a template that is made of texts and fields, as that
// of TemplateOf for a custom model is.
func NameFrom(template string, item protoreflect.Message) (string, error) {
	if template == "" {
		return "", errNoFields
	}
	trees, err := parse.Parse("name", template, "", "")
	if err != nil {
		return "", errNoFields
	}
	var b strings.Builder
	for _, node := range trees["name"].Root.Nodes {
		switch n := node.(type) {
		case *parse.TextNode:
			b.Write(n.Text)
		case *parse.ActionNode:
			f := templateField(n, item.Descriptor().Fields())
			if f == nil {
				return "", errNoFields
			}
			b.WriteString(item.Get(f).String())
		default:
			return "", errNoFields
		}
	}
	return b.String(), nil
}

// templateField returns the field that an action of a template prints; nil if it is another
// action.
func templateField(n *parse.ActionNode, fields protoreflect.FieldDescriptors) protoreflect.FieldDescriptor {
	if len(n.Pipe.Cmds) != 1 || len(n.Pipe.Cmds[0].Args) != 1 {
		return nil
	}
	field, ok := n.Pipe.Cmds[0].Args[0].(*parse.FieldNode)
	if !ok || len(field.Ident) != 1 {
		return nil
	}
	for i := range fields.Len() {
		f := fields.Get(i)
		if models.GoName(f) == field.Ident[0] && f.Kind() != protoreflect.EnumKind && f.Message() == nil && !f.IsList() {
			return f
		}
	}
	return nil
}
