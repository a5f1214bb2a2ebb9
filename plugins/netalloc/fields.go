package netalloc

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	"github.com/tenuto-dev/tenuto/proto/ligato"
)

// addressField is a field of a message for addresses, or for messages that have such fields.
type addressField struct {
	protoreflect.FieldDescriptor
	mask, ipv4, ipv6 bool
	within           []addressField
}

// addressFields returns those of a type of messages, without the fields with some names.
func addressFields(d protoreflect.MessageDescriptor, without []string) (all []addressField) {
	for i := range d.Fields().Len() {
		f := addressField{FieldDescriptor: d.Fields().Get(i)}
		opts, _ := proto.GetExtension(f.Options(), ligato.E_LigatoOptions).(*ligato.LigatoOptions)
		switch t := opts.GetType(); {
		case slices.Contains(without, string(f.Name())) || f.IsMap():
		case f.Kind() == protoreflect.StringKind && t != ligato.LigatoOptions_UNSPECIFIED:
			f.mask, f.ipv4, f.ipv6 = strings.HasSuffix(t.String(), "_WITH_MASK"), strings.HasPrefix(t.String(), "IPV4"), strings.HasPrefix(t.String(), "IPV6")
			all = append(all, f)
		case f.Message() != nil && f.Message() != d:
			if f.within = addressFields(f.Message(), nil); len(f.within) > 0 {
				all = append(all, f)
			}
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
func (f *addressField) likeThis(addr string) string {
	switch {
	case !f.mask:
		return addr
	case strings.Contains(addr, ":"):
		return addr + "/128"
	}
	return addr + "/32"
}

// refers reports whether a message has references.
func refers(m protoreflect.Message, fields []addressField) bool {
	for i := range fields {
		f := &fields[i]
		if !m.Has(f.FieldDescriptor) {
			continue
		}
		v := m.Get(f.FieldDescriptor)
		if !f.IsList() {
			if f.refers(v) {
				return true
			}
			continue
		}
		for n := range v.List().Len() {
			if f.refers(v.List().Get(n)) {
				return true
			}
		}
	}
	return false
}

func (f *addressField) refers(v protoreflect.Value) bool {
	if f.within != nil {
		return refers(v.Message(), f.within)
	}
	return model.IsRef(v.String())
}

// eachReference replaces the references in a message by what replace returns. path names the
// field.
func eachReference(m proto.Message, fields []addressField, replace func(path string, f *addressField, text string) string) {
	replaceIn(m.ProtoReflect(), fields, "", replace)
}

func replaceIn(m protoreflect.Message, fields []addressField, prefix string, replace func(path string, f *addressField, text string) string) {
	for i := range fields {
		f := &fields[i]
		if !m.Has(f.FieldDescriptor) {
			continue
		}
		path, v := prefix+string(f.Name()), m.Get(f.FieldDescriptor)
		if !f.IsList() {
			if f.within != nil {
				replaceIn(v.Message(), f.within, path+".", replace)
			} else if text := v.String(); model.IsRef(text) {
				set(replace(path, f, text), text, func(v protoreflect.Value) { m.Set(f.FieldDescriptor, v) })
			}
			continue
		}
		for n, list := 0, v.List(); n < list.Len(); n++ {
			at := fmt.Sprintf("%s[%d]", path, n)
			if f.within != nil {
				replaceIn(list.Get(n).Message(), f.within, at+".", replace)
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
