package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// apiFile is what the tables need of an API file, in the order of the file.
type apiFile struct {
	declarations []declaration
}

// kind of a declaration.
type kind uint8

const (
	importKind kind = iota
	messageKind
	structKind // typedef with fields, or union
	enumKind
	aliasKind
)

// declaration is an import, a message or a type.
type declaration struct {
	kind      kind
	name      string // of an import, the path of the file below src
	line      int
	fields    []field     // of a message or struct
	values    []enumValue // of an enum, without those that are marked as backwards compatible
	autoreply bool        // the message has a reply that is not written out
}

// field of a message or a struct.
type field struct {
	line        int
	typ, name   string
	array       bool
	length      int64  // of an array; 0: variable
	lengthField string // the field with the length of the array; may be empty
}

type enumValue struct {
	name  string
	value int64
}

// parser reads the API language of VPP (src/tools/vppapigen/VPPAPI.rst in VPP). Services,
// options, counters and paths do not matter for messages: they are checked for balanced
// brackets only.
type parser struct {
	tokens []token
}

// parse reads an API file. The error begins with the line.
func parse(input string) (*apiFile, error) {
	all, err := lex(input)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: all}
	file := &apiFile{}
	for p.peek().kind != endOfFile {
		d, err := p.statement()
		if err != nil {
			return nil, err
		}
		if d != nil {
			file.declarations = append(file.declarations, *d)
		}
	}
	return file, nil
}

func (p *parser) peek() token { return p.tokens[0] }

// next takes a token; the end of the file remains.
func (p *parser) next() token {
	t := p.tokens[0]
	if t.kind != endOfFile {
		p.tokens = p.tokens[1:]
	}
	return t
}

// skip takes the next token if it is the given one.
func (p *parser) skip(what string) bool {
	if p.peek().kind == text || p.peek().text != what {
		return false
	}
	p.next()
	return true
}

// expect takes the given tokens.
func (p *parser) expect(all ...string) error {
	for _, what := range all {
		if t := p.peek(); !p.skip(what) {
			return fmt.Errorf("%d: expected %q, found %v", t.line, what, t)
		}
	}
	return nil
}

func (p *parser) take(kind tokenKind, what string) (token, error) {
	t := p.next()
	if t.kind != kind {
		return t, fmt.Errorf("%d: expected %s, found %v", t.line, what, t)
	}
	return t, nil
}

// statement reads a statement; nil if it does not matter.
func (p *parser) statement() (*declaration, error) {
	autoreply := false
	t := p.next()
	for slices.Contains([]string{"manual_print", "manual_endian", "dont_trace", "autoendian", "autoreply"}, t.text) {
		autoreply = autoreply || t.text == "autoreply"
		t = p.next()
	}
	d := &declaration{line: t.line, autoreply: autoreply}
	var err error
	switch t.text {
	case "import":
		d.kind, err = importKind, p.imported(d)
	case "define":
		d.kind, err = messageKind, p.structure(d)
	case "union":
		d.kind, err = structKind, p.structure(d)
	case "typedef":
		err = p.typedef(d)
	case "enum", "enumflag":
		d.kind, err = enumKind, p.enum(d)
	case "option":
		return nil, p.option()
	case "service", "counters", "paths":
		return nil, p.block()
	default:
		err = fmt.Errorf("%d: expected a statement such as define or typedef, found %v", t.line, t)
	}
	return d, err
}

func (p *parser) imported(d *declaration) error {
	path, err := p.take(text, "the path of a file in quotes")
	if err != nil {
		return err
	}
	d.name = strings.Trim(path.text, `"`)
	return p.expect(";")
}

// option reads the rest of "option name;" or "option name = value;".
func (p *parser) option() error {
	if _, err := p.take(word, "the name of an option"); err != nil {
		return err
	}
	if p.skip("=") {
		if t := p.next(); t.kind == punctuation || t.kind == endOfFile {
			return fmt.Errorf("%d: expected the value of an option, found %v", t.line, t)
		}
	}
	return p.expect(";")
}

// block skips everything to the end of the brackets and the semicolon behind.
func (p *parser) block() error {
	if p.peek().kind == word {
		p.next()
	}
	if err := p.expect("{"); err != nil {
		return err
	}
	for depth := 1; depth > 0; {
		switch t := p.next(); {
		case t.kind == endOfFile:
			return fmt.Errorf(`%d: expected "}", found %v`, t.line, t)
		case t.text == "{":
			depth++
		case t.text == "}":
			depth--
		}
	}
	return p.expect(";")
}

// structure reads the name and the fields of a message, struct or union.
func (p *parser) structure(d *declaration) error {
	name, err := p.take(word, "a name")
	if err != nil {
		return err
	}
	d.name = name.text
	if err := p.expect("{"); err != nil {
		return err
	}
	for !p.skip("}") {
		if p.skip("option") {
			err = p.option()
		} else {
			err = p.field(d)
		}
		if err != nil {
			return inside(d.name, err)
		}
	}
	return inside(d.name, p.expect(";"))
}

// inside puts the name of what is read behind the line of an error.
func inside(name string, err error) error {
	if err == nil {
		return nil
	}
	line, rest, _ := strings.Cut(err.Error(), ": ")
	return fmt.Errorf("%s: %s: %s", line, name, rest)
}

// typedef reads a struct or an alias.
func (p *parser) typedef(d *declaration) error {
	if len(p.tokens) > 1 && p.tokens[1].text == "{" {
		d.kind = structKind
		return p.structure(d)
	}
	d.kind = aliasKind
	if err := p.field(d); err != nil {
		return err
	}
	d.name = d.fields[0].name
	return nil
}

// field reads "type name;", with an array or options in square brackets behind the name.
func (p *parser) field(d *declaration) error {
	typ, err := p.take(word, "the type of a field")
	if err != nil {
		return err
	}
	name, err := p.take(word, "the name of a field")
	if err != nil {
		return err
	}
	f := field{line: typ.line, typ: typ.text, name: name.text}
	if p.skip("[") {
		if err := p.brackets(d, &f); err != nil {
			return err
		}
	}
	if f.typ == "string" && !f.array {
		return fmt.Errorf("%d: field %s: a string needs a length in brackets", f.line, f.name)
	}
	d.fields = append(d.fields, f)
	return p.expect(";")
}

// brackets reads "]", "7]", "count]" or "option=value ...]" behind a field.
func (p *parser) brackets(d *declaration, f *field) error {
	first := p.next()
	switch {
	case first.text == "]":
		f.array = true
		if f.typ != "string" {
			return fmt.Errorf("%d: field %s: an array needs a length in brackets", f.line, f.name)
		}
		return nil
	case first.kind == number:
		length, err := integer(first.text)
		if err != nil || length < 0 {
			return fmt.Errorf("%d: field %s: expected the length of an array, found %v", f.line, f.name, first)
		}
		f.array, f.length = true, length
		return p.expect("]")
	case first.kind == word && p.skip("]"):
		if !slices.ContainsFunc(d.fields, func(l field) bool { return l.name == first.text }) {
			return fmt.Errorf("%d: field %s: its length %s is not a field before it", f.line, f.name, first.text)
		}
		f.array, f.lengthField = true, first.text
		return nil
	}
	return p.fieldOptions(first)
}

// fieldOptions skips the rest of the options in square brackets.
func (p *parser) fieldOptions(t token) error {
	for ; t.text != "]"; t = p.next() {
		if t.kind == endOfFile || strings.Contains("{}[;", t.text) {
			return fmt.Errorf(`%d: expected "]" behind options, found %v`, t.line, t)
		}
	}
	return nil
}

// enum reads the name, the type and the values of an enum.
func (p *parser) enum(d *declaration) error {
	name, err := p.take(word, "the name of an enum")
	if err != nil {
		return err
	}
	d.name = name.text
	if p.skip(":") {
		if _, err := p.take(word, "the type of an enum"); err != nil {
			return err
		}
	}
	if err := p.expect("{"); err != nil {
		return err
	}
	value := int64(-1)
	for !p.skip("}") {
		value++
		if value, err = p.enumValue(d, value); err != nil {
			return inside(d.name, err)
		}
	}
	return inside(d.name, p.expect(";"))
}

// enumValue reads one value and returns it; next is the one it has if none is written.
func (p *parser) enumValue(d *declaration, next int64) (int64, error) {
	name, err := p.take(word, "the name of a value")
	if err != nil {
		return 0, err
	}
	if p.skip("=") {
		t, err := p.take(number, "a number")
		if err != nil {
			return 0, err
		}
		if next, err = integer(t.text); err != nil {
			return 0, fmt.Errorf("%d: %s: %w", t.line, name.text, err)
		}
	}
	compatible := false
	if p.skip("[") {
		compatible = p.peek().text == "backwards_compatible"
		if err := p.fieldOptions(p.next()); err != nil {
			return 0, err
		}
	}
	if !compatible {
		d.values = append(d.values, enumValue{name.text, next})
	}
	return next, p.expect(",")
}

// integer reads a decimal number, or a hexadecimal one that begins with 0x.
func integer(text string) (int64, error) {
	if digits, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		return strconv.ParseInt(digits, 16, 64)
	}
	return strconv.ParseInt(text, 10, 64)
}
