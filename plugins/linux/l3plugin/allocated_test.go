package l3plugin_test

import (
	"net/netip"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

// What refers to an allocated address waits for it, follows it when it changes, and is found
// again after a restart.
func TestAllocatedAddresses(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		ends := pair()
		ends[0].(*interfaces.Interface).IpAddresses = []string{"alloc:net"}
		items := []proto.Message{
			&l3.Route{OutgoingInterface: "x", DstNetwork: "alloc:far/z", GwAddr: "alloc:net/GW", Scope: l3.Route_GLOBAL},
			&l3.Route{OutgoingInterface: "x", DstNetwork: "10.4.0.0/16", GwAddr: "10.1.0.2", Scope: l3.Route_GLOBAL},
			&l3.ARPEntry{Interface: "x", IpAddress: "alloc:net/y", HwAddress: "02:00:00:00:00:aa"},
		}
		allocations := func(x, gw string) []proto.Message {
			return []proto.Message{
				&netalloc.IPAllocation{NetworkName: "net", InterfaceName: "x", Address: x, Gw: gw},
				&netalloc.IPAllocation{NetworkName: "net", InterfaceName: "y", Address: "10.1.0.2/24"},
				&netalloc.IPAllocation{NetworkName: "far", InterfaceName: "z", Address: "10.2.0.9/16"},
			}
		}
		must(t, a.Apply(append(ends, items...)...))
		a.Expect(configured, ends...)
		a.Expect(pending, items...)
		must(t, a.Apply(allocations("10.1.0.1/24", "10.1.0.2")...))
		a.Expect(configured, items...)
		a.ExpectKey(configured, "linux/interface/x/address/alloc_ref/alloc:net")
		own := w.Open(t, "")
		if !hasRoute(t, own, "10.2.0.0/16", "10.1.0.2") || !hasRoute(t, own, "10.4.0.0/16", "10.1.0.2") || !hasNeighbour(t, own, "10.1.0.2", "02:00:00:00:00:aa") {
			t.Error("not all is there")
		}

		again := allocations("10.1.0.7/24", "10.1.0.3")
		must(t, a.Apply(again...))
		a.Expect(configured, items...)
		if !hasRoute(t, own, "10.2.0.0/16", "10.1.0.3") || hasRoute(t, own, "10.2.0.0/16", "10.1.0.2") {
			t.Error("the route did not follow the gateway")
		}
		if !hasNeighbour(t, own, "10.1.0.2", "02:00:00:00:00:aa") {
			t.Error("the neighbour is gone")
		}
		remove(t, own, "10.2.0.0/16") // as another process does
		must(t, own.DeleteNeighbour(t.Context(), netlinkapi.Neighbour{Link: link(t, own, "x"), IP: netip.MustParseAddr("10.1.0.2")}))
		a.Quiet("the route and the neighbour are there again", func() bool {
			return hasRoute(t, own, "10.2.0.0/16", "10.1.0.3") && hasNeighbour(t, own, "10.1.0.2", "02:00:00:00:00:aa")
		})
		a.Stop()

		a = linuxtest.Start(t, w)
		all := append(append(pair()[1:], ends[0]), append(items, again...)...)
		unchanged(t, a, all...)
		a.Expect(configured, all...)
		must(t, a.Delete(again[0]))
		a.ExpectKey(pending, "linux/interface/x/address/alloc_ref/alloc:net")
	})
}
