package ifplugin

import (
	"iter"
	"maps"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// growing is an index that another interface is added to right after it was read.
type growing struct {
	ifaceidx.Index
	configured map[string]ifaceidx.LinuxIfMetadata
	then       func()
}

func (g *growing) Get(name string) (ifaceidx.LinuxIfMetadata, bool) {
	meta, ok := g.configured[name]
	return meta, ok
}

func (g *growing) All() iter.Seq2[string, ifaceidx.LinuxIfMetadata] {
	now := maps.Clone(g.configured)
	return func(yield func(string, ifaceidx.LinuxIfMetadata) bool) {
		for name, meta := range now {
			if !yield(name, meta) {
				return
			}
		}
		if then := g.then; then != nil {
			g.then = nil
			then()
		}
	}
}

// A look at one namespace keeps the state that a look at another one adds meanwhile.
func TestLooksAtTwoNamespaces(t *testing.T) {
	t.Parallel()
	index := &growing{configured: map[string]ifaceidx.LinuxIfMetadata{}}
	states := newStates(index, time.Now, nil)
	other := &namespace.NetNamespace{Type: namespace.NetNamespace_NSID, Reference: "left"}
	handle := nltest.Sim().Open(t, "")
	index.then = func() {
		index.configured["y"] = ifaceidx.LinuxIfMetadata{Namespace: other, LinuxIfIndex: 1, HostIfName: "lo"}
		states.look(t.Context(), other, handle, []netlinkapi.Link{{Index: 1, Name: "lo", Loopback: true}}, nil)
	}
	states.look(t.Context(), nil, handle, nil, nil)
	if list := states.List(); len(list) != 1 || list[0].GetName() != "y" {
		t.Errorf("states %v, expected the state of y", list)
	}
	delete(index.configured, "y")
	states.look(t.Context(), nil, handle, nil, nil)
	if list := states.List(); len(list) != 0 {
		t.Errorf("states %v of interfaces that are not configured", list)
	}
}
