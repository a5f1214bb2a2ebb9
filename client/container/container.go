// Package container moves items of the configuration into messages that hold
// many of them, such as configurator.Config, and out of them.
package container

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/models"
)

// Found is an item in a container.
type Found struct {
	Item proto.Message
	Path string // of the field ("vpp_config.interfaces[3]")
}

// Extract returns the items that are anywhere in a message, in the order of its
// fields. A message of a model is an item itself. path is the beginning of the
// paths of the fields; it may be empty.
func Extract(set *models.Set, m proto.Message, path string) []Found {
	if m == nil || !m.ProtoReflect().IsValid() {
		return nil
	}
	if _, ok := set.ForMessage(m); ok {
		return []Found{{m, path}}
	}
	if path != "" {
		path += "."
	}
	var found []Found
	r := m.ProtoReflect()
	fields := r.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		switch {
		case fd.Message() == nil || fd.IsMap() || !r.Has(fd):
		case fd.IsList():
			list := r.Get(fd).List()
			for j := range list.Len() {
				at := fmt.Sprintf("%s%s[%d]", path, fd.Name(), j)
				found = append(found, Extract(set, list.Get(j).Message().Interface(), at)...)
			}
		default:
			found = append(found, Extract(set, r.Get(fd).Message().Interface(), path+string(fd.Name()))...)
		}
	}
	return found
}

// filler copies items into messages.
type filler struct {
	set    *models.Set
	byKey  map[string]proto.Message
	byType map[protoreflect.FullName][]proto.Message
}

// Fill fills every message of dst with items. A message of a model gets the
// item with the same key, or is emptied; any other message gets all items that
// its fields can hold, in their order.
func Fill(set *models.Set, items []proto.Message, dst ...proto.Message) error {
	f := filler{set, map[string]proto.Message{}, map[protoreflect.FullName][]proto.Message{}}
	for _, it := range items {
		if key, err := set.KeyOf(it); err == nil { // others belong into containers only
			f.byKey[key] = it
		}
		name := it.ProtoReflect().Descriptor().FullName()
		f.byType[name] = append(f.byType[name], it)
	}
	for i, m := range dst {
		if m == nil || !m.ProtoReflect().IsValid() {
			return fmt.Errorf("get configuration: destination %d is nil", i)
		}
		if _, known := set.ForMessage(m); known {
			f.item(m)
			continue
		}
		proto.Reset(m)
		f.container(m.ProtoReflect(), map[protoreflect.FullName]bool{})
	}
	return nil
}

// item replaces a message by the item with the same key; if there is none, it
// is emptied.
func (f filler) item(m proto.Message) {
	key, err := f.set.KeyOf(m)
	proto.Reset(m)
	if have := f.byKey[key]; err == nil && have != nil {
		proto.Merge(m, have)
	}
}

// container puts items into the fields of their types, also in messages below.
// within are the types that are being filled, so that recursive ones end.
func (f filler) container(m protoreflect.Message, within map[protoreflect.FullName]bool) (filled bool) {
	name := m.Descriptor().FullName()
	if within[name] {
		return false
	}
	within[name] = true
	defer delete(within, name)
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if fd.Message() == nil || fd.IsMap() {
			continue
		}
		have := f.byType[fd.Message().FullName()]
		switch {
		case len(have) > 0 && fd.IsList():
			list := m.Mutable(fd).List()
			for _, it := range have {
				list.Append(protoreflect.ValueOfMessage(proto.Clone(it).ProtoReflect()))
			}
			filled = true
		case len(have) > 0:
			m.Set(fd, protoreflect.ValueOfMessage(proto.Clone(have[0]).ProtoReflect()))
			filled = true
		case !fd.IsList():
			below := m.NewField(fd)
			if f.container(below.Message(), within) {
				m.Set(fd, below)
				filled = true
			}
		}
	}
	return filled
}
