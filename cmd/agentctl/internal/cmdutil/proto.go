package cmdutil

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// ProtoItem is a message with the key of its value.
type ProtoItem struct {
	Key     string
	Message proto.Message
}

// WriteProto writes messages in the text format, each below its key and type as comments, in
// the form that editors and protoc know.
func WriteProto(p *output.Printer, items []ProtoItem) error {
	var b strings.Builder
	for i, it := range items {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "# proto-message: %s\n# key: %s\n%s", it.Message.ProtoReflect().Descriptor().FullName(), it.Key, protoText(it.Message))
	}
	return p.Print(b.String())
}

// secondSpace is what prototext adds after a field name at random.
var secondSpace = regexp.MustCompile(`(?m)^(\s*[\w.\[\]/]+:) +`)

// protoText returns a message in the text format, one field per line.
func protoText(m proto.Message) string {
	text := prototext.MarshalOptions{Multiline: true, Indent: "  "}.Format(m)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return secondSpace.ReplaceAllString(text, "$1 ")
}

// MessageOf decodes a value that the agent sent as JSON.
func (m *Models) MessageOf(key, name string, value json.RawMessage) (it ProtoItem, err error) {
	it.Key = key
	if it.Message, err = newMessage(m.Set(), name); err != nil {
		return it, fmt.Errorf("%s: %w", key, err)
	}
	if err = protojson.Unmarshal(value, it.Message); err != nil {
		err = fmt.Errorf("%s: %w", key, err)
	}
	return it, err
}

// ValueText returns a value that the agent sent as JSON in the form of files, with the zero values that
// matter; in the form of JSON if agentctl does not know the message.
func (m *Models) ValueText(name string, value json.RawMessage) string {
	it, err := m.MessageOf("", name, value)
	if err != nil {
		return output.Indented(value)
	}
	text, err := document.EncodeMessage(it.Message)
	if err != nil || len(value) == 0 {
		return output.Indented(value)
	}
	return string(text)
}

// newMessage returns an empty message of a type that a model has or that agentctl knows.
func newMessage(set *models.Set, name string) (proto.Message, error) {
	for _, m := range set.All() {
		if string(m.ProtoName()) == name {
			return m.NewInstance(), nil
		}
	}
	t, err := protoregistry.GlobalTypes.FindMessageByURL(name)
	if err != nil {
		return nil, fmt.Errorf("no model has the message %q; -o json shows the value", name)
	}
	return t.New().Interface(), nil
}
