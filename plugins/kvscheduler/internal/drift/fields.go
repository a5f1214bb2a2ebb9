package drift

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Fields lists the fields in which two messages differ, sorted by the numbers
// of the fields. Messages of different types differ as a whole.
func Fields(believed, found proto.Message) []api.FieldDiff {
	a, b := believed.ProtoReflect(), found.ProtoReflect()
	if a.Descriptor().FullName() != b.Descriptor().FullName() {
		return []api.FieldDiff{{Field: "(type)", Believed: string(a.Descriptor().FullName()), Found: string(b.Descriptor().FullName())}}
	}
	var d differ
	d.message("", a, b)
	was, is := strings.Join(api.Unmodeled(believed), ", "), strings.Join(api.Unmodeled(found), ", ")
	if was != is {
		d.add(api.UnmodeledField, was, is)
	}
	return d.diffs
}

type differ struct{ diffs []api.FieldDiff }

func (d *differ) add(path, believed, found string) {
	d.diffs = append(d.diffs, api.FieldDiff{Field: path, Believed: believed, Found: found})
}

func (d *differ) message(path string, a, b protoreflect.Message) {
	fields := a.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		name := path + string(fd.Name())
		inA, inB := a.Has(fd), b.Has(fd)
		switch {
		case !inA && !inB:
		case fd.IsMap():
			d.maps(name, fd, a.Get(fd).Map(), b.Get(fd).Map())
		case fd.IsList():
			d.list(name, fd, a.Get(fd).List(), b.Get(fd).List())
		case inA && inB:
			d.value(name, fd, a.Get(fd), b.Get(fd))
		case inA:
			d.add(name, text(fd, a.Get(fd)), "")
		default:
			d.add(name, "", text(fd, b.Get(fd)))
		}
	}
}

func (d *differ) value(name string, fd protoreflect.FieldDescriptor, a, b protoreflect.Value) {
	switch {
	case a.Equal(b):
	case fd.Message() != nil:
		d.message(name+".", a.Message(), b.Message())
	default:
		d.add(name, text(fd, a), text(fd, b))
	}
}

func (d *differ) list(name string, fd protoreflect.FieldDescriptor, a, b protoreflect.List) {
	for i := range max(a.Len(), b.Len()) {
		at := fmt.Sprintf("%s[%d]", name, i)
		switch {
		case i >= b.Len():
			d.add(at, text(fd, a.Get(i)), "")
		case i >= a.Len():
			d.add(at, "", text(fd, b.Get(i)))
		default:
			d.value(at, fd, a.Get(i), b.Get(i))
		}
	}
}

func (d *differ) maps(name string, fd protoreflect.FieldDescriptor, a, b protoreflect.Map) {
	var keys []protoreflect.MapKey
	a.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool { keys = append(keys, k); return true })
	b.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		if !a.Has(k) {
			keys = append(keys, k)
		}
		return true
	})
	slices.SortFunc(keys, func(x, y protoreflect.MapKey) int { return strings.Compare(x.String(), y.String()) })
	fd = fd.MapValue()
	for _, k := range keys {
		at := fmt.Sprintf("%s[%s]", name, k.String())
		switch {
		case !b.Has(k):
			d.add(at, text(fd, a.Get(k)), "")
		case !a.Has(k):
			d.add(at, "", text(fd, b.Get(k)))
		default:
			d.value(at, fd, a.Get(k), b.Get(k))
		}
	}
}

// text is a single value as compact JSON; enumerations by name, bytes in hex.
// Secrets are hidden.
func text(fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	if logging.IsSecret(fd) {
		return strconv.Quote(logging.Hidden)
	}
	switch fd.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return messageText(v.Message().Interface())
	case protoreflect.EnumKind:
		if e := fd.Enum().Values().ByNumber(v.Enum()); e != nil {
			return string(e.Name())
		}
		return fmt.Sprint(v.Enum())
	case protoreflect.BytesKind:
		return fmt.Sprintf("%q", fmt.Sprintf("%x", v.Bytes()))
	case protoreflect.StringKind:
		return fmt.Sprintf("%q", v.String())
	}
	return fmt.Sprint(v.Interface())
}

func messageText(m proto.Message) string {
	m, _ = logging.HideSecrets(m)
	data, err := protojson.MarshalOptions{AllowPartial: true, UseProtoNames: true}.Marshal(m)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return string(data)
	}
	return compact.String()
}
