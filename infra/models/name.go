package models

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/suggest"
)

// Name is the pattern of the names of items, such as "{interface}[/nh/{next_hop_addr}]": text,
// fields of the message in braces, and in brackets parts that are left out if one of their fields
// is not set. A Name is immutable.
type Name struct {
	source   string
	template string // of the option; see Computed
	parts    []namePart
}

// namePart is a text, a field, or a part in brackets.
type namePart struct {
	text     string
	field    protoreflect.FieldDescriptor
	optional []namePart
}

// ParseName parses a pattern for items of a message type. Fields must be texts, numbers, bools or enums.
// Two fields need text between them.
func ParseName(source string, d protoreflect.MessageDescriptor) (*Name, error) {
	p := nameParser{rest: source, message: d}
	parts, err := p.parse(false)
	if err != nil {
		return nil, fmt.Errorf("name %q of %s: %w", source, d.FullName(), err)
	}
	return &Name{source: source, parts: parts}, nil
}

type nameParser struct {
	rest    string
	message protoreflect.MessageDescriptor
}

// parse reads parts up to the end, or up to the closing bracket.
func (p *nameParser) parse(inBrackets bool) (parts []namePart, err error) {
	for p.rest != "" {
		if text, rest := cutText(p.rest); text != "" {
			parts, p.rest = append(parts, namePart{text: text}), rest
			continue
		}
		symbol := p.rest[0]
		p.rest = p.rest[1:]
		var part namePart
		switch {
		case symbol == '{':
			part.field, err = p.field()
			if len(parts) > 0 && parts[len(parts)-1].field != nil && err == nil {
				err = fmt.Errorf("expected text in front of {%s}", part.field.Name())
			}
		case symbol == '[' && !inBrackets:
			part.optional, err = p.parse(true)
			if err == nil && !slices.ContainsFunc(part.optional, func(o namePart) bool { return o.field != nil }) {
				err = fmt.Errorf("expected a field between brackets")
			}
		case symbol == ']' && inBrackets:
			return parts, nil
		default:
			err = fmt.Errorf("unexpected %q", symbol)
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	if inBrackets {
		return nil, fmt.Errorf("expected a closing bracket")
	}
	return parts, nil
}

func cutText(s string) (text, rest string) {
	if i := strings.IndexAny(s, "{}[]"); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// field reads a field and the closing brace.
func (p *nameParser) field() (protoreflect.FieldDescriptor, error) {
	name, rest, ok := strings.Cut(p.rest, "}")
	if !ok {
		return nil, fmt.Errorf("expected a closing brace behind {%s", p.rest)
	}
	p.rest = rest
	fields := p.message.Fields()
	f := fields.ByName(protoreflect.Name(name))
	if f == nil {
		var names []string
		for i := range fields.Len() {
			names = append(names, string(fields.Get(i).Name()))
		}
		if like := suggest.Nearest(name, names); like != "" {
			return nil, fmt.Errorf("there is no field %s, did you mean %s?", name, like)
		}
		return nil, fmt.Errorf("there is no field %s", name)
	}
	if f.IsList() || f.IsMap() || f.Message() != nil {
		return nil, fmt.Errorf("field %s: expected a text, number, bool or enum", name)
	}
	return f, nil
}

// String returns the pattern as it was declared.
func (n *Name) String() string { return n.source }

// Append appends the name of an item.
func (n *Name) Append(b []byte, item protoreflect.Message) []byte {
	return appendName(b, n.parts, item)
}

func appendName(b []byte, parts []namePart, item protoreflect.Message) []byte {
	for _, part := range parts {
		switch {
		case part.field != nil:
			b = appendField(b, part.field, item.Get(part.field))
		case part.optional == nil:
			b = append(b, part.text...)
		case allSet(part.optional, item):
			b = appendName(b, part.optional, item)
		}
	}
	return b
}

func allSet(parts []namePart, item protoreflect.Message) bool {
	for _, part := range parts {
		if part.field != nil && !item.Has(part.field) {
			return false
		}
	}
	return true
}

func appendField(b []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	switch f.Kind() {
	case protoreflect.StringKind:
		return append(b, v.String()...)
	case protoreflect.EnumKind:
		if value := f.Enum().Values().ByNumber(v.Enum()); value != nil {
			return append(b, value.Name()...)
		}
		return strconv.AppendInt(b, int64(v.Enum()), 10)
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		return strconv.AppendUint(b, v.Uint(), 10)
	}
	return append(b, v.String()...)
}

// Fields returns the fields of the name in their order, each once.
func (n *Name) Fields() []protoreflect.FieldDescriptor { return fieldsOf(n.parts, true) }

// Required returns the fields that every name has.
func (n *Name) Required() []protoreflect.FieldDescriptor { return fieldsOf(n.parts, false) }

func fieldsOf(parts []namePart, optional bool) (fields []protoreflect.FieldDescriptor) {
	for _, part := range parts {
		list := []protoreflect.FieldDescriptor{part.field}
		if part.optional != nil {
			list = nil
			if optional {
				list = fieldsOf(part.optional, true)
			}
		}
		for _, f := range list {
			if f != nil && !slices.Contains(fields, f) {
				fields = append(fields, f)
			}
		}
	}
	return fields
}

// Template returns the text/template that computes the name, for clients that know the models only
// by their description. The generic API defines its functions ipnet and protoip.
func (n *Name) Template() string {
	if n.template != "" {
		return n.template
	}
	return templateOf(n.parts)
}

func templateOf(parts []namePart) string {
	var b strings.Builder
	for _, part := range parts {
		switch {
		case part.field != nil:
			b.WriteString("{{." + GoName(part.field) + "}}")
		case part.optional == nil:
			b.WriteString(part.text)
		default:
			fields := fieldsOf(part.optional, true)
			condition := "." + GoName(fields[0])
			if len(fields) > 1 {
				condition = "and"
				for _, f := range fields {
					condition += " ." + GoName(f)
				}
			}
			b.WriteString("{{if " + condition + "}}" + templateOf(part.optional) + "{{end}}")
		}
	}
	return b.String()
}

// GoName returns the name that a field has in templates and in Go: "IpAddress" of ip_address.
func GoName(f protoreflect.FieldDescriptor) string {
	var b strings.Builder
	for part := range strings.SplitSeq(string(f.Name()), "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

// Computed reports whether a function of the agent computes the names from the fields, so that Append
// does not give them.
func (n *Name) Computed() bool { return n.template != "" }

// Pattern returns an expression that all names match. Other texts may match, too.
func (n *Name) Pattern() *regexp.Regexp { return regexp.MustCompile("^" + patternOf(n.parts) + "$") }

func patternOf(parts []namePart) (expr string) {
	for _, part := range parts {
		switch {
		case part.field != nil:
			expr += fieldPattern(part.field)
		case part.optional == nil:
			expr += regexp.QuoteMeta(part.text)
		default:
			expr += "(?:" + patternOf(part.optional) + ")?"
		}
	}
	return expr
}

// anything matches any text, also the empty one: incomplete items have keys as well, for the
// report of what is missing.
const anything = "(?s:.*)"

func fieldPattern(f protoreflect.FieldDescriptor) string {
	switch f.Kind() {
	case protoreflect.Int32Kind, protoreflect.Uint32Kind, protoreflect.Int64Kind, protoreflect.Uint64Kind:
		return "-?[0-9]+"
	case protoreflect.EnumKind:
		expr := "(?:-?[0-9]+"
		for i := range f.Enum().Values().Len() {
			expr += "|" + regexp.QuoteMeta(string(f.Enum().Values().Get(i).Name()))
		}
		return expr + ")"
	}
	return anything
}
