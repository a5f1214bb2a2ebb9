package item

import (
	"strings"

	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Foreign collects the foreign parts that one reading finds; see kvs.ForeignKey. The zero value has
// none.
type Foreign[V proto.Message, M any] struct {
	// All are the parts.
	All []kvs.KV[V, M]
	has map[string]bool
}

// Add adds a part of the object with a key: v is what the model can say of it, text what it cannot.
func (f *Foreign[V, M]) Add(object string, v V, text string) {
	key := kvs.ForeignKey(object, partName(text))
	if f.has == nil {
		f.has = map[string]bool{}
	}
	if f.has[key] {
		return
	}
	f.has[key] = true
	kvs.AddUnmodeled(v, text)
	f.All = append(f.All, kvs.KV[V, M]{Key: key, Value: v, Origin: kvs.UnknownOrigin})
}

// partName is the name of a part in its key.
func partName(text string) string {
	name, _, _ := strings.Cut(text, ",")
	return name
}
