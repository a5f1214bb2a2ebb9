package l3plugin_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
)

// TestRenames: what is one object of the kernel gets another key, in one transaction and without a
// failure, while others use it.
func TestRenames(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		must(t, a.Apply(pair()...))
		named := func(name, dst, ip string) []proto.Message {
			return []proto.Message{
				&l3.Nexthop{Name: name, Id: 1, OutgoingInterface: "x", GwAddr: "10.1.0.2"},
				&l3.Route{OutgoingInterface: "x", DstNetwork: "10.2.0.0/16", Nexthop: name, Scope: l3.Route_GLOBAL},
				&l3.Rule{Name: name, Priority: 100, SrcNetwork: "10.2.0.0/16", Table: 77},
				&l3.Route{OutgoingInterface: "x", DstNetwork: dst, Scope: l3.Route_LINK},
				&l3.ARPEntry{Interface: "x", IpAddress: ip, HwAddress: "02:00:00:00:00:aa"},
			}
		}
		before := named("m", "10.10.0.1/32", "FD00:1:0::77")
		must(t, a.Apply(before...))
		own := w.Open(t, "")
		for i, name := range []string{"a", "z", "b", "y"} { // before the old one by key, and after
			dst, ip := "10.10.0.1", "fd00:1::77"
			if i%2 == 1 {
				dst, ip = "10.10.0.1/32", "FD00:1:0::77"
			}
			after := named(name, dst, ip)
			txn := a.StartNBTransaction()
			for _, v := range before {
				txn.SetValue(linuxtest.Key(t, v), nil)
			}
			for _, v := range after {
				txn.SetValue(linuxtest.Key(t, v), v)
			}
			if _, err := txn.Commit(t.Context(), api.WithRevert()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			a.Expect(configured, after...)
			expectHop(t, own, 1, "10.1.0.2")
			expectRoutesThrough(t, own, map[string]uint32{"10.2.0.0/16": 1, "10.10.0.1/32": 0})
			if !hasNeighbour(t, own, "fd00:1::77", "02:00:00:00:00:aa") {
				t.Error("the neighbour is gone")
			}
			unchanged(t, a, append(pair(), after...)...)
			before = after
		}
	})
}
