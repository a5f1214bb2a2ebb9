package engine

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Fields of messages in a value are tried one by one, and a callback that cannot handle a
// change alone names no field.
func TestForcingFields(t *testing.T) {
	t.Parallel()
	memif := func(id uint32, socket string, mtu uint32) *interfaces.Interface {
		return &interfaces.Interface{Name: "m", Mtu: mtu, Link: &interfaces.Interface_Memif{Memif: &interfaces.MemifLink{Id: id, SocketFilename: socket}}}
	}
	tap := &interfaces.Interface{Name: "m", Link: &interfaces.Interface_Tap{Tap: &interfaces.TapLink{Version: 2}}}
	byID := func(_ string, from, to proto.Message, _ api.Metadata) bool {
		was, is := from.(*interfaces.Interface), to.(*interfaces.Interface)
		return was.GetMemif().GetId() != is.GetMemif().GetId()
	}
	for _, c := range []struct {
		name     string
		from, to proto.Message
		recreate func(string, proto.Message, proto.Message, api.Metadata) bool
		want     string
	}{
		{"one of three", memif(1, "a", 1500), memif(2, "b", 9000), byID, "[memif.id]"},
		{"none", memif(1, "a", 1500), memif(1, "b", 9000), byID, "[]"},
		{"the whole of a message", memif(1, "a", 1500), tap, byID, "[memif tap]"},
		{"a panic", memif(1, "a", 1500), memif(2, "a", 1500), func(string, proto.Message, proto.Message, api.Metadata) bool { panic("no") }, "[]"},
		{"nothing before", nil, memif(2, "a", 1500), byID, "[]"},
	} {
		reg, err := registry.New(nil).With([]*api.KVDescriptor{{
			Name: "memif", KeySelector: func(string) bool { return true }, UpdateWithRecreate: c.recreate,
			Create: func(string, proto.Message) (api.Metadata, error) { return nil, nil },
			Update: func(string, proto.Message, proto.Message, api.Metadata) (api.Metadata, error) { return nil, nil },
			Delete: func(string, proto.Message, api.Metadata) error { return nil },
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(forcingFields(reg.ByName("memif"), "k", c.from, c.to, nil)); got != c.want {
			t.Errorf("%s: %s, expected %s", c.name, got, c.want)
		}
	}
}
