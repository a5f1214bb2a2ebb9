package l3plugin_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// allConfigured reports whether all values are CONFIGURED.
func allConfigured(t *testing.T, a *linuxtest.Agent, values ...proto.Message) bool {
	t.Helper()
	return !slices.ContainsFunc(values, func(v proto.Message) bool {
		return a.State(linuxtest.Key(t, v)).GetState() != configured
	})
}

// A named namespace that another process deletes is made again, with the links,
// addresses, routes and neighbours that were in it.
func TestNamedNamespaceVanishes(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		everything := append(pair(), routes()...)
		must(t, a.Apply(everything...))
		for range 3 {
			before := macOf(t.Context(), w, "left", "y")
			w.Remove(t, "left")
			a.Quiet("everything is configured again, with another link", func() bool {
				now := macOf(t.Context(), w, "left", "y")
				return now != "" && now != before && allConfigured(t, a, everything...) && all(t, w.Open(t, ""), w.Open(t, "left"))
			})
		}
		unchanged(t, a, everything...)
	})
}

// macOf returns the MAC address of a link; without the link it is empty.
func macOf(ctx context.Context, w *nltest.World, namespace, name string) string {
	h, err := w.Namespaces.Open(w.Path(namespace), netlinkapi.Gate{})
	if err != nil {
		return ""
	}
	defer h.Close()
	link, err := h.LinkByName(ctx, name)
	if err != nil {
		return ""
	}
	return link.MAC.String()
}

// A namespace that is named by a file belongs to another process, so the agent does not
// make it. While it does not exist the values in it say so; they return with it.
func TestForeignNamespaceVanishes(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		must(t, w.Create(w.Path("left")))
		a := linuxtest.Start(t, w)
		ends := pair()
		y := ends[1].(*interfaces.Interface)
		y.Namespace = &namespace.NetNamespace{Type: namespace.NetNamespace_FD, Reference: w.Path("left")}
		everything := append(ends, routes()...)
		must(t, a.Apply(everything...))
		a.Quiet("the namespace is followed", func() bool { return len(a.Interfaces.States().List()) == 2 })

		w.Remove(t, "left")
		a.Quiet("the interface says that its namespace does not exist", func() bool {
			state := a.State(linuxtest.Key(t, y))
			return state.GetState() == kvscheduler.ValueState_RETRYING &&
				strings.Contains(state.GetError(), netlinkapi.ErrNamespaceGone.Error()) && strings.Contains(state.GetError(), w.Path("left"))
		})
		a.Expect(pending, routes()[4], routes()[6])
		must(t, w.Create(w.Path("left")))
		a.Quiet("everything is configured again", func() bool { return allConfigured(t, a, everything...) })
		if !all(t, w.Open(t, ""), w.Open(t, "left")) {
			t.Error("not everything exists again")
		}
		unchanged(t, a, everything...)
	})
}
