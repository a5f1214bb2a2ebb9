package rest

import (
	"encoding"
	"encoding/json"
	"path"
	"reflect"
	"strings"
	"time"
)

// schema is a JSON Schema, as far as responses need it.
type schema = map[string]any

// schemas are the schemas of named types, by "parent.package.Type".
type schemas map[string]any

// OneOf is the Response of an endpoint whose parameters decide on the type: a value of
// each.
type OneOf []any

// response returns the schema of the Response of an endpoint.
func (s schemas) response(v any) schema {
	types, ok := v.(OneOf)
	if !ok {
		return s.of(reflect.TypeOf(v))
	}
	alternatives := make([]schema, len(types))
	for i, v := range types {
		alternatives[i] = s.of(reflect.TypeOf(v))
	}
	return schema{"anyOf": alternatives}
}

// of returns the schema of a type, as encoding/json writes it. Types that encode
// themselves and interfaces have the schema that allows any value.
func (s schemas) of(t reflect.Type) schema {
	switch {
	case t.Kind() == reflect.Pointer:
		return nullable(s.of(t.Elem()))
	case t == reflect.TypeFor[time.Time]():
		return schema{"type": "string", "format": "date-time"}
	case t.Implements(reflect.TypeFor[json.Marshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()):
		return schema{}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return schema{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return schema{"type": "number"}
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return schema{"type": "string", "contentEncoding": "base64"}
		}
		return nullable(schema{"type": "array", "items": s.of(t.Elem())})
	case reflect.Map:
		return nullable(schema{"type": "object", "additionalProperties": s.of(t.Elem())})
	case reflect.Struct:
		return s.structure(t)
	case reflect.Interface:
		return schema{}
	}
	return schema{"type": "integer"}
}

// nullable returns a schema that also allows null.
func nullable(of schema) schema {
	if len(of) == 0 {
		return of
	}
	return schema{"anyOf": []schema{of, {"type": "null"}}}
}

// structure returns the schema of a struct; if it has a name, a reference.
func (s schemas) structure(t reflect.Type) schema {
	name := path.Base(path.Dir(t.PkgPath())) + "." + path.Base(t.PkgPath()) + "." + t.Name()
	ref := schema{"$ref": "#/components/schemas/" + name}
	if _, known := s[name]; known && t.Name() != "" {
		return ref
	}
	properties, required := schema{}, []string{}
	of := schema{"type": "object", "properties": properties}
	if t.Name() != "" {
		s[name] = of // before its fields, which may have the same type
	}
	for _, f := range reflect.VisibleFields(t) {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "" && f.Anonymous || tag == "-" || !f.IsExported() {
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		field := s.of(f.Type)
		if options == "string" {
			field = schema{"type": "string"}
		}
		properties[tag] = field
		if !strings.HasPrefix(options, "omit") && len(f.Index) == 1 {
			required = append(required, tag)
		}
	}
	if len(required) > 0 {
		of["required"] = required
	}
	if t.Name() != "" {
		return ref
	}
	return of
}
