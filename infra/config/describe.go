package config

import (
	"fmt"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"
)

// Key is one key of a configuration, for documentation.
type Key struct {
	// Name is the path of the key: "rate-limiter.limit"; "users[].name" is a key
	// of every item of a list, "limits.*.rate" a key of every entry of a
	// mapping.
	Name string
	// Type describes the expected value ("true or false").
	Type string
	// Default is the default as YAML on one line. It is empty for structs and for
	// keys of items.
	Default string
	// Doc is the tag `desc`.
	Doc string
	// Secret reports that the value is never shown.
	Secret bool
}

// Keys lists the keys of a configuration with these defaults, a struct or a pointer
// to one, in their order. The keys of a nested struct follow the key of the struct.
func Keys(def any) ([]Key, error) {
	v := reflect.ValueOf(def)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil, fmt.Errorf("keys of a configuration: expected a struct, got %T", def)
	}
	return keysOf(v, "", true)
}

// keysOf lists the keys of a struct; known reports that its values are defaults.
func keysOf(v reflect.Value, prefix string, known bool) ([]Key, error) {
	var keys []Key
	for _, f := range fieldsOf(v.Type()) {
		value := v.FieldByIndex(f.index)
		inner, path := innerStruct(f.typ)
		key := Key{Name: prefix + f.key, Type: expected(f.typ), Doc: f.desc, Secret: f.secret}
		if known && (inner == nil || path != "") {
			text, err := oneLine(value, f.secret)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key.Name, err)
			}
			key.Default = text
		}
		keys = append(keys, key)
		if inner == nil {
			continue
		}
		here := path == "" && value.Kind() == reflect.Struct
		if !here {
			value = reflect.New(inner).Elem()
		}
		below, err := keysOf(value, key.Name+path+".", known && here)
		if err != nil {
			return nil, err
		}
		keys = append(keys, below...)
	}
	return keys, nil
}

// innerStruct finds the struct whose keys are nested below a key: the type itself,
// the type of the items of a list ("[]"), or the type of the entries of a mapping
// (".*").
func innerStruct(t reflect.Type) (inner reflect.Type, path string) {
	for {
		switch {
		case t == durationType || t == fileModeType || isText(t):
			return nil, ""
		case t.Kind() == reflect.Pointer:
			t = t.Elem()
		case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
			t, path = t.Elem(), path+"[]"
		case t.Kind() == reflect.Map:
			t, path = t.Elem(), path+".*"
		case t.Kind() == reflect.Struct:
			return t, path
		default:
			return nil, ""
		}
	}
}

// oneLine writes a value as YAML on one line.
func oneLine(v reflect.Value, secret bool) (string, error) {
	n, err := node(v, true)
	if err != nil {
		return "", err
	}
	if secret {
		obscure(n)
	}
	n.Style |= yaml.FlowStyle
	text, err := yaml.Marshal(n)
	return strings.TrimSpace(string(text)), err
}
