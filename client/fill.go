package client

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

// filler copies items into messages.
type filler struct {
	set    *models.Set
	byKey  map[string]proto.Message
	byType map[protoreflect.FullName][]proto.Message
}

// fill fills every message of dst, see Client.GetConfig.
func fill(set *models.Set, items []orchestrator.KeyVal, dst []proto.Message) error {
	f := filler{set, map[string]proto.Message{}, map[protoreflect.FullName][]proto.Message{}}
	for _, kv := range items {
		f.byKey[kv.Key] = kv.Val
		name := kv.Val.ProtoReflect().Descriptor().FullName()
		f.byType[name] = append(f.byType[name], kv.Val)
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
