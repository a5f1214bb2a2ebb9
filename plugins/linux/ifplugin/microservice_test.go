package ifplugin_test

import (
	"strconv"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// intoContainer is a pair of interfaces, one of them in a container.
func intoContainer(label string) (outside, inside *interfaces.Interface) {
	outside, inside = veth("out", "in", "", "10.1.0.1/24"), veth("in", "out", "", "10.1.0.2/24")
	inside.Namespace = &namespace.NetNamespace{Type: namespace.NetNamespace_MICROSERVICE, Reference: label}
	return outside, inside
}

// open opens the namespace of a process.
func open(t *testing.T, w *nltest.World, pid int) netlinkapi.Handle {
	t.Helper()
	h, err := w.Namespaces.Open("/proc/"+strconv.Itoa(pid)+"/ns/net", netlinkapi.Gate{})
	must(t, err)
	return h
}

// The interfaces in a container wait for it, and are created again when it restarts; a
// restart of the agent changes nothing.
func TestMicroservice(t *testing.T) {
	w := nltest.Kernel(t)
	engine := linuxtest.NewEngine(t)
	engine.Listen()
	a := linuxtest.StartWithEngine(t, w, engine)
	outside, inside := intoContainer("web")
	must(t, a.Apply(outside, inside))
	a.Expect(pending, outside, inside)

	id := ""
	for range 3 { // started three times, with another process each time
		var pid int
		id, pid = engine.Run("web")
		a.Quiet("the interfaces are configured", func() bool {
			return a.State(linuxtest.Key(t, inside)).GetState() == configured && a.State(linuxtest.Key(t, outside)).GetState() == configured
		})
		h := open(t, w, pid)
		expectLink(t, h, inside.GetHostIfName())
		must(t, h.Close())
		a.Stop()

		a = linuxtest.StartWithEngine(t, w, engine)
		unchanged(t, a, outside, inside)
		engine.Stop(id)
		a.Quiet("the interfaces wait", func() bool {
			return a.State(linuxtest.Key(t, inside)).GetState() == pending && a.State(linuxtest.Key(t, outside)).GetState() == pending
		})
	}
}
