package document

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Kind is the kind of a Tree.
type Kind int

// Kinds of values.
const (
	Null Kind = iota
	Bool
	Integer
	Float
	String
	List
	Mapping
)

// Tree is a value of a text in YAML or JSON, with its position and without a schema. It has no
// aliases: they are replaced by what they stand for.
type Tree struct {
	Position
	Kind     Kind
	Text     string  // of a scalar: "true", "-5", "1.5", or a string without its quotes
	Fields   []Field // of a mapping, in the order of the text; each name once
	Elements []*Tree // of a list
}

// Field is a field of a mapping.
type Field struct {
	Position // of the name
	Name     string
	Value    *Tree
}

// ParseTrees reads the YAML documents of a text, without empty ones, or the value of a text in JSON. A file
// whose name ends in ".json" must be JSON. It returns at most 100 errors and a last one that counts
// the others. The trees are complete only if there are none.
func ParseTrees(file string, text []byte) (roots []*Tree, errs []*Error) {
	text, failure := readable(file, text)
	if failure != nil {
		return nil, []*Error{failure}
	}
	nodes, failure := parseWhole(file, text)
	if failure != nil {
		return nil, []*Error{failure}
	}
	d := &decoder{file: file, doc: &Document{}, aliased: maxAliased}
	for _, n := range nodes {
		if root := d.tree(n, nil); root != nil && root.Kind != Null {
			roots = append(roots, root)
		}
	}
	return roots, d.reported()
}

// tree makes the tree of a node; nil after an error.
func (d *decoder) tree(n *yaml.Node, p *path) *Tree {
	target := n
	if n.Kind == yaml.AliasNode {
		target = n.Alias
	}
	t := &Tree{Position: d.at(target)}
	switch target.Kind {
	case yaml.MappingNode:
		t.Kind = Mapping
		if !d.mapping(n, p, func(key, value *yaml.Node, p *path) {
			if v := d.tree(value, p); v != nil {
				t.Fields = append(t.Fields, Field{d.at(key), key.Value, v})
			}
		}) {
			return nil
		}
	case yaml.SequenceNode:
		t.Kind = List
		if !d.list(n, p, func(e *yaml.Node, p *path) {
			if v := d.tree(e, p); v != nil {
				t.Elements = append(t.Elements, v)
			}
		}) {
			return nil
		}
	default:
		if _, ok := d.enter(n, p); !ok {
			return nil
		}
		d.leave(n)
		if len(target.Value) > maxScalar {
			d.fail(n, p, "a value of %d bytes, expected at most %d", len(target.Value), maxScalar)
			return nil
		}
		t.Kind, t.Text = scalarOf(target)
	}
	return t
}

// scalarOf returns the kind of a scalar, and its text: numbers and truth values as JSON has them.
func scalarOf(n *yaml.Node) (Kind, string) {
	switch n.Tag {
	case "!!null":
		return Null, ""
	case "!!bool":
		return Bool, strings.ToLower(n.Value)
	case "!!int":
		digits := strings.ReplaceAll(n.Value, "_", "")
		if i, err := strconv.ParseInt(digits, 0, 64); err == nil {
			return Integer, strconv.FormatInt(i, 10)
		}
		if u, err := strconv.ParseUint(digits, 0, 64); err == nil {
			return Integer, strconv.FormatUint(u, 10)
		}
	case "!!float":
		var x float64
		if n.Decode(&x) == nil {
			return Float, strconv.FormatFloat(x, 'g', -1, 64)
		}
	}
	return String, n.Value
}

// TreeOf returns the tree of a value: nil, bool, string, an integer, float64, []any, map[string]any or
// a *Tree. All of it gets the position. Fields of maps are sorted.
func TreeOf(value any, at Position) (*Tree, error) {
	t := &Tree{Position: at}
	switch v := value.(type) {
	case nil:
	case *Tree:
		return v.placed(at), nil
	case bool:
		t.Kind, t.Text = Bool, strconv.FormatBool(v)
	case string:
		t.Kind, t.Text = String, v
	case int, int32, int64, uint32, uint64:
		t.Kind, t.Text = Integer, fmt.Sprint(v)
	case float64:
		t.Kind, t.Text = Float, strconv.FormatFloat(v, 'g', -1, 64)
	case []any:
		t.Kind = List
		for _, e := range v {
			element, err := TreeOf(e, at)
			if err != nil {
				return nil, err
			}
			t.Elements = append(t.Elements, element)
		}
	case map[string]any:
		t.Kind = Mapping
		for _, name := range slices.Sorted(maps.Keys(v)) {
			field, err := TreeOf(v[name], at)
			if err != nil {
				return nil, err
			}
			t.Fields = append(t.Fields, Field{at, name, field})
		}
	default:
		return nil, fmt.Errorf("a value of type %T, expected one that JSON has", value)
	}
	return t, nil
}

// placed returns a copy with another position.
func (t *Tree) placed(at Position) *Tree {
	c := &Tree{Position: at, Kind: t.Kind, Text: t.Text}
	for _, e := range t.Elements {
		c.Elements = append(c.Elements, e.placed(at))
	}
	for _, f := range t.Fields {
		c.Fields = append(c.Fields, Field{at, f.Name, f.Value.placed(at)})
	}
	return c
}

// Value returns the value: nil, bool, string, int64, uint64 if it is larger, float64, []any or map[string]any.
func (t *Tree) Value() any {
	switch t.Kind {
	case Bool:
		return t.Text == "true"
	case Integer:
		if i, err := strconv.ParseInt(t.Text, 10, 64); err == nil {
			return i
		}
		u, _ := strconv.ParseUint(t.Text, 10, 64) // see scalarOf
		return u
	case Float:
		x, _ := strconv.ParseFloat(t.Text, 64)
		return x
	case String:
		return t.Text
	case List:
		list := make([]any, 0, len(t.Elements))
		for _, e := range t.Elements {
			list = append(list, e.Value())
		}
		return list
	case Mapping:
		object := make(map[string]any, len(t.Fields))
		for _, f := range t.Fields {
			object[f.Name] = f.Value.Value()
		}
		return object
	}
	return nil
}

// Field returns a field of a mapping; nil if there is none.
func (t *Tree) Field(name string) *Tree {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return t.Fields[i].Value
		}
	}
	return nil
}

// Find returns the value at a path ("interfaces[3].ip_addresses[1]"), or the innermost one around it
// that exists. Fields have either of their names.
func (t *Tree) Find(path string) *Tree {
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		next := t.Field(camel(step))
		if next == nil {
			next = t.Field(step)
		}
		if i, err := strconv.Atoi(step); err == nil && i < len(t.Elements) {
			next = t.Elements[i]
		}
		if next == nil {
			return t
		}
		t = next
	}
	return t
}

// MarshalJSON writes the value, with fields in the order of the text.
func (t *Tree) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	writeJSON(&out, t.node())
	return out.Bytes(), nil
}

// UnmarshalJSON reads a value.
func (t *Tree) UnmarshalJSON(text []byte) error {
	roots, errs := ParseTrees(".json", text)
	switch {
	case len(errs) > 0:
		return errs[0]
	case len(roots) == 0: // null
		*t = Tree{}
	default:
		*t = *roots[0].placed(Position{})
	}
	return nil
}

var tags = [...]string{Null: "!!null", Bool: "!!bool", Integer: "!!int", Float: "!!float", String: "!!str", List: "!!seq", Mapping: "!!map"}

// node returns the node that the decoder reads.
func (t *Tree) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: tags[t.Kind], Value: t.Text, Line: t.Line, Column: t.Column}
	switch t.Kind {
	case Null:
		n.Value = "null"
	case List:
		n.Kind, n.Content = yaml.SequenceNode, make([]*yaml.Node, len(t.Elements))
		for i, e := range t.Elements {
			n.Content[i] = e.node()
		}
	case Mapping:
		n.Kind, n.Content = yaml.MappingNode, make([]*yaml.Node, 0, 2*len(t.Fields))
		for _, f := range t.Fields {
			name := word(f.Name)
			name.Line, name.Column = f.Line, f.Column
			n.Content = append(n.Content, name, f.Value.node())
		}
	}
	return n
}

// DecodeTree is Decode for a text that is parsed, for example to replace parts of it. The prefix is empty.
// Paths has the path of each item: "vppConfig.interfaces[0]".
func (c *Codec) DecodeTree(root *Tree) (doc *Document, paths []string) {
	d := &decoder{codec: c, file: root.File, doc: &Document{}, seen: map[string]int{}, aliased: maxAliased, keepPaths: true}
	d.root(root.node())
	d.addRest()
	d.doc.Errs = d.reported()
	return d.doc, d.itemPaths
}
