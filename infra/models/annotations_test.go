package models_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/proto/ligato"
)

// violations returns a line for each violation.
func violations(m proto.Message) string {
	var lines []string
	r := m.ProtoReflect()
	for _, v := range models.AnnotationsOf(r.Descriptor()).Violations(r) {
		lines = append(lines, v.Field+": "+v.Err.Error())
	}
	return strings.Join(lines, "\n")
}

// customType returns a message type with all kinds of annotated fields, which contains itself.
func customType(t *testing.T) protoreflect.MessageType {
	t.Helper()
	field := func(number int32, name string, typ descriptorpb.FieldDescriptorProto_Type, o *ligato.LigatoOptions) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{
			Name: proto.String(name), Number: proto.Int32(number), Type: typ.Enum(), Options: &descriptorpb.FieldOptions{},
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
		if o != nil {
			proto.SetExtension(f.Options, ligato.E_LigatoOptions, o)
		}
		return f
	}
	limits := func(low int64, high uint64) *ligato.LigatoOptions {
		return &ligato.LigatoOptions{IntRange: &ligato.LigatoOptions_IntRange{Minimum: low, Maximum: high}}
	}
	address := func(typ ligato.LigatoOptions_Type) *ligato.LigatoOptions { return &ligato.LigatoOptions{Type: typ} }
	const text, number, message = descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_TYPE_SINT64, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	fields := []*descriptorpb.FieldDescriptorProto{
		field(1, "signed", number, limits(-5, 5)), field(2, "maybe", number, limits(1, 5)), field(3, "lenient", number, limits(1, 5)),
		field(4, "v4", text, address(ligato.LigatoOptions_IPV4_WITH_MASK)), field(5, "v6", text, address(ligato.LigatoOptions_IPV6_OPTIONAL_MASK)),
		field(6, "others", message, nil), field(7, "next", message, nil), field(8, "one", number, limits(1, 5)), field(9, "other", number, nil),
		field(10, "least", number, limits(1, 0)), field(11, "negative", number, limits(-5, 0)),
	}
	proto.SetExtension(fields[2].Options, ligato.E_Lenient, true)
	fields[1].Proto3Optional, fields[1].OneofIndex = proto.Bool(true), proto.Int32(1)
	fields[5].Label, fields[5].TypeName = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(), proto.String(".custom.Item.OthersEntry")
	fields[6].TypeName = proto.String(".custom.Item")
	fields[7].OneofIndex, fields[8].OneofIndex, fields[9].OneofIndex = proto.Int32(0), proto.Int32(0), proto.Int32(0)
	value := field(2, "value", message, nil)
	value.TypeName = proto.String(".custom.Item")
	d, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("custom.proto"), Package: proto.String("custom"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: proto.String("Item"), Field: fields,
			OneofDecl: []*descriptorpb.OneofDescriptorProto{{Name: proto.String("choice")}, {Name: proto.String("_maybe")}},
			NestedType: []*descriptorpb.DescriptorProto{{
				Name: proto.String("OthersEntry"), Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
				Field: []*descriptorpb.FieldDescriptorProto{field(1, "key", text, nil), value},
			}},
		}},
	}, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	return dynamicpb.NewMessageType(d.Messages().Get(0))
}

func TestViolationsOfCustomTypes(t *testing.T) {
	t.Parallel()
	typ := customType(t)
	for text, want := range map[string]string{
		`{}`:                                  "",
		`{"signed": "-5"}`:                    "",
		`{"signed": "-6"}`:                    "signed: -6, expected -5 to 5",
		`{"signed": "6"}`:                     "signed: 6, expected -5 to 5",
		`{"maybe": "0"}`:                      "maybe: 0, expected 1 to 5",
		`{"lenient": "7"}`:                    "",
		`{"v4": "10.0.0.1/8"}`:                "",
		`{"v4": "10.0.0.1"}`:                  `v4: "10.0.0.1", expected an IPv4 address with prefix length`,
		`{"v4": "2001:db8::1/8"}`:             `v4: "2001:db8::1/8", expected an IPv4 address with prefix length`,
		`{"v6": "2001:db8::1"}`:               "",
		`{"v6": "2001:db8::1/64"}`:            "",
		`{"v6": "::ffff:10.0.0.1"}`:           `v6: "::ffff:10.0.0.1", expected an IPv6 address, with or without prefix length`,
		`{"one": "6"}`:                        "one: 6, expected 1 to 5",
		`{"other": "6"}`:                      "",
		`{"least": "9223372036854775807"}`:    "",
		`{"least": "-1"}`:                     "least: -1, expected 1 to 9223372036854775807",
		`{"negative": "1"}`:                   "negative: 1, expected -5 to 0",
		`{"next": {"next": {"signed": "6"}}}`: "next.next.signed: 6, expected -5 to 5",
		`{"others": {"a": {"one": "0"}}}`:     "others[a].one: 0, expected 1 to 5",
	} {
		m := typ.New().Interface()
		if err := protojson.Unmarshal([]byte(text), m); err != nil {
			t.Fatal(err)
		}
		if got := violations(m); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
}
