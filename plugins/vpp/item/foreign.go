package item

import (
	"strings"

	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
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

// Interface returns the name of an interface on which the object with a key is in use. If the interface has
// no tag, it adds the use as a foreign part, with v as in Add.
func (f *Foreign[V, M]) Interface(s *ifaceidx.Snapshot, index uint32, object string, v V) (name string, named bool) {
	name, named = s.Name(index)
	if text, untagged := s.Untagged(index); !named && untagged {
		f.Add(object, v, text)
	}
	return name, named
}

// partName is the name of a part in its key.
func partName(text string) string {
	name, _, _ := strings.Cut(text, ",")
	return name
}
