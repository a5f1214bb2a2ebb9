package main

import (
	"fmt"
	"hash/crc32"
	"maps"
	"path"
	"slices"
	"strings"
)

// message of a release.
type message struct {
	crc  string // eight hexadecimal digits
	file string // below the root of the tree
}

// messagesOf returns all messages that the files define, by name. Errors name the file,
// the line and the message.
func messagesOf(files map[string]string) (map[string]message, error) {
	t := tree{files: files, scopes: map[string]scope{}, messages: map[string]message{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if _, err := t.load(name); err != nil {
			return nil, err
		}
	}
	return t.messages, nil
}

// tree computes the CRCs of messages in the way of vppapigen
// (src/tools/vppapigen/vppapigen.py in VPP): of the fields as Python prints them, then of
// the types of the fields, recursively.
type tree struct {
	files    map[string]string
	scopes   map[string]scope // of the files read so far; nil while one is being read
	messages map[string]message
}

// scope has the types that a file declares or imports, by the names that fields have for
// them.
type scope map[string]*apiType

type apiType struct {
	text   string  // what the CRC is computed of
	fields []field // of a struct
	scope  scope   // where the types of the fields are
	file   string
}

// load reads a file and those that it imports.
func (t *tree) load(name string) (scope, error) {
	if s, ok := t.scopes[name]; ok {
		if s == nil {
			return nil, fmt.Errorf("%s: the file imports itself", t.path(name))
		}
		return s, nil
	}
	t.scopes[name] = nil
	file, err := parse(t.files[name])
	if err != nil {
		return nil, fmt.Errorf("%s:%w", t.path(name), err)
	}
	s := scope{}
	for _, d := range file.declarations {
		if err := t.declare(name, s, d); err != nil {
			return nil, err
		}
	}
	t.scopes[name] = s
	return s, nil
}

// path is what errors call a file.
func (t *tree) path(name string) string { return path.Join(sources, name) }

func (t *tree) declare(file string, s scope, d declaration) error {
	at := fmt.Sprintf("%s:%d: %s", t.path(file), d.line, d.name)
	switch d.kind {
	case importKind:
		return t.include(s, d, at)
	case messageKind:
		return t.define(file, s, d, at)
	}
	for _, f := range d.fields {
		if err := s.check(f); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	typ := &apiType{text: "[]", scope: s, file: file}
	switch d.kind {
	case structKind:
		typ.text, typ.fields = printFields(d.fields), d.fields
	case enumKind:
		typ.text = printValues(d.values)
	}
	return s.add("vl_api_"+d.name+"_t", typ, at)
}

// include adds the types of another file.
func (t *tree) include(s scope, d declaration, at string) error {
	if _, ok := t.files[d.name]; !ok {
		return fmt.Errorf("%s: the imported file is missing", at)
	}
	imported, err := t.load(d.name)
	if err != nil {
		return err
	}
	for name, typ := range imported {
		if err := s.add(name, typ, at); err != nil {
			return err
		}
	}
	return nil
}

func (s scope) add(name string, typ *apiType, at string) error {
	if other, ok := s[name]; ok && other != typ {
		return fmt.Errorf("%s: type %s is already declared in %s", at, name, path.Join(sources, other.file))
	}
	s[name] = typ
	return nil
}

// check reports a field whose type is not declared before.
func (s scope) check(f field) error {
	switch f.typ {
	case "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f64", "bool", "string":
		return nil
	}
	if s[f.typ] == nil {
		return fmt.Errorf("field %s: type %s is not declared before it", f.name, f.typ)
	}
	return nil
}

// define adds a message, with its reply if that is not written out.
func (t *tree) define(file string, s scope, d declaration, at string) error {
	all := map[string][]field{d.name: d.fields}
	if d.autoreply {
		all[d.name+"_reply"] = []field{{typ: "u32", name: "context"}, {typ: "i32", name: "retval"}}
	}
	for name, fields := range all {
		for _, f := range fields {
			if err := s.check(f); err != nil {
				return fmt.Errorf("%s: %w", at, err)
			}
		}
		if other, ok := t.messages[name]; ok {
			return fmt.Errorf("%s: message %s is already defined in %s", at, name, other.file)
		}
		crc := crc32.ChecksumIEEE([]byte(printFields(fields)))
		t.messages[name] = message{fmt.Sprintf("%08x", s.fold(crc, fields)), t.path(file)}
	}
	return nil
}

// fold adds the types of the fields to a CRC.
func (s scope) fold(crc uint32, fields []field) uint32 {
	for _, f := range fields {
		if typ := s[f.typ]; typ != nil {
			crc = crc32.Update(crc, crc32.IEEETable, []byte(typ.text))
			crc = typ.scope.fold(crc, typ.fields)
		}
	}
	return crc
}

// printFields writes fields as Python does: [['u32', 'context'], ['u8', 'mac', 6, None]].
func printFields(fields []field) string {
	all := make([]string, len(fields))
	for i, f := range fields {
		switch {
		case !f.array:
			all[i] = fmt.Sprintf("['%s', '%s']", f.typ, f.name)
		case f.lengthField == "":
			all[i] = fmt.Sprintf("['%s', '%s', %d, None]", f.typ, f.name, f.length)
		default:
			all[i] = fmt.Sprintf("['%s', '%s', 0, '%s']", f.typ, f.name, f.lengthField)
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// printValues writes the values of an enum as Python does: [['UP', 1], ['DOWN', 2]].
func printValues(values []enumValue) string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = fmt.Sprintf("['%s', %d]", v.name, v.value)
	}
	return "[" + strings.Join(all, ", ") + "]"
}
