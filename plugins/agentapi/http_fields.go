package agentapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/tenuto-dev/tenuto/infra/suggest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/apierr"
)

// bodyField is the field of violations that concern the body as a whole.
const bodyField = "body"

// fieldCheck finds the wrong fields of a request in JSON that protojson rejects at the first
// one. It decodes each message and each value by itself, and descends into those messages that
// are wrong.
type fieldCheck struct {
	service *service
	wrong   apierr.Violations
}

// wrongFields returns the wrong fields of a request that protojson rejected; at least one.
func (s *service) wrongFields(body []byte, into protoreflect.MessageDescriptor) apierr.Violations {
	c := fieldCheck{service: s}
	if !json.Valid(body) {
		c.add(bodyField, "expected a %s as JSON: %s", into.FullName(), reason(protojson.Unmarshal(body, dynamicpb.NewMessage(into))))
		return c.wrong
	}
	c.message("", into, body)
	if len(c.wrong) == 0 {
		c.add(bodyField, "expected a %s as JSON", into.FullName())
	}
	return c.wrong
}

func (c *fieldCheck) add(field, format string, args ...any) {
	c.wrong = append(c.wrong, apierr.Violation{Field: field, Text: fmt.Sprintf(format, args...)})
}

// reason is the text of an error of protojson, without its prefix, whose blank varies.
func reason(err error) string {
	if err == nil {
		return "it cannot be parsed"
	}
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ")
	return strings.TrimPrefix(text, "proto: ")
}

// decodes reports whether a message is right.
func decodes(desc protoreflect.MessageDescriptor, data []byte) error {
	return protojson.UnmarshalOptions{AllowPartial: true}.Unmarshal(data, newMessage(desc))
}

func newMessage(desc protoreflect.MessageDescriptor) proto.Message {
	if known, err := protoregistry.GlobalTypes.FindMessageByName(desc.FullName()); err == nil {
		return known.New().Interface()
	}
	return dynamicpb.NewMessage(desc)
}

// message checks a message; path is empty for the request itself.
func (c *fieldCheck) message(path string, desc protoreflect.MessageDescriptor, data []byte) {
	err := decodes(desc, data)
	if err == nil {
		return
	}
	before := len(c.wrong)
	var fields map[string]json.RawMessage
	switch {
	case json.Unmarshal(data, &fields) != nil || fields == nil:
		c.add(named(path), "expected an object, a %s", desc.FullName())
	case desc.FullName() == "google.protobuf.Any":
		c.any(path, fields, err)
	default:
		c.fields(path, desc, fields)
	}
	if len(c.wrong) == before { // such as a field that is given twice
		c.add(named(path), "%s", reason(err))
	}
}

// named returns the field of a violation of the message at a path.
func named(path string) string {
	if path == "" {
		return bodyField
	}
	return path
}

// any checks a message of the type that its "@type" says.
func (c *fieldCheck) any(path string, fields map[string]json.RawMessage, err error) {
	var url string
	if json.Unmarshal(fields["@type"], &url) != nil || url == "" {
		c.add(path, `expected "@type" with the message of a model, such as type.googleapis.com/ligato.vpp.interfaces.Interface`)
		return
	}
	known, lookup := protoregistry.GlobalTypes.FindMessageByURL(url)
	switch {
	case lookup != nil:
		c.add(path, "%s", c.service.unknownType(url))
	case isWellKnown(known.Descriptor()):
		c.add(path, "%s", reason(err))
	default:
		delete(fields, "@type")
		c.fields(path, known.Descriptor(), fields)
	}
}

// isWellKnown reports whether a message has a form of its own in JSON.
func isWellKnown(desc protoreflect.MessageDescriptor) bool {
	return desc.ParentFile().Package() == "google.protobuf"
}

// fields checks the fields of a message.
func (c *fieldCheck) fields(path string, desc protoreflect.MessageDescriptor, fields map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field := desc.Fields().ByJSONName(name)
		if field == nil {
			field = desc.Fields().ByTextName(name)
		}
		if field == nil {
			c.add(join(path, name), "unknown field of %s%s", desc.FullName(), didYouMean(name, fieldNames(desc)))
			continue
		}
		c.field(join(path, field.TextName()), field, name, fields[name])
	}
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

func fieldNames(desc protoreflect.MessageDescriptor) (names []string) {
	for i := range desc.Fields().Len() {
		names = append(names, desc.Fields().Get(i).JSONName())
	}
	return names
}

// didYouMean is a hint to the nearest of a few words, or to all of them.
func didYouMean(word string, known []string) string {
	if near := suggest.Nearest(word, known); near != "" {
		return "; did you mean " + near + "?"
	}
	if len(known) == 0 {
		return ", which has no fields"
	}
	return ", expected one of " + strings.Join(known, ", ")
}

// field checks the value of a field.
func (c *fieldCheck) field(path string, field protoreflect.FieldDescriptor, name string, data json.RawMessage) {
	inside := field.Message()
	descend := inside != nil && !field.IsMap() && (!isWellKnown(inside) || inside.FullName() == "google.protobuf.Any")
	var elements []json.RawMessage
	switch {
	case string(data) == "null": // as if it was missing
	case field.IsList() && json.Unmarshal(data, &elements) == nil:
		for i, element := range elements {
			if at := fmt.Sprintf("%s[%d]", path, i); descend {
				c.message(at, inside, element)
			} else {
				c.leaf(at, field, name, "["+string(element)+"]")
			}
		}
	case field.IsList():
		c.add(path, "expected a list")
	case descend:
		c.message(path, inside, data)
	default:
		c.leaf(path, field, name, string(data))
	}
}

// leaf checks a value without fields.
func (c *fieldCheck) leaf(path string, field protoreflect.FieldDescriptor, name, data string) {
	err := decodes(field.ContainingMessage(), fmt.Appendf(nil, "{%q: %s}", name, data))
	if err == nil {
		return
	}
	want := expected[field.Kind()]
	switch {
	case field.IsMap():
		c.add(path, "%s", reason(err))
		return
	case field.Enum() != nil:
		c.enum(path, field.Enum(), strings.Trim(data, `[]"`))
		return
	case field.Message() != nil:
		want = expectedMessage[field.Message().Name()]
	}
	if want == "" {
		want = "a " + field.Kind().String()
	}
	c.add(path, "expected %s", want) // without the value, which may be a secret
}

func (c *fieldCheck) enum(path string, enum protoreflect.EnumDescriptor, value string) {
	var known []string
	for i := range enum.Values().Len() {
		known = append(known, string(enum.Values().Get(i).Name()))
	}
	c.add(path, "unknown value %s%s", value, didYouMean(value, known))
}

// expected describes the values of kinds of fields in JSON.
var expected = map[protoreflect.Kind]string{
	protoreflect.BoolKind: "true or false", protoreflect.StringKind: "a string", protoreflect.BytesKind: "a string in base64",
	protoreflect.Int32Kind: "an integer from -2147483648 to 2147483647", protoreflect.Sint32Kind: "an integer from -2147483648 to 2147483647",
	protoreflect.Uint32Kind: "an integer from 0 to 4294967295", protoreflect.Int64Kind: "an integer of 64 bits",
	protoreflect.Uint64Kind: "an integer of 64 bits, not negative", protoreflect.FloatKind: "a number", protoreflect.DoubleKind: "a number",
}

// expectedMessage describes the messages that are a string in JSON.
var expectedMessage = map[protoreflect.Name]string{
	"Duration": `a duration in seconds, such as "90s" or "0.5s"`, "Timestamp": `a time, such as "2030-01-31T23:59:59Z"`,
	"FieldMask": `the names of fields, such as "mtu,enabled"`,
}

// unknownType describes an unknown type of a value.
func (s *service) unknownType(url string) string {
	name := url[strings.LastIndexByte(url, '/')+1:]
	var known []string
	for _, m := range s.Orchestrator.Models().All() {
		known = append(known, string(m.ProtoName()))
	}
	hint := "'agentctl model list' has the messages of all models"
	if near := suggest.Nearest(name, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	return fmt.Sprintf("no model has the message %q; %s", name, hint)
}
