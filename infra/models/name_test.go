package models_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/tenuto-dev/tenuto/infra/models"
)

// Names, templates and patterns follow from the declaration.
func TestName(t *testing.T) {
	t.Parallel()
	field := &descriptorpb.FieldDescriptorProto{
		Name: proto.String("get"), TypeName: proto.String("a/b"), Proto3Optional: proto.Bool(true), Type: descriptorpb.FieldDescriptorProto_TYPE_BOOL.Enum(),
	}
	for source, want := range map[string]struct{ name, template string }{
		"fixed":                             {"fixed", "fixed"},
		"{name}":                            {"get", "{{.Name}}"},
		"x/{name}/y":                        {"x/get/y", "x/{{.Name}}/y"},
		"é{type}":                           {"éTYPE_BOOL", "é{{.Type}}"},
		"{name}[/to/{type_name}]":           {"get/to/a/b", "{{.Name}}{{if .TypeName}}/to/{{.TypeName}}{{end}}"},
		"{name}[/to/{extendee}]":            {"get", "{{.Name}}{{if .Extendee}}/to/{{.Extendee}}{{end}}"},
		"[{type_name}-{extendee}/]{name}":   {"get", "{{if and .TypeName .Extendee}}{{.TypeName}}-{{.Extendee}}/{{end}}{{.Name}}"},
		"{proto3_optional}/{number}/{type}": {"true/0/TYPE_BOOL", "{{.Proto3Optional}}/{{.Number}}/{{.Type}}"},
	} {
		n, err := models.ParseName(source, field.ProtoReflect().Descriptor())
		if err != nil {
			t.Error(err)
			continue
		}
		if got := string(n.Append(nil, field.ProtoReflect())); got != want.name {
			t.Errorf("%s: name %q, want %q", source, got, want.name)
		}
		if got := n.Template(); got != want.template {
			t.Errorf("%s: template %q, want %q", source, got, want.template)
		}
		if n.String() != source || !n.Pattern().MatchString(want.name) || n.Pattern().MatchString("no/"+want.name+"/match\n") && strings.Contains(source, "fixed") {
			t.Errorf("%s: %s with the pattern %v", source, n, n.Pattern())
		}
	}
}

func TestFieldsOfName(t *testing.T) {
	t.Parallel()
	n, err := models.ParseName("{name}[/{type}]/{name}", (&descriptorpb.FieldDescriptorProto{}).ProtoReflect().Descriptor())
	if err != nil {
		t.Fatal(err)
	}
	if fields := n.Fields(); len(fields) != 2 || fields[0].Name() != "name" || fields[1].Name() != "type" {
		t.Errorf("fields %v", fields)
	}
	if fields := n.Required(); len(fields) != 1 || fields[0].Name() != "name" {
		t.Errorf("required %v", fields)
	}
	const unnamed = descriptorpb.FieldDescriptorProto_Type(77)
	value := &descriptorpb.EnumValueDescriptorProto{Number: proto.Int32(-7)}
	if n, err = models.ParseName("{number}", value.ProtoReflect().Descriptor()); err != nil || string(n.Append(nil, value.ProtoReflect())) != "-7" {
		t.Errorf("number: %v", err)
	}
	if n, err = models.ParseName("{type}", (&descriptorpb.FieldDescriptorProto{}).ProtoReflect().Descriptor()); err != nil || string(n.Append(nil, (&descriptorpb.FieldDescriptorProto{Type: unnamed.Enum()}).ProtoReflect())) != "77" {
		t.Errorf("a number without a name: %v", err)
	}
}

func TestMalformedNames(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"{nam}":            "there is no field nam, did you mean name?",
		"{qqqqqqqqqqq}":    "there is no field qqqqqqqqqqq",
		"{name":            "expected a closing brace behind {name",
		"name}":            "unexpected '}'",
		"{name}{type}":     "expected text in front of {type}",
		"[x]":              "expected a field between brackets",
		"[{name}":          "expected a closing bracket",
		"{name}]":          "unexpected ']'",
		"[{name}[{type}]]": "unexpected '['",
		"{options}":        "field options: expected a text, number, bool or enum",
	} {
		_, err := models.ParseName(source, (&descriptorpb.FieldDescriptorProto{}).ProtoReflect().Descriptor())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "google.protobuf.FieldDescriptorProto") {
			t.Errorf("%s: %v, want %s", source, err, want)
		}
	}
}

// A model of a message without the option says what it lacks.
func TestOfMessageWithoutOption(t *testing.T) {
	t.Parallel()
	m := models.Of[*descriptorpb.FieldDescriptorProto]()
	_, err := models.NewSet(m)
	if err == nil || !strings.Contains(err.Error(), "message google.protobuf.FieldDescriptorProto: expected an option (ligato.item) with a model") {
		t.Errorf("%v", err)
	}
}
