// Package fields lists the fields of messages by path, as operators see them in differences.
package fields

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Fields are the fields of a message by path, such as "nodes[0].weight", with their values as
// text. The zero value has no fields.
type Fields struct {
	set   map[string]string
	zeros map[string]string   // scalars that are not set, of messages that exist
	lists map[string][]string // lists of scalars that are not empty
}

// Of returns the fields of a message; nil has none. Names are as in the schema, enum values
// are names, strings are quoted.
//
// An enum of a list element counts as set: a rule with the action DENY, the zero value, must not
// look like one without an action. A message without fields has the text {}.
func Of(m proto.Message) Fields {
	f := Fields{map[string]string{}, map[string]string{}, map[string][]string{}}
	if m != nil {
		f.add("", m.ProtoReflect(), false)
	}
	return f
}

// Set returns the fields that are set. The caller may change the map.
func (f Fields) Set() map[string]string { return maps.Clone(f.set) }

// Change is a difference of one field.
type Change struct {
	Path     string
	Old, New string
	Had, Has bool // the field existed before and exists now
	// Removed and Added are elements of a list of scalars, as text without quotes where that is
	// clear; see Compact.
	Removed, Added []string
}

// Compact returns the differences between two messages, as Diff does, but one for each list of
// scalars that has elements before and afterwards. It names the elements that differ, or all of
// them in Old and New if only their order does.
func Compact(before, after proto.Message) []Change {
	was, is := Of(before), Of(after)
	changes := Diff(was, is)
	kept := changes[:0]
	for _, c := range changes {
		list, _, indexed := strings.Cut(c.Path[strings.LastIndexByte(c.Path, '.')+1:], "[")
		path := c.Path[:strings.LastIndexByte(c.Path, '.')+1] + list
		old, had := was.lists[path]
		now, has := is.lists[path]
		switch {
		case !indexed || !had || !has:
			kept = append(kept, c)
		case len(kept) == 0 || kept[len(kept)-1].Path != path:
			kept = append(kept, listChange(path, old, now))
		}
	}
	return kept
}

func listChange(path string, old, now []string) Change {
	c := Change{Path: path, Had: true, Has: true, Removed: without(old, now), Added: without(now, old)}
	if len(c.Removed)+len(c.Added) == 0 {
		c.Old, c.New = strings.Join(old, ", "), strings.Join(now, ", ")
	}
	return c
}

// without returns the elements of a list that another one does not have, as often.
func without(list, other []string) (rest []string) {
	count := make(map[string]int, len(other))
	for _, text := range other {
		count[text]++
	}
	for _, text := range list {
		if count[text]--; count[text] < 0 {
			rest = append(rest, text)
		}
	}
	return rest
}

// Diff returns the differences between two messages, sorted by path. A scalar of a message that
// exists before and afterwards changes to or from its zero value; it does not appear or
// disappear.
func Diff(before, after Fields) (changes []Change) {
	paths := slices.AppendSeq(slices.Collect(maps.Keys(before.set)), maps.Keys(after.set))
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		c := Change{Path: path}
		c.Old, c.Had = before.at(path)
		c.New, c.Has = after.at(path)
		if c.Old != c.New || c.Had != c.Has {
			changes = append(changes, c)
		}
	}
	return changes
}

// at returns the text of a field, and whether the field exists.
func (f Fields) at(path string) (string, bool) {
	if text, ok := f.set[path]; ok {
		return text, true
	}
	text, ok := f.zeros[path]
	return text, ok
}

// add adds the fields of a message; listed reports that it is an element of a list.
func (f Fields) add(path string, m protoreflect.Message, listed bool) {
	if path != "" && strings.HasPrefix(string(m.Descriptor().FullName()), "google.protobuf.") {
		f.set[path] = wellKnown(m)
		return
	}
	before := len(f.set)
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		at := strings.TrimPrefix(path+"."+string(fd.Name()), ".")
		switch {
		case m.Has(fd):
			f.field(at, fd, m.Get(fd))
		case fd.HasPresence() || fd.IsList() || fd.IsMap():
		case listed && fd.Kind() == protoreflect.EnumKind:
			f.set[at] = scalar(fd, m.Get(fd))
		default:
			f.zeros[at] = scalar(fd, m.Get(fd))
		}
	}
	if len(f.set) == before && path != "" {
		f.set[path] = "{}"
	}
}

func (f Fields) field(path string, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
	switch {
	case fd.IsList():
		for i := range v.List().Len() {
			f.value(fmt.Sprintf("%s[%d]", path, i), fd, v.List().Get(i), true)
			if fd.Message() == nil {
				f.lists[path] = append(f.lists[path], element(fd, v.List().Get(i)))
			}
		}
	case fd.IsMap():
		v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			f.value(path+"."+k.String(), fd.MapValue(), v, true)
			return true
		})
	default:
		f.value(path, fd, v, false)
	}
}

func (f Fields) value(path string, fd protoreflect.FieldDescriptor, v protoreflect.Value, listed bool) {
	if fd.Message() != nil {
		f.add(path, v.Message(), listed)
		return
	}
	f.set[path] = scalar(fd, v)
}

// scalar returns a value as text.
func scalar(fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch fd.Kind() {
	case protoreflect.EnumKind:
		if name := fd.Enum().Values().ByNumber(v.Enum()); name != nil {
			return string(name.Name())
		}
		return fmt.Sprint(v.Enum())
	case protoreflect.StringKind, protoreflect.BytesKind:
		text, _ := json.Marshal(v.Interface()) // cannot fail for them
		return string(text)
	default:
		return fmt.Sprint(v.Interface())
	}
}

// element returns an element of a list as text: a string without quotes, if that is clear.
func element(fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	if fd.Kind() != protoreflect.StringKind {
		return scalar(fd, v)
	}
	text := v.String()
	if quoted := scalar(fd, v); text == "" || strings.ContainsAny(text, " ,") || quoted != `"`+text+`"` {
		return quoted
	}
	return text
}

// wellKnown returns a message such as a duration as in JSON.
func wellKnown(m protoreflect.Message) string {
	text, err := protojson.Marshal(m.Interface())
	if err != nil {
		return err.Error()
	}
	return string(text)
}
