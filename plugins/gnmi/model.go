package gnmi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/suggest"
)

// model is a model with the keys that its items have in paths.
type model struct {
	models.Known
	name  string
	names []protoreflect.FieldDescriptor // of the keys
}

// known returns the models, sorted by name.
func known(set *models.Set) (list []*model) {
	for _, m := range set.All() {
		list = append(list, &model{Known: m, name: m.Spec().ModelName(), names: nameFields(m)})
	}
	slices.SortFunc(list, func(a, b *model) int { return strings.Compare(a.name, b.name) })
	return list
}

// nameFields returns the fields that make the name of an item: those whose change changes the
// key of an item in which no other field is set, or of one in which all are.
func nameFields(m models.Known) (names []protoreflect.FieldDescriptor) {
	if m.Singleton() {
		return nil
	}
	empty, full := m.NewInstance(), m.NewInstance()
	fields := full.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); isScalar(f) {
			full.ProtoReflect().Set(f, trials(f)[0])
		}
	}
	for i := range fields.Len() {
		if f := fields.Get(i); isScalar(f) && (changesKey(m, empty, f) || changesKey(m, full, f)) {
			names = append(names, f)
		}
	}
	return names
}

func changesKey(m models.Known, of proto.Message, f protoreflect.FieldDescriptor) bool {
	before, err := m.KeyOf(of)
	for _, v := range trials(f) {
		changed := proto.Clone(of)
		changed.ProtoReflect().Set(f, v)
		if key, err2 := m.KeyOf(changed); err == nil && err2 == nil && key != before {
			return true
		}
	}
	return false
}

func isScalar(f protoreflect.FieldDescriptor) bool {
	return !f.IsList() && !f.IsMap() && f.Message() == nil
}

// trials are different values of a field. Names may be made of texts only if they can be
// parsed, as addresses for example.
func trials(f protoreflect.FieldDescriptor) (list []protoreflect.Value) {
	switch f.Kind() {
	case protoreflect.StringKind:
		for _, text := range []string{"x", "y", "10.1.0.0/16", "2001:db8::1", "10.1.1.1", "02:00:00:00:00:01"} {
			list = append(list, protoreflect.ValueOfString(text))
		}
		return list
	case protoreflect.BytesKind:
		return []protoreflect.Value{protoreflect.ValueOfBytes([]byte("x")), protoreflect.ValueOfBytes([]byte("y"))}
	case protoreflect.BoolKind:
		return []protoreflect.Value{protoreflect.ValueOfBool(true), protoreflect.ValueOfBool(false)}
	case protoreflect.EnumKind:
		for i := range f.Enum().Values().Len() {
			list = append(list, protoreflect.ValueOfEnum(f.Enum().Values().Get(i).Number()))
		}
		slices.Reverse(list) // the first one is the default
		return list
	}
	for _, text := range []string{"1", "2"} {
		v, _ := parseNumber(f, text) // fits in all types
		list = append(list, v)
	}
	return list
}

// keyNames returns the names of the keys.
func (m *model) keyNames() (list []string) {
	for _, f := range m.names {
		list = append(list, f.JSONName())
	}
	if !m.Singleton() && len(list) == 0 {
		list = []string{labelKey}
	}
	return list
}

// labelKey is the key of items whose names are made of no field that nameFields finds.
const labelKey = "key"

// keyField returns the field of a key; ok is false if there is none. It is nil for labelKey.
func (m *model) keyField(name string) (f protoreflect.FieldDescriptor, ok bool) {
	for _, f := range m.names {
		if f.JSONName() == name || string(f.Name()) == name {
			return f, true
		}
	}
	return nil, !m.Singleton() && len(m.names) == 0 && name == labelKey
}

// keys returns the keys of an item in paths.
func (m *model) keys(key string, item protoreflect.Message) map[string]string {
	if m.Singleton() {
		return nil
	}
	if len(m.names) == 0 {
		return map[string]string{labelKey: m.Label(key)}
	}
	keys := make(map[string]string, len(m.names))
	for _, f := range m.names {
		keys[f.JSONName()] = keyText(f, item.Get(f))
	}
	return keys
}

// elem returns the element of an item in paths.
func (m *model) elem(key string, item protoreflect.Message) *gpb.PathElem {
	return &gpb.PathElem{Name: m.name, Key: m.keys(key, item)}
}

func keyText(f protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch f.Kind() {
	case protoreflect.EnumKind:
		if e := f.Enum().Values().ByNumber(v.Enum()); e != nil {
			return string(e.Name())
		}
		return strconv.Itoa(int(v.Enum()))
	case protoreflect.BytesKind:
		return string(v.Bytes())
	}
	return v.String()
}

// parseKey reads the text of a key.
func parseKey(f protoreflect.FieldDescriptor, text string) (v protoreflect.Value, err error) {
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(text), nil
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(text)), nil
	case protoreflect.BoolKind:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return v, fmt.Errorf("%q: expected true or false", text)
		}
		return protoreflect.ValueOfBool(b), nil
	case protoreflect.EnumKind:
		return parseEnum(f.Enum().Values(), text)
	}
	if v, err = parseNumber(f, text); err != nil {
		return v, fmt.Errorf("%q: expected a number of type %s", text, f.Kind())
	}
	return v, nil
}

func parseEnum(values protoreflect.EnumValueDescriptors, text string) (v protoreflect.Value, err error) {
	e := values.ByName(protoreflect.Name(text))
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		e = values.ByNumber(protoreflect.EnumNumber(n))
	}
	if e != nil {
		return protoreflect.ValueOfEnum(e.Number()), nil
	}
	var names []string
	for i := range values.Len() {
		names = append(names, string(values.Get(i).Name()))
	}
	return v, fmt.Errorf("%q: expected one of %s%s", text, strings.Join(names, ", "), didYouMean(text, names))
}

func parseNumber(f protoreflect.FieldDescriptor, text string) (v protoreflect.Value, err error) {
	switch f.Kind() {
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		n, err := strconv.ParseUint(text, 10, 32)
		return protoreflect.ValueOfUint32(uint32(n)), err
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		n, err := strconv.ParseUint(text, 10, 64)
		return protoreflect.ValueOfUint64(n), err
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		n, err := strconv.ParseInt(text, 10, 64)
		return protoreflect.ValueOfInt64(n), err
	case protoreflect.FloatKind:
		n, err := strconv.ParseFloat(text, 32)
		return protoreflect.ValueOfFloat32(float32(n)), err
	case protoreflect.DoubleKind:
		n, err := strconv.ParseFloat(text, 64)
		return protoreflect.ValueOfFloat64(n), err
	}
	n, err := strconv.ParseInt(text, 10, 32)
	return protoreflect.ValueOfInt32(int32(n)), err
}

// didYouMean suggests a known word.
func didYouMean(word string, known []string) string {
	if best := suggest.Nearest(word, known); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}
