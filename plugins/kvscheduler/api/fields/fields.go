// Package fields lists the fields of messages by path, as operators see them in differences.
package fields

import (
	"cmp"
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
	set   map[string]field
	zeros map[string]field    // scalars that are not set, of messages that exist
	lists map[string][]string // lists of scalars that are not empty
	// numbers are the numbers of the elements of lists of messages in the paths of the maps, by the
	// path of the list; a list that it lacks has its own.
	numbers map[string][]int
}

// field is a field with its path as operators see it, which may differ from the key of a map in the
// numbers of elements.
type field struct{ path, text string }

// place is the path of a field: as the key of a map, and as operators see it.
type place struct{ key, shown string }

func (p place) field(name string) place {
	if p.key == "" {
		return place{name, name}
	}
	return place{p.key + "." + name, p.shown + "." + name}
}

func (p place) element(number, shown int) place {
	return place{fmt.Sprintf("%s[%d]", p.key, number), fmt.Sprintf("%s[%d]", p.shown, shown)}
}

// Of returns the fields of a message; nil has none. Names are as in the schema, enum values
// are names, strings are quoted.
//
// An enum of a list element counts as set: a rule with the action DENY, the zero value, must not
// look like one without an action. A message without fields has the text {}.
func Of(m proto.Message) Fields { return numbered(m, nil) }

// numbered is Of with other numbers of the elements of lists.
func numbered(m proto.Message, numbers map[string][]int) Fields {
	f := Fields{map[string]field{}, map[string]field{}, map[string][]string{}, numbers}
	if m != nil {
		f.add(place{}, m.ProtoReflect(), false)
	}
	return f
}

// Set returns the fields that are set. The caller may change the map.
func (f Fields) Set() map[string]string {
	set := make(map[string]string, len(f.set))
	for _, has := range f.set {
		set[has.path] = has.text
	}
	return set
}

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
//
// In a list of messages, equal elements are no difference if others before them came or went: a rule
// that is inserted into a list is one that is added. The path of a removed element has its number
// before, others the number afterwards.
func Compact(before, after proto.Message) []Change {
	a := aligner{map[string][]int{}, map[string][]int{}}
	if before != nil && after != nil && before.ProtoReflect().Descriptor() == after.ProtoReflect().Descriptor() {
		a.messages(place{}, before.ProtoReflect(), after.ProtoReflect())
	}
	was, is := numbered(before, a.before), numbered(after, a.after)
	changes, keys := diff(was, is)
	kept, last := changes[:0], ""
	for i, c := range changes {
		list, indexed := cutLast(keys[i])
		old, had := was.lists[list]
		now, has := is.lists[list]
		switch {
		case !indexed || !had || !has:
			kept = append(kept, c)
		case list != last:
			path, _ := cutLast(c.Path)
			kept = append(kept, listChange(path, old, now))
			last = list
		}
	}
	return kept
}

// cutLast cuts the number off a path that ends in one.
func cutLast(path string) (list string, found bool) {
	i := strings.LastIndexByte(path, '[')
	if i < 0 || !strings.HasSuffix(path, "]") {
		return path, false
	}
	return path[:i], true
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

// Diff returns the differences between two messages, sorted by path, elements by number. A scalar
// of a message that exists before and afterwards changes to or from its zero value; it does not
// appear or disappear.
func Diff(before, after Fields) []Change {
	changes, _ := diff(before, after)
	return changes
}

// diff is Diff, with the keys of the fields.
func diff(before, after Fields) (changes []Change, differing []string) {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(before.set)), maps.Keys(after.set))
	slices.SortFunc(keys, byNumber)
	for _, key := range slices.Compact(keys) {
		old, had := before.at(key)
		now, has := after.at(key)
		if old.text != now.text || had != has {
			changes = append(changes, Change{Path: cmp.Or(now.path, old.path), Old: old.text, New: now.text, Had: had, Has: has})
			differing = append(differing, key)
		}
	}
	return changes, differing
}

// byNumber compares paths, and numbers in them by their value.
func byNumber(a, b string) int {
	digits := func(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
	for a != "" && b != "" {
		if x, y := digits(a), digits(b); x > 0 && y > 0 && a[:x] != b[:y] {
			return cmp.Or(cmp.Compare(x, y), strings.Compare(a, b))
		}
		if a[0] != b[0] {
			break
		}
		a, b = a[1:], b[1:]
	}
	return strings.Compare(a, b)
}

// at returns a field, and whether it exists.
func (f Fields) at(key string) (field, bool) {
	if has, ok := f.set[key]; ok {
		return has, true
	}
	has, ok := f.zeros[key]
	return has, ok
}

// put adds a field that is set.
func (f Fields) put(at place, text string) { f.set[at.key] = field{at.shown, text} }

// add adds the fields of a message; listed reports that it is an element of a list.
func (f Fields) add(path place, m protoreflect.Message, listed bool) {
	if path.key != "" && strings.HasPrefix(string(m.Descriptor().FullName()), "google.protobuf.") {
		f.put(path, wellKnown(m))
		return
	}
	before := len(f.set)
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		at := path.field(string(fd.Name()))
		switch {
		case m.Has(fd):
			f.field(at, fd, m.Get(fd))
		case fd.HasPresence() || fd.IsList() || fd.IsMap():
		case listed && fd.Kind() == protoreflect.EnumKind:
			f.put(at, scalar(fd, m.Get(fd)))
		default:
			f.zeros[at.key] = field{at.shown, scalar(fd, m.Get(fd))}
		}
	}
	if len(f.set) == before && path.key != "" {
		f.put(path, "{}")
	}
}

func (f Fields) field(path place, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
	switch {
	case fd.IsList():
		numbers := f.numbers[path.key]
		for i := range v.List().Len() {
			number := i
			if numbers != nil {
				number = numbers[i]
			}
			f.value(path.element(number, i), fd, v.List().Get(i), true)
			if fd.Message() == nil {
				f.lists[path.key] = append(f.lists[path.key], element(fd, v.List().Get(i)))
			}
		}
	case fd.IsMap():
		v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			f.value(path.field(k.String()), fd.MapValue(), v, true)
			return true
		})
	default:
		f.value(path, fd, v, false)
	}
}

func (f Fields) value(path place, fd protoreflect.FieldDescriptor, v protoreflect.Value, listed bool) {
	if fd.Message() != nil {
		f.add(path, v.Message(), listed)
		return
	}
	f.put(path, scalar(fd, v))
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
		return quoted(v.Interface())
	default:
		return fmt.Sprint(v.Interface())
	}
}

// quoted returns a string, or bytes, as JSON. People read it, so that < and & are not escaped.
func quoted(v any) string {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // cannot fail for them
	return strings.TrimSuffix(text.String(), "\n")
}

// element returns an element of a list as text: a string without quotes, if that is clear.
func element(fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	if fd.Kind() != protoreflect.StringKind {
		return scalar(fd, v)
	}
	text := v.String()
	if q := scalar(fd, v); text == "" || strings.ContainsAny(text, " ,") || q != `"`+text+`"` {
		return q
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
