package config

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// hiddenSecret replaces the value of a field tagged secret:"true".
const hiddenSecret = "***"

// Print writes a configuration as YAML, with the tag `desc` of every field as
// a comment above its key. It hides fields tagged secret:"true".
func Print(w io.Writer, cfg any) error {
	v := reflect.ValueOf(cfg)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return fmt.Errorf("print configuration: expected a struct, got %T", cfg)
	}
	text, err := render(v, true)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// render writes a struct as YAML.
func render(v reflect.Value, hide bool) ([]byte, error) {
	n, err := node(v, hide)
	if err != nil {
		return nil, fmt.Errorf("print configuration: %w", err)
	}
	if len(n.Content) == 0 {
		return []byte("{}\n"), nil
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(n), enc.Close()); err != nil {
		return nil, fmt.Errorf("print configuration: %w", err)
	}
	return b.Bytes(), nil
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// node converts a value to the form that decode reads.
func node(v reflect.Value, hide bool) (*yaml.Node, error) {
	t := v.Type()
	switch {
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface:
		if v.IsNil() {
			return scalar("!!null", "null"), nil
		}
		return node(v.Elem(), hide)
	case t == durationType:
		return scalar("!!str", time.Duration(v.Int()).String()), nil
	case t == fileModeType:
		return scalar("!!int", fmt.Sprintf("%04o", os.FileMode(v.Uint()).Perm())), nil
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		return scalar("!!str", string(text)), err
	}
	switch t.Kind() {
	case reflect.Struct:
		return structNode(v, hide)
	case reflect.Slice, reflect.Array:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for i := range v.Len() {
			item, err := node(v.Index(i), hide)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, item)
		}
		if len(n.Content) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n, nil
	case reflect.Map:
		return mapNode(v, hide)
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		return nil, fmt.Errorf("a %s cannot be written", t)
	}
	n := new(yaml.Node)
	if t.Kind() == reflect.String {
		return n, n.Encode(escaped(v))
	}
	err := n.Encode(v.Interface())
	return n, err
}

func structNode(v reflect.Value, hide bool) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, f := range fieldsOf(v.Type()) {
		key := scalar("!!str", f.key)
		key.HeadComment = f.desc
		value, err := node(v.FieldByIndex(f.index), hide)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.key, err)
		}
		if hide && f.secret {
			obscure(value)
		}
		n.Content = append(n.Content, key, value)
	}
	return n, nil
}

// obscure hides the scalars of a secret that is set.
func obscure(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Value != "" && n.Tag != "!!null" {
		n.Tag, n.Value = "!!str", hiddenSecret
	}
	for _, c := range n.Content {
		obscure(c)
	}
}

func mapNode(v reflect.Value, hide bool) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		return strings.Compare(a.String(), b.String())
	})
	for _, k := range keys {
		value, err := node(v.MapIndex(k), hide)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, scalar("!!str", k.String()), value)
	}
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n, nil
}
