package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"gopkg.in/yaml.v3"
)

// Encode writes items as YAML in the grouped form, ordered by group, type and
// key. All groups are shown, empty ones too. Decoding the result gives the items
// back. The error names a message that belongs to no model.
func (c *Codec) Encode(items ...proto.Message) ([]byte, error) {
	root, err := c.tree(items)
	if err != nil {
		return nil, err
	}
	return writeYAML(root)
}

// EncodeUsed is Encode without groups that have no items.
func (c *Codec) EncodeUsed(items ...proto.Message) ([]byte, error) {
	root, err := c.tree(items)
	if err != nil {
		return nil, err
	}
	return writeYAML(withoutEmpty(root))
}

// withoutEmpty removes empty groups.
func withoutEmpty(root *yaml.Node) *yaml.Node {
	used := &yaml.Node{Kind: yaml.MappingNode}
	for pair := range slices.Chunk(root.Content, 2) {
		if len(pair[1].Content) > 0 {
			used.Content = append(used.Content, pair...)
		}
	}
	return used
}

// EncodeJSON is Encode for JSON.
func (c *Codec) EncodeJSON(items ...proto.Message) ([]byte, error) {
	root, err := c.tree(items)
	if err != nil {
		return nil, err
	}
	return indentedJSON(root)
}

// EncodeUsedJSON is EncodeUsed for JSON.
func (c *Codec) EncodeUsedJSON(items ...proto.Message) ([]byte, error) {
	root, err := c.tree(items)
	if err != nil {
		return nil, err
	}
	return indentedJSON(withoutEmpty(root))
}

func indentedJSON(root *yaml.Node) ([]byte, error) {
	var compact, out bytes.Buffer
	writeJSON(&compact, root)
	if err := json.Indent(&out, compact.Bytes(), "", "  "); err != nil {
		return nil, fmt.Errorf("encode the configuration: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// EncodeItem writes one message as YAML.
func EncodeItem(item proto.Message) ([]byte, error) {
	n, err := nodeOf(item)
	if err != nil {
		return nil, err
	}
	return writeYAML(n)
}

// tree is the grouped form of items.
func (c *Codec) tree(items []proto.Message) (*yaml.Node, error) {
	byType, err := c.byType(items)
	if err != nil {
		return nil, err
	}
	root := &yaml.Node{Kind: yaml.MappingNode}
	for _, g := range c.groups {
		body := &yaml.Node{Kind: yaml.MappingNode}
		for _, m := range g.members {
			if nodes := byType[m.model.ProtoName()]; len(nodes) > 0 {
				body.Content = append(body.Content, word(m.name), m.node(nodes))
			}
		}
		root.Content = append(root.Content, word(g.name), body)
	}
	return root, nil
}

func writeYAML(root *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("encode the configuration: %w", err)
	}
	return out.Bytes(), nil
}

func (m *member) node(values []*yaml.Node) *yaml.Node {
	if !m.many {
		return values[0]
	}
	return &yaml.Node{Kind: yaml.SequenceNode, Content: values}
}

// EncodeMessage writes the fields of a message as YAML, in the form of Encode.
func EncodeMessage(m proto.Message) ([]byte, error) {
	n, err := nodeOf(m)
	if err != nil {
		return nil, err
	}
	return writeYAML(n)
}

// byType turns the items into nodes, sorted by key.
func (c *Codec) byType(items []proto.Message) (map[protoreflect.FullName][]*yaml.Node, error) {
	type keyed struct {
		key  string
		item proto.Message
	}
	sorted := make([]keyed, 0, len(items))
	for _, it := range items {
		key, err := c.set.KeyOf(it)
		if err != nil {
			return nil, fmt.Errorf("encode the configuration: %w", err)
		}
		sorted = append(sorted, keyed{key, it})
	}
	slices.SortStableFunc(sorted, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	byType := map[protoreflect.FullName][]*yaml.Node{}
	for _, k := range sorted {
		n, err := nodeOf(k.item)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", k.key, err)
		}
		name := k.item.ProtoReflect().Descriptor().FullName()
		byType[name] = append(byType[name], n)
	}
	return byType, nil
}

// nodeOf is the message with its fields in the order of the schema.
func nodeOf(m proto.Message) (*yaml.Node, error) {
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	n, syntax := parseJSON(text)
	if syntax != nil {
		return nil, fmt.Errorf("offset %d: %s", syntax.offset, syntax.msg)
	}
	addZeros(n, m.ProtoReflect(), false)
	return n, nil
}

// addZeros adds enums with their zero value to the elements of lists: a rule with the action DENY
// must not look like one without an action. n is m as JSON has it.
func addZeros(n *yaml.Node, m protoreflect.Message, listed bool) {
	if n.Kind != yaml.MappingNode { // a duration, for example
		return
	}
	at := 0 // of the next field in n, which has the fields of m in their order
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		isNext := at < len(n.Content) && n.Content[at].Value == fd.JSONName()
		switch {
		case !isNext && listed && fd.Kind() == protoreflect.EnumKind && !fd.HasPresence() && !fd.IsList():
			zero := fd.Enum().Values().ByNumber(0)
			n.Content = slices.Insert(n.Content, at, word(fd.JSONName()), word(string(zero.Name())))
			at += 2
		case isNext:
			addZerosOf(n.Content[at+1], fd, m.Get(fd))
			at += 2
		}
	}
}

// addZerosOf is addZeros for the messages of a field.
func addZerosOf(n *yaml.Node, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
	switch {
	case fd.Message() == nil || fd.IsMap():
	case fd.IsList():
		for i, element := range n.Content {
			addZeros(element, v.List().Get(i).Message(), true)
		}
	default:
		addZeros(n, v.Message(), false)
	}
}

// writeJSON writes a node of a tree, which has no aliases.
func writeJSON(w *bytes.Buffer, n *yaml.Node) {
	switch {
	case n.Kind == yaml.MappingNode:
		w.WriteByte('{')
		for i := 0; i < len(n.Content); i += 2 {
			if i > 0 {
				w.WriteByte(',')
			}
			writeJSON(w, n.Content[i])
			w.WriteByte(':')
			writeJSON(w, n.Content[i+1])
		}
		w.WriteByte('}')
	case n.Kind == yaml.SequenceNode:
		w.WriteByte('[')
		for i, e := range n.Content {
			if i > 0 {
				w.WriteByte(',')
			}
			writeJSON(w, e)
		}
		w.WriteByte(']')
	case n.Tag == "!!str":
		text, _ := json.Marshal(n.Value) // does not fail for strings
		w.Write(text)
	default:
		w.WriteString(n.Value)
	}
}

func word(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
}
