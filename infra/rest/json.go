package rest

import (
	"encoding"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
)

const indent = "  "

// WriteJSON responds with v as indented JSON. It encodes and writes the elements of a slice,
// and of long slices in the fields of a struct, one after the other, because the text of a
// large configuration takes several times the memory of its values. If something other than
// the first of these cannot be encoded, it closes the connection in the middle of the
// response.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	out := &jsonWriter{w: w, status: status}
	out.value(reflect.ValueOf(v), "")
	if out.failed != nil {
		if out.begun {
			panic(http.ErrAbortHandler) /* ok: the status was sent, and the response is incomplete */
		}
		WriteError(w, http.StatusInternalServerError, fmt.Errorf("encode the response: %w", out.failed))
		return
	}
	out.text("\n")
	out.flush()
}

// jsonWriter writes a value in pieces. After an error it writes nothing more.
type jsonWriter struct {
	w      http.ResponseWriter
	status int
	buf    []byte // to be written with the next piece
	begun  bool
	failed error // of the encoding
	gone   bool  // the client has disconnected
}

func (o *jsonWriter) text(s string) { o.buf = append(o.buf, s...) }

func (o *jsonWriter) flush() {
	if !o.begun {
		o.begun = true
		o.w.Header().Set("Content-Type", "application/json; charset=utf-8")
		o.w.WriteHeader(o.status)
	}
	_, err := o.w.Write(o.buf)
	o.gone = err != nil
	o.buf = o.buf[:0]
}

// value writes a value whose lines begin with a prefix, except for the first one.
func (o *jsonWriter) value(v reflect.Value, prefix string) {
	switch {
	case o.failed != nil || o.gone:
	case isList(v):
		o.list(v, prefix)
	case isLong(v):
		o.fields(v.Elem(), prefix)
	default:
		o.piece(v, prefix)
	}
}

// piece encodes a value as a whole.
func (o *jsonWriter) piece(v reflect.Value, prefix string) {
	var of any
	if v.IsValid() {
		of = v.Interface()
	}
	body, err := json.MarshalIndent(of, prefix, indent)
	if err != nil {
		o.failed = err
		return
	}
	o.buf = append(o.buf, body...)
	o.flush()
}

func (o *jsonWriter) list(list reflect.Value, prefix string) {
	o.text("[\n" + prefix + indent)
	for i := range list.Len() {
		if i > 0 {
			o.text(",\n" + prefix + indent)
		}
		at := list.Index(i)
		if at.Kind() != reflect.Pointer {
			at = at.Addr()
		}
		o.value(at, prefix+indent)
		if o.failed != nil || o.gone {
			return
		}
	}
	o.text("\n" + prefix + "]")
}

// fields writes a struct without embedded ones.
func (o *jsonWriter) fields(s reflect.Value, prefix string) {
	between := "{\n"
	for i := range s.NumField() {
		name, options, _ := strings.Cut(s.Type().Field(i).Tag.Get("json"), ",")
		if !s.Type().Field(i).IsExported() || name == "-" || omitted(s.Field(i), options) {
			continue
		}
		if name == "" {
			name = s.Type().Field(i).Name
		}
		o.text(between + prefix + indent + `"` + name + `": `)
		o.value(s.Field(i), prefix+indent)
		between = ",\n"
	}
	o.text("\n" + prefix + "}")
}

// omitted reports whether a field is left out, by the options in its tag.
func omitted(field reflect.Value, options string) bool {
	switch options {
	case "omitempty":
		switch field.Kind() {
		case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
			return field.Len() == 0
		case reflect.Struct:
			return false
		default:
			return field.IsZero()
		}
	case "omitzero":
		if z, ok := field.Interface().(interface{ IsZero() bool }); ok {
			return z.IsZero()
		}
		return field.IsZero()
	}
	return false
}

// isList reports whether a value is a slice with elements that JSON shows as a list.
func isList(v reflect.Value) bool {
	return v.Kind() == reflect.Slice && v.Len() > 0 && v.Type().Elem().Kind() != reflect.Uint8 && !encodesItself(v)
}

// long is how many elements a field must have for its struct to be written in pieces.
const long = 100

// isLong reports whether a value points to a struct with a long slice.
func isLong(v reflect.Value) bool {
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct || encodesItself(v) {
		return false
	}
	found := false
	for i := range v.Elem().NumField() {
		field := v.Elem().Type().Field(i)
		_, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous || strings.Contains(options, ",") || options == "string" {
			return false // which fields there are is more than omitted knows
		}
		found = found || field.IsExported() && isList(v.Elem().Field(i)) && v.Elem().Field(i).Len() >= long
	}
	return found
}

func encodesItself(v reflect.Value) bool {
	switch v.Interface().(type) {
	case json.Marshaler, encoding.TextMarshaler:
		return true
	}
	return false
}
