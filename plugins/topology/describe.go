package topology

import (
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// describer asks the descriptors for what they declare: the derived values and the dependencies of
// values, whether those exist, wait or are planned.
type describer struct {
	all []*api.KVDescriptor // its own list
}

// of returns the descriptor of a key; nil: none. The last one that was found is tried first, since
// neighbours in a list have the same one.
func (d *describer) of(key string) *api.KVDescriptor {
	for i, desc := range d.all {
		if desc.KeySelector.Selects(key) {
			copy(d.all[1:i+1], d.all[:i])
			d.all[0] = desc
			return desc
		}
	}
	return nil
}

// dependencies returns the dependencies of a value.
func (d *describer) dependencies(key string, message proto.Message) []api.Dependency {
	if desc := d.of(key); desc != nil && desc.Dependencies != nil {
		return desc.Dependencies(key, message)
	}
	return nil
}

// parts returns the derived values of an item.
func (d *describer) parts(v value) (list []derivedPart) {
	desc := d.of(v.key)
	if desc == nil || desc.DerivedValues == nil {
		return nil
	}
	states := map[string]*api.ValueStatus{}
	for _, s := range v.status.GetDerivedValues() {
		states[s.GetKey()] = s
	}
	for _, kv := range desc.DerivedValues(v.key, v.message) {
		if of := d.of(kv.Key); of != nil {
			p := derivedPart{key: kv.Key, desc: of, status: states[kv.Key]}
			if of.Dependencies != nil {
				p.deps = of.Dependencies(kv.Key, kv.Value)
			}
			list = append(list, p)
		}
	}
	return list
}

// farAddresses returns the addresses of far ends in a message, each once.
func farAddresses(msg proto.Message) (list []string) {
	var visit func(m protoreflect.Message)
	visit = func(m protoreflect.Message) {
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case f.IsList() && f.Message() != nil:
				for i := range v.List().Len() {
					visit(v.List().Get(i).Message())
				}
			case f.IsMap():
			case f.Message() != nil && !f.IsList():
				visit(v.Message())
			case farFields[string(f.Name())] && f.Kind() == protoreflect.StringKind && !f.IsList():
				if text := v.String(); text != "" && !slices.Contains(list, text) {
					list = append(list, text)
				}
			}
			return true
		})
	}
	visit(msg.ProtoReflect())
	slices.Sort(list)
	return list
}

func utoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
