package config

import (
	"encoding"
	"os"
	"reflect"
	"strings"
	"time"
	"unicode"
)

// field is one key of a configuration struct.
type field struct {
	key    string
	desc   string // the tag `desc`: what the field is for, with its unit
	secret bool   // the tag `secret:"true"`: never printed
	tagged bool
	index  []int
	typ    reflect.Type
}

// fieldsOf lists the keys of a struct in their order. The fields of embedded
// structs count as fields of the struct.
func fieldsOf(t reflect.Type) []field {
	var fs []field
	for i := range t.NumField() {
		sf := t.Field(i)
		key, tagged, skip := keyOf(sf)
		if skip {
			continue
		}
		if sf.Anonymous && !tagged && sf.Type.Kind() == reflect.Struct {
			for _, f := range fieldsOf(sf.Type) {
				f.index = append([]int{i}, f.index...)
				fs = append(fs, f)
			}
			continue
		}
		if !sf.IsExported() {
			continue
		}
		fs = append(fs, field{
			key: key, tagged: tagged, desc: sf.Tag.Get("desc"), secret: sf.Tag.Get("secret") == "true",
			index: []int{i}, typ: sf.Type,
		})
	}
	return fs
}

func keyOf(sf reflect.StructField) (key string, tagged, skip bool) {
	for _, tag := range []string{"yaml", "json"} {
		name, options, _ := strings.Cut(sf.Tag.Get(tag), ",")
		if name == "-" {
			return "", true, true
		}
		if strings.Contains(options, "inline") {
			return "", false, false
		}
		if name != "" {
			return name, true, false
		}
	}
	return kebab(sf.Name), false, false
}

// kebab turns ServerCertFile and HTTPPort into server-cert-file and http-port.
func kebab(name string) string {
	rs := []rune(name)
	var b strings.Builder
	for i, r := range rs {
		startsWord := unicode.IsUpper(r) && i > 0 &&
			(!unicode.IsUpper(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1]))
		if startsWord {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	fileModeType = reflect.TypeFor[os.FileMode]()
	unmarshaler  = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// isText reports whether UnmarshalText reads values of the type.
func isText(t reflect.Type) bool { return reflect.PointerTo(t).Implements(unmarshaler) }

// expected describes the type for error messages.
func expected(t reflect.Type) string {
	switch {
	case t == durationType:
		return `a duration ("1s", "250ms")`
	case t == fileModeType:
		return "a file mode in octal digits (0644)"
	case isText(t):
		return "text"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return expected(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number that is not negative"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a mapping"
	}
	return "a value of type " + t.String()
}
