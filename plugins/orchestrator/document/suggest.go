package document

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/suggest"
)

// SimilarField returns the path of the field of a message that an unknown name probably means:
// the most similar field, or else one level down the one with that name ("interfaces.order");
// empty if there is none.
func SimilarField(md protoreflect.MessageDescriptor, name string) string {
	var names []string
	for i := range md.Fields().Len() {
		names = append(names, md.Fields().Get(i).JSONName())
	}
	if near := suggest.Nearest(name, names); near != "" {
		return near
	}
	for i := range md.Fields().Len() {
		outer := md.Fields().Get(i)
		if outer.Message() == nil || outer.IsMap() {
			continue
		}
		inner := outer.Message().Fields()
		for _, f := range []protoreflect.FieldDescriptor{inner.ByJSONName(name), inner.ByTextName(name)} {
			if f != nil {
				return outer.JSONName() + "." + f.JSONName()
			}
		}
	}
	return ""
}

// suggestion names the known word that is most similar to the given one, if any is.
func suggestion(word string, known []string) string {
	if best := suggest.Nearest(word, known); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}
