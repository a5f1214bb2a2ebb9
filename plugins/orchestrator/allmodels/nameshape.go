package allmodels

import (
	"fmt"
	"regexp"
	"strings"
	"text/template/parse"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/models"
)

// NameShape derives from a model's NameTemplate a pattern that all names of its
// items match (other texts may match, too), and a description such as
// "[if/<OutgoingInterface>/]vrf/<VrfId>/...". ok is false for models without
// names.
func NameShape(m models.Known) (pattern *regexp.Regexp, text string, ok bool) {
	source := NameTemplate(m.Spec().ModelName())
	if source == "" {
		return nil, "", false
	}
	trees, err := parse.Parse("name", source, "", "", map[string]any{
		"and": true, "ipnet": true, "ne": true, "printf": true, "protoip": true, // functions of templates
	})
	if err != nil {
		return nil, "", false // a test shows that all templates can be parsed
	}
	s := shape{m.NewInstance().ProtoReflect().Descriptor().Fields()}
	expr, text := s.list(trees["name"].Root)
	pattern, err = regexp.Compile("^" + expr + "$")
	return pattern, text, err == nil
}

// shape converts a template to a pattern of its output.
type shape struct{ fields protoreflect.FieldDescriptors }

func (s shape) list(nodes *parse.ListNode) (expr, text string) {
	if nodes == nil {
		return "", ""
	}
	for _, n := range nodes.Nodes {
		e, t := s.node(n)
		expr, text = expr+e, text+t
	}
	return expr, text
}

func (s shape) node(n parse.Node) (expr, text string) {
	switch n := n.(type) {
	case *parse.TextNode:
		return regexp.QuoteMeta(string(n.Text)), string(n.Text)
	case *parse.IfNode:
		expr, text, other, otherText := s.branches(&n.BranchNode)
		if n.ElseList == nil {
			return "(?:" + expr + ")?", "[" + text + "]"
		}
		return "(?:" + expr + "|" + other + ")", "(" + text + "|" + otherText + ")"
	case *parse.WithNode: // optional text
		expr, text, other, _ := s.branches(&n.BranchNode)
		return "(?:" + expr + "|" + other + ")", text
	case *parse.ActionNode:
		return s.action(n.Pipe.Cmds[0].Args)
	}
	return "(?s:.*)", "..."
}

func (s shape) branches(b *parse.BranchNode) (expr, text, other, otherText string) {
	expr, text = s.list(b.List)
	other, otherText = s.list(b.ElseList)
	return expr, text, other, otherText
}

// action is a field, or a function of fields: printf, or a function that converts
// a field.
func (s shape) action(args []parse.Node) (expr, text string) {
	fields := args[:0:0]
	format := "%s"
	for _, arg := range args {
		switch arg := arg.(type) {
		case *parse.FieldNode:
			fields = append(fields, arg)
		case *parse.StringNode:
			format = arg.Text
		}
	}
	plain := len(args) == 1
	for i, field := range fields {
		name := field.(*parse.FieldNode).Ident[0]
		before, verb, after := cutVerb(format)
		expr, text = expr+regexp.QuoteMeta(before), text+before+"<"+name+">"
		switch {
		case verb == 'd':
			expr += "[0-9]+"
		case plain:
			expr += s.field(name)
		default:
			expr += anything
		}
		if format = after; i == len(fields)-1 {
			expr, text = expr+regexp.QuoteMeta(after), text+after
		}
	}
	return expr, text
}

// anything matches any text, also the empty one: incomplete items have keys as
// well, for the report of what is missing.
const anything = "(?s:.*)"

// cutVerb splits a format at its first verb.
func cutVerb(format string) (before string, verb byte, after string) {
	before, after, found := strings.Cut(format, "%")
	if !found || after == "" {
		return format, 0, ""
	}
	return before, after[0], after[1:]
}

// field returns the pattern of a field of the message.
func (s shape) field(name string) string {
	for i := range s.fields.Len() {
		f := s.fields.Get(i)
		if !strings.EqualFold(strings.ReplaceAll(string(f.Name()), "_", ""), name) {
			continue
		}
		switch f.Kind() {
		case protoreflect.Int32Kind, protoreflect.Uint32Kind, protoreflect.Int64Kind, protoreflect.Uint64Kind:
			return "-?[0-9]+"
		case protoreflect.EnumKind:
			return enum(f.Enum().Values())
		}
	}
	return anything
}

// enum matches the name of a value, or an unnamed number.
func enum(values protoreflect.EnumValueDescriptors) string {
	expr := "(?:-?[0-9]+"
	for i := range values.Len() {
		expr += fmt.Sprintf("|%s", regexp.QuoteMeta(string(values.Get(i).Name())))
	}
	return expr + ")"
}
