package config

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/infra/suggest"
)

// maxNodes limits the values read from one file. Aliases count each time they
// are used, so that a small file cannot expand without limit.
const maxNodes = 1 << 16

// FieldError is an error at one position of a configuration file.
type FieldError struct {
	File  string
	Line  int
	Field string // path of keys: "loggers[1].level"; empty for the file as a whole
	Msg   string
}

// Error returns "file:line: field: message".
func (e *FieldError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field)
	}
	return b.String() + ": " + e.Msg
}

// decoder reads one file. It collects all errors rather than the first.
type decoder struct {
	file  string
	errs  []error
	nodes int
	refs  *references
	raw   map[*yaml.Node]string // values with references, as written in the file
}

func decode(data []byte, file string, target reflect.Value, refs *references) error {
	in := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	switch err := in.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil // an empty file
	case err != nil:
		return fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := in.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return &FieldError{File: file, Msg: "expected one YAML document"}
	}
	d := &decoder{file: file, refs: refs, raw: map[*yaml.Node]string{}}
	d.value(doc.Content[0], target, "")
	return errors.Join(d.errs...)
}

func (d *decoder) fail(n *yaml.Node, path, format string, args ...any) {
	d.errs = append(d.errs, &FieldError{d.file, n.Line, path, fmt.Sprintf(format, args...)})
}

func (d *decoder) mismatch(n *yaml.Node, v reflect.Value, path string) {
	if raw, ok := d.raw[n]; ok { // the value behind the reference may be a secret
		d.fail(n, path, "expected %s, got something else from %s", expected(v.Type()), raw)
		return
	}
	d.fail(n, path, "expected %s, got %s", expected(v.Type()), describe(n))
}

// value reads n into v; null keeps the default.
func (d *decoder) value(n *yaml.Node, v reflect.Value, path string) {
	if d.nodes++; d.nodes > maxNodes {
		if d.nodes == maxNodes+1 {
			d.fail(n, path, "the file holds more than %d values", maxNodes)
		}
		return
	}
	if n.Kind == yaml.AliasNode {
		d.value(n.Alias, v, path)
		return
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	t := v.Type()
	if n.Kind == yaml.ScalarNode && t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface {
		expanded, err := d.refs.expand(n)
		if err != nil {
			d.fail(n, path, "%v", err)
			return
		}
		if expanded != n {
			d.raw[expanded] = n.Value
		}
		n = expanded
	}
	switch {
	case t.Kind() == reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(t.Elem()))
		}
		d.value(n, v.Elem(), path)
	case t == durationType || t == fileModeType || isText(t):
		d.text(n, v, path)
	case t.Kind() == reflect.Struct:
		d.structure(n, v, path)
	case t.Kind() == reflect.Map:
		d.mapping(n, v, path)
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		d.list(n, v, path)
	case t.Kind() == reflect.Interface && t.NumMethod() == 0:
		d.anything(n, v, path)
	default:
		d.scalar(n, v, path)
	}
}

func (d *decoder) structure(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.mismatch(n, v, path)
		return
	}
	byKey := map[string]field{}
	var keys []string
	for _, f := range fieldsOf(v.Type()) {
		byKey[foldKey(f.key)] = f
		keys = append(keys, f.key)
	}
	d.eachKey(n, path, foldKey, func(key, value *yaml.Node, path string) {
		f, ok := byKey[foldKey(key.Value)]
		if !ok {
			d.fail(key, path, "unknown key%s", suggestion(key.Value, keys))
			return
		}
		if f.secret {
			d.refs.note(value)
		}
		d.value(value, v.FieldByIndex(f.index), path)
	})
}

// foldKey returns the form in which keys of settings are compared: the predecessor ignored case,
// and wrote password_hash for password-hash.
func foldKey(key string) string { return strings.ReplaceAll(strings.ToLower(key), "_", "-") }

// eachKey calls f for every key of a mapping, and reports keys that are the same when folded.
func (d *decoder) eachKey(n *yaml.Node, path string, fold func(string) string, f func(key, value *yaml.Node, path string)) {
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			d.fail(key, path, "expected a key, got %s", describe(key))
			continue
		}
		sub := key.Value
		if path != "" {
			sub = path + "." + sub
		}
		if line, twice := lines[fold(key.Value)]; twice {
			d.fail(key, sub, "given twice, first in line %d", line)
			continue
		}
		lines[fold(key.Value)] = key.Line
		f(key, value, sub)
	}
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode || v.Type().Key().Kind() != reflect.String {
		d.mismatch(n, v, path)
		return
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	d.eachKey(n, path, strings.Clone, func(key, value *yaml.Node, path string) {
		e := reflect.New(v.Type().Elem()).Elem()
		d.value(value, e, path)
		v.SetMapIndex(reflect.ValueOf(key.Value).Convert(v.Type().Key()), e)
	})
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		d.mismatch(n, v, path)
		return
	}
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	} else if len(n.Content) != v.Len() {
		d.fail(n, path, "expected %d items, got %d", v.Len(), len(n.Content))
		return
	}
	for i, item := range n.Content {
		d.value(item, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
}

// text reads durations, file modes and types with UnmarshalText.
func (d *decoder) text(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.ScalarNode {
		d.mismatch(n, v, path)
		return
	}
	switch v.Type() {
	case durationType:
		dur, err := time.ParseDuration(n.Value)
		if err != nil && n.Tag == "!!int" {
			var ns int64
			ns, err = strconv.ParseInt(n.Value, 10, 64)
			dur = time.Duration(ns)
		}
		if err != nil {
			d.mismatch(n, v, path)
			return
		}
		v.SetInt(int64(dur))
	case fileModeType:
		mode, ok := fileMode(n)
		if !ok {
			d.mismatch(n, v, path)
			return
		}
		v.SetUint(uint64(mode))
	default:
		if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.Value)); err != nil {
			d.fail(n, path, "%v", err)
		}
	}
}

// fileMode reads permissions in octal digits. A number without a leading zero that does not let
// the owner read and write is decimal, as the predecessor reads all of them: 432 is 0660.
func fileMode(n *yaml.Node) (mode os.FileMode, ok bool) {
	const byOwner = 0o600
	octal, err := strconv.ParseUint(strings.TrimPrefix(n.Value, "0o"), 8, 12)
	if n.Tag == "!!int" && !strings.HasPrefix(n.Value, "0") && (err != nil || octal&byOwner != byOwner) {
		if decimal, wrong := strconv.ParseUint(n.Value, 10, 12); wrong == nil && decimal <= 0o777 && decimal&byOwner == byOwner {
			return os.FileMode(decimal), true
		}
	}
	return os.FileMode(octal), err == nil
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.ScalarNode || v.Kind() == reflect.String && n.Tag == "!!binary" {
		d.mismatch(n, v, path)
		return
	}
	if v.Kind() == reflect.String { // as written: 1.10 stays "1.10", yes stays "yes"
		v.SetString(n.Value)
		return
	}
	cut := n.Tag == "!!float" && !v.CanFloat() // yaml.v3 would cut off the fraction
	if cut || n.Tag == "!!str" || n.Decode(v.Addr().Interface()) != nil {
		d.mismatch(n, v, path)
	}
}

func (d *decoder) anything(n *yaml.Node, v reflect.Value, path string) {
	var x any
	n = d.expandAll(n, path)
	if err := n.Decode(&x); err != nil {
		d.fail(n, path, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return
	}
	if x != nil {
		v.Set(reflect.ValueOf(x))
	}
}

// describe names what the file contains, for error messages.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return describe(n.Alias)
	}
	value := n.Value
	if len(value) > 40 {
		value = value[:40] + "..."
	}
	return strconv.Quote(value)
}

// suggestion returns the known key that is nearest to the unknown one, or all
// keys if none is near and there are few.
func suggestion(key string, known []string) string {
	best := suggest.Nearest(key, known)
	switch {
	case best != "":
		return fmt.Sprintf(", did you mean %q?", best)
	case len(known) > 0 && len(known) <= 12:
		return "; known keys: " + strings.Join(known, ", ")
	}
	return ""
}
