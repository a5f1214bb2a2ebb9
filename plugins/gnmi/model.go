package gnmi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
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

// nameFields returns the fields that make the name of an item.
func nameFields(m models.Known) []protoreflect.FieldDescriptor {
	if m.Name() == nil {
		return nil
	}
	fields := m.Name().Fields()
	slices.SortFunc(fields, func(a, b protoreflect.FieldDescriptor) int { return a.Index() - b.Index() })
	return fields
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

// labelKey is the key of items whose names only a function knows.
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
