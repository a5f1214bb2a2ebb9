package document

import (
	"google.golang.org/protobuf/reflect/protoreflect"
	"gopkg.in/yaml.v3"
)

// ReadMessage reads the JSON of a message of a model, or of a message in one, into m. Fields
// that the text has replace the fields of m, lists and maps as a whole; the others stay.
// After an error the content of m is undefined. The Field of errors is relative to m.
func (c *Codec) ReadMessage(text []byte, m protoreflect.Message) []*Error {
	return c.readValue(text, func(d *decoder, root *yaml.Node) {
		d.message(root, nil, c.plans[string(m.Descriptor().FullName())], m)
	})
}

// ReadField is ReadMessage for the JSON of one field of m.
func (c *Codec) ReadField(text []byte, m protoreflect.Message, f protoreflect.FieldDescriptor) []*Error {
	return c.readValue(text, func(d *decoder, root *yaml.Node) {
		d.field(c.plans[string(m.Descriptor().FullName())].fields[f.JSONName()], root, nil, m)
	})
}

func (c *Codec) readValue(text []byte, read func(d *decoder, root *yaml.Node)) []*Error {
	if at := invalidUTF8(text); at >= 0 {
		return []*Error{{Msg: "malformed JSON: invalid UTF-8"}}
	}
	root, err := parseJSON(text)
	if err != nil {
		return []*Error{{Msg: "malformed JSON: " + err.msg}}
	}
	d := &decoder{codec: c, doc: &Document{}, aliased: maxAliased}
	read(d, root)
	return d.doc.Errs
}
