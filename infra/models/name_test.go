package models_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/apipb"

	"github.com/tenuto-dev/tenuto/infra/models"
)

// Names, templates and patterns follow from the declaration.
func TestName(t *testing.T) {
	t.Parallel()
	method := &apipb.Method{Name: "get", RequestTypeUrl: "a/b", RequestStreaming: true, Syntax: 1}
	for source, want := range map[string]struct{ name, template string }{
		"fixed":                           {"fixed", "fixed"},
		"{name}":                          {"get", "{{.Name}}"},
		"x/{name}/y":                      {"x/get/y", "x/{{.Name}}/y"},
		"é{syntax}":                       {"éSYNTAX_PROTO3", "é{{.Syntax}}"},
		"{name}[/to/{request_type_url}]":  {"get/to/a/b", "{{.Name}}{{if .RequestTypeUrl}}/to/{{.RequestTypeUrl}}{{end}}"},
		"{name}[/to/{response_type_url}]": {"get", "{{.Name}}{{if .ResponseTypeUrl}}/to/{{.ResponseTypeUrl}}{{end}}"},
		"[{request_type_url}-{response_type_url}/]{name}":   {"get", "{{if and .RequestTypeUrl .ResponseTypeUrl}}{{.RequestTypeUrl}}-{{.ResponseTypeUrl}}/{{end}}{{.Name}}"},
		"{request_streaming}/{response_streaming}/{syntax}": {"true/false/SYNTAX_PROTO3", "{{.RequestStreaming}}/{{.ResponseStreaming}}/{{.Syntax}}"},
	} {
		n, err := models.ParseName(source, method.ProtoReflect().Descriptor())
		if err != nil {
			t.Error(err)
			continue
		}
		if got := string(n.Append(nil, method.ProtoReflect())); got != want.name {
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
	n, err := models.ParseName("{name}[/{syntax}]/{name}", (&apipb.Method{}).ProtoReflect().Descriptor())
	if err != nil {
		t.Fatal(err)
	}
	if fields := n.Fields(); len(fields) != 2 || fields[0].Name() != "name" || fields[1].Name() != "syntax" {
		t.Errorf("fields %v", fields)
	}
	if fields := n.Required(); len(fields) != 1 || fields[0].Name() != "name" {
		t.Errorf("required %v", fields)
	}
	value := &descriptorpb.EnumValueDescriptorProto{Number: proto.Int32(-7)}
	if n, err = models.ParseName("{number}", value.ProtoReflect().Descriptor()); err != nil || string(n.Append(nil, value.ProtoReflect())) != "-7" {
		t.Errorf("number: %v", err)
	}
	if n, err = models.ParseName("{syntax}", (&apipb.Method{}).ProtoReflect().Descriptor()); err != nil || string(n.Append(nil, (&apipb.Method{Syntax: 77}).ProtoReflect())) != "77" {
		t.Errorf("a number without a name: %v", err)
	}
}

func TestMalformedNames(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"{nam}":              "there is no field nam, did you mean name?",
		"{qqqqqqqqqqq}":      "there is no field qqqqqqqqqqq",
		"{name":              "expected a closing brace behind {name",
		"name}":              "unexpected '}'",
		"{name}{syntax}":     "expected text in front of {syntax}",
		"[x]":                "expected a field between brackets",
		"[{name}":            "expected a closing bracket",
		"{name}]":            "unexpected ']'",
		"[{name}[{syntax}]]": "unexpected '['",
		"{options}":          "field options: expected a text, number, bool or enum",
	} {
		_, err := models.ParseName(source, (&apipb.Method{}).ProtoReflect().Descriptor())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "google.protobuf.Method") {
			t.Errorf("%s: %v, want %s", source, err, want)
		}
	}
}

// A model of a message without the option says what it lacks.
func TestOfMessageWithoutOption(t *testing.T) {
	t.Parallel()
	m := models.Of[*apipb.Method]()
	_, err := models.NewSet(m)
	if err == nil || !strings.Contains(err.Error(), "message google.protobuf.Method: expected an option (ligato.item) with a model") {
		t.Errorf("%v", err)
	}
}
