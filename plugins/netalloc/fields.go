package netalloc

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/netalloc/model"
)

// addressFields returns the fields of a type of messages that are for addresses, or for messages with
// such fields, without the fields with some names.
func addressFields(a *models.Annotations, without []string) (all []models.AnnotatedField) {
	for _, f := range a.Fields {
		if f.Addresses && !slices.Contains(without, string(f.Name())) {
			all = append(all, f)
		}
	}
	return all
}

// madeUp is an address that stands for the n-th one that is not known yet. None is the beginning
// of another one.
func madeUp(n int, ipv6 bool) string {
	if ipv6 {
		return fmt.Sprintf("2001:db8::%x", 0x1000+n)
	}
	return fmt.Sprintf("198.18.%d.%d", 100+n/100, 100+n%100)
}

// likeThis returns an address as the field has it.
func likeThis(f *models.AnnotatedField, addr string) string {
	switch {
	case f.Form.Plain:
		return addr
	case strings.Contains(addr, ":"):
		return addr + "/128"
	}
	return addr + "/32"
}

// refers reports whether a message has references.
func refers(m protoreflect.Message, fields []models.AnnotatedField) bool {
	for i := range fields {
		f := &fields[i]
		if !f.Addresses || !m.Has(f.FieldDescriptor) {
			continue
		}
		v := m.Get(f.FieldDescriptor)
		if !f.IsList() {
			if holds(f, v) {
				return true
			}
			continue
		}
		for n := range v.List().Len() {
			if holds(f, v.List().Get(n)) {
				return true
			}
		}
	}
	return false
}

// holds reports whether a value of a field is a reference, or a message with references.
func holds(f *models.AnnotatedField, v protoreflect.Value) bool {
	if f.Within != nil {
		return refers(v.Message(), f.Within.Fields)
	}
	return model.IsRef(v.String())
}

// eachReference replaces the references in a message by what replace returns. path names the
// field.
func eachReference(m proto.Message, fields []models.AnnotatedField, replace func(path string, f *models.AnnotatedField, text string) string) {
	replaceIn(m.ProtoReflect(), fields, "", replace)
}

func replaceIn(m protoreflect.Message, fields []models.AnnotatedField, prefix string, replace func(path string, f *models.AnnotatedField, text string) string) {
	for i := range fields {
		f := &fields[i]
		if !f.Addresses || !m.Has(f.FieldDescriptor) {
			continue
		}
		path, v := prefix+string(f.Name()), m.Get(f.FieldDescriptor)
		if !f.IsList() {
			if f.Within != nil {
				replaceIn(v.Message(), f.Within.Fields, path+".", replace)
			} else if text := v.String(); model.IsRef(text) {
				set(replace(path, f, text), text, func(v protoreflect.Value) { m.Set(f.FieldDescriptor, v) })
			}
			continue
		}
		for n, list := 0, v.List(); n < list.Len(); n++ {
			at := fmt.Sprintf("%s[%d]", path, n)
			if f.Within != nil {
				replaceIn(list.Get(n).Message(), f.Within.Fields, at+".", replace)
			} else if text := list.Get(n).String(); model.IsRef(text) {
				set(replace(at, f, text), text, func(v protoreflect.Value) { list.Set(n, v) })
			}
		}
	}
}

// set sets a text if it is another one: messages that are only looked at are not written to.
func set(text, before string, do func(protoreflect.Value)) {
	if text != before {
		do(protoreflect.ValueOfString(text))
	}
}

// interfaceOf returns the name of the interface that a value is about, if it has a field for
// it: a reference that names no interface means the address of that one.
func interfaceOf(v proto.Message) string {
	m := v.ProtoReflect()
	for _, name := range []protoreflect.Name{"interface", "interface_name", "outgoing_interface"} {
		if f := m.Descriptor().Fields().ByName(name); f != nil && f.Kind() == protoreflect.StringKind && !f.IsList() {
			return m.Get(f).String()
		}
	}
	return ""
}
