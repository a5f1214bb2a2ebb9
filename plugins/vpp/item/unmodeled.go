package item

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// A value that was made of what VPP has is translated back. Where that gives something else, VPP
// has a setting that the model has no field for, and the value is marked with it (see
// kvs.AddUnmodeled). So every setting that VPP lists belongs into E, and Resolve gives it the
// only value that it has without a field; no list of ignored settings exists.

// markUnmodeled marks a value that was made of found. modeled is what VPP would have of the value.
func markUnmodeled(v proto.Message, found, modeled any) {
	kvs.AddUnmodeled(v, Unmodeled(found, modeled)...)
}

// Unmodeled lists the settings in which found, what VPP has, differs from modeled, what VPP would
// have of the value that was made of found: "dst_port 8472".
func Unmodeled(found, modeled any) []string {
	var d differences
	d.values("", reflect.ValueOf(found), reflect.ValueOf(modeled))
	return d.texts
}

type differences struct{ texts []string }

func (d *differences) values(name string, a, b reflect.Value) {
	switch {
	case sameValues(a, b) || isText(a.Type()) && a.CanInterface() && fmt.Sprint(a) == fmt.Sprint(b):
	case a.Kind() == reflect.Struct && !isText(a.Type()):
		for n := range a.NumField() {
			d.values(fieldName(name, a.Type().Field(n)), a.Field(n), b.Field(n))
		}
	case a.Kind() == reflect.Slice && a.Len() == b.Len() && a.Type().Elem().Kind() == reflect.Struct:
		for n := range a.Len() {
			d.values(fmt.Sprintf("%s[%d]", name, n), a.Index(n), b.Index(n))
		}
	default:
		d.texts = append(d.texts, strings.TrimSpace(fmt.Sprintf("%s %v", name, a)))
	}
}

// isText reports that a value is shown by a text of its own, such as an address.
func isText(t reflect.Type) bool { return t.Implements(reflect.TypeFor[fmt.Stringer]()) }

// fieldName is the path of a field with the names of the API of VPP; in is the path of the structure.
func fieldName(in string, f reflect.StructField) string {
	name := ""
	for _, part := range strings.Split(f.Tag.Get("binapi"), ",") {
		name = strings.TrimPrefix(part, "name=")
		if name != part {
			break
		}
		name = ""
	}
	switch {
	case f.Anonymous:
		return in
	case name == "":
		name = snakeCase(f.Name)
	}
	return strings.TrimPrefix(in+"."+name, ".")
}

// snakeCase turns "DstPort" into "dst_port", and "OuterVlanID" into "outer_vlan_id".
func snakeCase(name string) string {
	var b strings.Builder
	upper := true
	for _, r := range name {
		if unicode.IsUpper(r) && !upper {
			b.WriteByte('_')
		}
		upper = unicode.IsUpper(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// sameValues is reflect.DeepEqual for fields that are not exported, too. Empty slices are nil.
func sameValues(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Struct:
		for n := range a.NumField() {
			if !sameValues(a.Field(n), b.Field(n)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return false
		}
		for n := range a.Len() {
			if !sameValues(a.Index(n), b.Index(n)) {
				return false
			}
		}
		return true
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return sameValues(a.Elem(), b.Elem())
	case reflect.Map, reflect.Func, reflect.Chan:
		return a.Pointer() == b.Pointer()
	}
	return a.Equal(b)
}

// markParts is markUnmodeled for the entries or parts of a value, by their IDs.
func markParts[P any, K comparable](v proto.Message, found, modeled []P, id func(P) K) {
	for _, p := range found {
		at := slices.IndexFunc(modeled, func(m P) bool { return id(m) == id(p) })
		if at >= 0 {
			markUnmodeled(v, p, modeled[at])
		}
	}
}
