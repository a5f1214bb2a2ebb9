package logging

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// ChangedSecrets returns the paths ("nodes[0].password") of secrets that differ between two
// messages of the same type although they look the same after HideSecrets, sorted.
func ChangedSecrets(from, to proto.Message) []string {
	if from == nil || to == nil || from.ProtoReflect().Descriptor() != to.ProtoReflect().Descriptor() {
		return nil
	}
	paths := changedSecrets("", from.ProtoReflect(), to.ProtoReflect())
	slices.Sort(paths)
	return paths
}

func changedSecrets(prefix string, from, to protoreflect.Message) (paths []string) {
	for i := range from.Descriptor().Fields().Len() {
		f := from.Descriptor().Fields().Get(i)
		path := prefix + string(f.Name())
		switch {
		case IsSecret(f):
			if shows := from.Has(f) != to.Has(f) && hidesAsText(f); !shows && !from.Get(f).Equal(to.Get(f)) {
				paths = append(paths, path)
			}
		case f.IsMap():
			if f.MapValue().Message() == nil {
				continue
			}
			from.Get(f).Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				if other := to.Get(f).Map(); other.Has(k) {
					paths = append(paths, changedSecrets(path+"."+k.String()+".", v.Message(), other.Get(k).Message())...)
				}
				return true
			})
		case f.Message() == nil || !from.Has(f) || !to.Has(f):
		case f.IsList():
			a, b := from.Get(f).List(), to.Get(f).List()
			for n := range min(a.Len(), b.Len()) {
				paths = append(paths, changedSecrets(fmt.Sprintf("%s[%d].", path, n), a.Get(n).Message(), b.Get(n).Message())...)
			}
		default:
			paths = append(paths, changedSecrets(path+".", from.Get(f).Message(), to.Get(f).Message())...)
		}
	}
	return paths
}

// hidesAsText reports whether a secret that is set is shown as Hidden; others are left out.
func hidesAsText(f protoreflect.FieldDescriptor) bool {
	return f.Cardinality() != protoreflect.Repeated && (f.Kind() == protoreflect.StringKind || f.Kind() == protoreflect.BytesKind)
}
