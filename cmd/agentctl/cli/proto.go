package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// protoFormat is the text format of protocol buffers.
const protoFormat = "proto"

// protoItem is a message with the key of its value.
type protoItem struct {
	key     string
	message proto.Message
}

// asProto reports whether the output is in the text format.
func (a *app) asProto() bool { return strings.EqualFold(a.format, protoFormat) }

// writeProto writes messages in the text format, each below its key and type as comments, in
// the form that editors and protoc know.
func (a *app) writeProto(items []protoItem) error {
	var b strings.Builder
	for i, it := range items {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "# proto-message: %s\n# key: %s\n%s", it.message.ProtoReflect().Descriptor().FullName(), it.key, protoText(it.message))
	}
	return a.print(b.String())
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

// messageOf decodes a value that the agent sent as JSON.
func (a *app) messageOf(key, name string, value json.RawMessage) (it protoItem, err error) {
	it.key = key
	if it.message, err = newMessage(a.set(), name); err != nil {
		return it, fmt.Errorf("%s: %w", key, err)
	}
	if err = protojson.Unmarshal(value, it.message); err != nil {
		err = fmt.Errorf("%s: %w", key, err)
	}
	return it, err
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

func (a *app) protoDump(items []dumpedItem) (list []protoItem, err error) {
	for _, item := range items {
		it, err := a.messageOf(item.Key, item.message, item.Value)
		if err != nil {
			return nil, err
		}
		list = append(list, it)
	}
	return list, nil
}

func protoValues(values []valueData) (list []protoItem) {
	for _, v := range values {
		list = append(list, protoItem{v.Value.GetKey(), &api.BaseValueStatus{Value: v.Value, DerivedValues: v.DerivedValues}})
	}
	return list
}

// protoDocument returns the items of a configuration that the agent sent.
func (a *app) protoDocument(text []byte) (list []protoItem, err error) {
	doc := a.decodeHidden("answer of the agent", text)
	if len(doc.Errs) > 0 {
		return nil, doc.Errs[0]
	}
	for _, it := range doc.Items {
		list = append(list, protoItem{it.Key, it.Value})
	}
	return list, nil
}
