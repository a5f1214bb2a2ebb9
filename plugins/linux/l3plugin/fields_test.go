package l3plugin_test

import (
	"net/netip"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
)

// TestRouteFields: routes to one destination in several tables are values of their own; with
// a source and a gateway on the link they are changed in place, found again by the next agent,
// and created again when another process deletes them.
func TestRouteFields(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		own := w.Open(t, "")
		plain := &l3.Route{OutgoingInterface: "x", DstNetwork: "10.2.0.0/16", GwAddr: "10.1.0.2", Scope: l3.Route_GLOBAL}
		other := &l3.Route{OutgoingInterface: "x", DstNetwork: "10.2.0.0/16", GwAddr: "10.9.0.1", Scope: l3.Route_GLOBAL,
			Table: 77, SourceAddr: "10.1.0.5", OnLink: true}
		six := &l3.Route{OutgoingInterface: "x", DstNetwork: "fd00:2::/64", GwAddr: "fd00:9::1", Table: 77, OnLink: true}
		must(t, a.Apply(append(pair(), plain, other, six)...))
		a.Expect(configured, plain, six)
		a.Expect(pending, other)

		x := proto.CloneOf(pair()[0].(*interfaces.Interface))
		x.IpAddresses = append(x.IpAddresses, "10.1.0.5/32")
		all := []proto.Message{x, pair()[1], plain, other, six}
		must(t, a.Apply(x))
		a.Expect(configured, other)
		expect := func(gw, source string, table uint32, there bool) {
			t.Helper()
			want := netlinkapi.Route{
				Link: nltest.MustLink(t, own, "x").Index, Table: table, Dst: netip.MustParsePrefix("10.2.0.0/16"),
				Gateway: netip.MustParseAddr(gw), Protocol: netlinkapi.ProtocolAgent, OnLink: table == 77,
			}
			if source != "" {
				want.Source = netip.MustParseAddr(source)
			}
			routes, err := own.Routes(t.Context())
			must(t, err)
			if slices.ContainsFunc(routes, want.Equal) != there {
				t.Errorf("%+v: expected %t among %+v", want, there, routes)
			}
		}
		expect("10.1.0.2", "", netlinkapi.MainTable, true)
		expect("10.9.0.1", "10.1.0.5", 77, true)
		unchanged(t, a, all...)
		a.Stop()
		a = linuxtest.Start(t, w)
		unchanged(t, a, all...)

		changed := proto.CloneOf(other)
		changed.GwAddr, changed.SourceAddr = "10.9.0.2", "10.1.0.1"
		must(t, a.Apply(changed))
		if ops := a.Executed(); !slices.Equal(ops, []string{"UPDATE " + linuxtest.Key(t, changed)}) {
			t.Errorf("operations are %v, expected one update", ops)
		}
		expect("10.9.0.2", "10.1.0.1", 77, true)
		must(t, own.DeleteRoute(t.Context(), netlinkapi.Route{Link: nltest.MustLink(t, own, "x").Index, Table: 77, Dst: netip.MustParsePrefix("10.2.0.0/16")}))
		a.Quiet("the route is there again", func() bool {
			routes, err := own.Routes(t.Context())
			must(t, err)
			return slices.ContainsFunc(routes, func(r netlinkapi.Route) bool { return r.Table == 77 && r.Dst.Addr().Is4() })
		})
		must(t, a.Delete(changed))
		expect("10.9.0.2", "10.1.0.1", 77, false)
		expect("10.1.0.2", "", netlinkapi.MainTable, true)
		unchanged(t, a, x, pair()[1], plain, six)
	})
}
