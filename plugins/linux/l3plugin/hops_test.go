package l3plugin_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
)

// routeOf parses a route.
func routeOf(t *testing.T, json string) *l3.Route {
	t.Helper()
	v := &l3.Route{}
	must(t, protojson.Unmarshal([]byte(json), v))
	return v
}

// twoPairs are pair() and the connected interfaces a and b, both in the agent's namespace.
func twoPairs() []proto.Message {
	end := func(name, peer string, addrs ...string) *interfaces.Interface {
		return &interfaces.Interface{Name: name, Type: interfaces.Interface_VETH, Enabled: true, IpAddresses: addrs,
			Link: &interfaces.Interface_Veth{Veth: &interfaces.VethLink{PeerIfName: peer}}}
	}
	return append(pair(), end("a", "b", "10.3.0.1/24", "fd00:3::1/64"), end("b", "a"))
}

// to returns the routes of the agent to a destination.
func to(t *testing.T, h netlinkapi.Handle, dst string) (found []netlinkapi.Route) {
	t.Helper()
	all, err := h.Routes(t.Context())
	must(t, err)
	for _, r := range all {
		if r.Dst == netip.MustParsePrefix(dst) && r.Protocol == netlinkapi.ProtocolAgent {
			found = append(found, r)
		}
	}
	return found
}

// TestNextHops: routes with several next hops wait for all of them, are what the value says
// whatever the order of the kernel, are changed in place and created again when another process
// or the kernel removes them.
func TestNextHops(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		own := w.Open(t, "")
		four := routeOf(t, `{"outgoingInterface":"x","dstNetwork":"10.2.0.0/16","gwAddr":"10.1.0.2","scope":"GLOBAL","weight":2,"mtu":1400,"advMss":1300,
			"nextHops":[{"outgoingInterface":"a","gwAddr":"10.3.0.2"},{"outgoingInterface":"a","gwAddr":"10.9.0.1","onLink":true,"weight":256}]}`)
		six := routeOf(t, `{"outgoingInterface":"x","dstNetwork":"fd00:2::/64","gwAddr":"fd00:1::2","table":77,"nextHops":[{"outgoingInterface":"a","gwAddr":"fd00:3::2"}]}`)
		must(t, a.Apply(append(pair(), four, six)...))
		a.Expect(pending, four, six)
		must(t, a.Apply(twoPairs()...))
		a.Expect(configured, four, six)
		all := append(twoPairs(), four, six)
		check := func(dst string, mtu uint32, weights ...uint32) {
			t.Helper()
			found := to(t, own, dst)
			var got []uint32
			if len(found) == 1 {
				for _, h := range found[0].Hops() {
					got = append(got, h.Weight)
				}
			}
			if !slices.Equal(got, weights) || found[0].MTU != mtu {
				t.Errorf("routes are %+v, expected MTU %d and the weights %v", found, mtu, weights)
			}
		}
		check("10.2.0.0/16", 1400, 2, 1, 256)
		check("fd00:2::/64", 0, 1, 1)
		unchanged(t, a, all...)
		a.Stop()
		a = linuxtest.Start(t, w)
		unchanged(t, a, all...)

		reordered := proto.CloneOf(four)
		slices.Reverse(reordered.NextHops)
		reordered.GetNextHops()[1].Weight = 1
		must(t, a.Apply(reordered))
		if ops := a.Executed(); len(ops) != 0 {
			t.Errorf("another order of the same next hops did %v", ops)
		}
		changed := proto.CloneOf(four)
		changed.NextHops, changed.Mtu = changed.NextHops[:1], 0
		must(t, a.Apply(changed))
		if ops := a.Executed(); !slices.Equal(ops, []string{"UPDATE " + linuxtest.Key(t, changed)}) {
			t.Errorf("operations are %v, expected one update", ops)
		}
		check("10.2.0.0/16", 0, 2, 1)
		single := proto.CloneOf(six)
		single.NextHops = nil
		must(t, a.Apply(single))
		check("fd00:2::/64", 0, 0)
		must(t, a.Apply(six))

		remove(t, own, "10.2.0.0/16")
		remove(t, own, "fd00:2::/64")
		a.Quiet("the routes are there again", func() bool { return len(to(t, own, "10.2.0.0/16"))+len(to(t, own, "fd00:2::/64")) == 2 })
		must(t, own.SetUp(t.Context(), link(t, own, "a"), false))
		a.Quiet("the link is up again", func() bool {
			return nltest.MustLink(t, own, "a").Up && a.State(linuxtest.Key(t, six)).GetState() == configured && a.State(linuxtest.Key(t, changed)).GetState() == configured
		})
		check("10.2.0.0/16", 0, 2, 1)
		check("fd00:2::/64", 0, 1, 1)
		must(t, a.Delete(changed, six))
		if left := append(to(t, own, "10.2.0.0/16"), to(t, own, "fd00:2::/64")...); len(left) != 0 {
			t.Errorf("routes remain: %+v", left)
		}
	})
}

// TestHopInOtherNamespace: all next hops are in one namespace.
func TestHopInOtherNamespace(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		v := routeOf(t, `{"outgoingInterface":"x","dstNetwork":"10.2.0.0/16","gwAddr":"10.1.0.2","scope":"GLOBAL","nextHops":[{"outgoingInterface":"y","gwAddr":"10.1.0.1"}]}`)
		if text := linuxtest.ErrorText(a.Apply(append(pair(), v)...)); !strings.Contains(text, `next_hops[0]: interface "y" is in another network namespace`) {
			t.Errorf("error is %q", text)
		}
		a.Expect(failed, v)
		must(t, a.Resync(v))
		a.Expect(pending, v)
	})
}

// A route of an interface that joins a VRF in the same transaction is in the table of that.
func TestRouteOfNewPortOfVRF(t *testing.T) {
	t.Parallel()
	w := nltest.Sim()
	own := w.Open(t, "")
	a := linuxtest.Start(t, w)
	x, vrf := pair()[0].(*interfaces.Interface), &interfaces.Interface{
		Name: "vrf", Type: interfaces.Interface_VRF_DEVICE, Enabled: true, Link: &interfaces.Interface_VrfDev{VrfDev: &interfaces.VrfDevLink{RoutingTable: 10}},
	}
	x.Type, x.Link = interfaces.Interface_DUMMY, nil
	must(t, a.Apply(x))
	x = proto.CloneOf(x)
	x.VrfMasterInterface = "vrf"
	v := routeOf(t, `{"outgoingInterface":"x","dstNetwork":"10.2.0.0/16","scope":"LINK"}`)
	must(t, a.Resync(x, vrf, v))
	if found := to(t, own, "10.2.0.0/16"); len(found) != 1 || found[0].Table != 10 {
		t.Errorf("routes are %+v, expected one in table 10", found)
	}
	unchanged(t, a, x, vrf, v)
}

// TestRoutesThatStay: routes that keep packets here wait for the interface that names the namespace; they are
// found again, changed in place and created again when another process deletes them. The agent deletes its
// routes that no item configures; routes of other programs stay.
func TestRoutesThatStay(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		hole := routeOf(t, `{"outgoingInterface":"lo1","dstNetwork":"10.2.0.0/16","type":"BLACKHOLE"}`)
		six := routeOf(t, `{"outgoingInterface":"lo1","dstNetwork":"fd00:2::/64","type":"UNREACHABLE","table":77}`)
		twin := routeOf(t, `{"outgoingInterface":"y","dstNetwork":"10.2.0.0/16","type":"BLACKHOLE"}`)
		other := routeOf(t, `{"outgoingInterface":"y","dstNetwork":"0.0.0.0/0","type":"PROHIBIT","metric":9}`)
		lo := &interfaces.Interface{Name: "lo1", Type: interfaces.Interface_LOOPBACK, Enabled: true}
		must(t, a.Apply(hole, six, twin, other))
		a.Expect(pending, hole, six, twin, other)
		all := append(pair(), lo, hole, six, twin, other)
		must(t, a.Apply(all...))
		a.Expect(configured, hole, six, twin, other)
		own, left := w.Open(t, ""), w.Open(t, "left")
		foreign := netlinkapi.Route{Dst: netip.MustParsePrefix("10.6.0.0/16"), Type: netlinkapi.RouteBlackhole, Protocol: netlinkapi.ProtocolStatic, Table: netlinkapi.MainTable}
		must(t, own.AddRoute(t.Context(), foreign))
		is := func(h netlinkapi.Handle, dst string, typ netlinkapi.RouteType, table uint32) {
			t.Helper()
			if found := to(t, h, dst); len(found) != 1 || found[0].Type != typ || found[0].Table != table {
				t.Errorf("routes are %+v", found)
			}
		}
		is(own, "10.2.0.0/16", netlinkapi.RouteBlackhole, netlinkapi.MainTable)
		is(own, "fd00:2::/64", netlinkapi.RouteUnreachable, 77)
		is(left, "10.2.0.0/16", netlinkapi.RouteBlackhole, netlinkapi.MainTable)
		is(left, "0.0.0.0/0", netlinkapi.RouteProhibit, netlinkapi.MainTable)
		unchanged(t, a, all...)
		a.Stop()
		a = linuxtest.Start(t, w)
		unchanged(t, a, all...)

		changed := proto.CloneOf(hole)
		changed.Type = l3.Route_PROHIBIT
		must(t, a.Apply(changed))
		if ops := a.Executed(); !slices.Equal(ops, []string{"UPDATE " + linuxtest.Key(t, changed)}) {
			t.Errorf("operations are %v, expected one update", ops)
		}
		is(own, "10.2.0.0/16", netlinkapi.RouteProhibit, netlinkapi.MainTable)
		for _, dst := range []string{"10.2.0.0/16", "fd00:2::/64"} {
			remove(t, own, dst)
			a.Quiet("the route is there again", func() bool { return len(to(t, own, dst)) == 1 })
		}
		remove(t, left, "0.0.0.0/0")
		a.Quiet("the route is there again", func() bool { return len(to(t, left, "0.0.0.0/0")) == 1 })
		must(t, a.Resync(append(pair(), lo)...))
		for _, h := range []netlinkapi.Handle{own, left} {
			for _, dst := range []string{"10.2.0.0/16", "fd00:2::/64", "0.0.0.0/0"} {
				if found := to(t, h, dst); len(found) != 0 {
					t.Errorf("routes remain: %+v", found)
				}
			}
		}
		routes, err := own.Routes(t.Context())
		must(t, err)
		if !slices.ContainsFunc(routes, foreign.Equal) {
			t.Errorf("the route of another program is not among %+v", routes)
		}
	})
}

func TestValidateHops(t *testing.T) {
	t.Parallel()
	d := descriptor.NewRoute(descriptor.Deps{Log: logging.Nop()})
	four, six := `"outgoingInterface":"x","dstNetwork":"10.0.0.0/8","scope":"GLOBAL"`, `"outgoingInterface":"x","dstNetwork":"fd00::/64"`
	for json, want := range map[string]string{
		six + `,"gwAddr":"fd00::1","nextHops":[{"outgoingInterface":"y","gwAddr":"fe80::1","weight":256}]`: "",
		four + `,"nextHops":[{"outgoingInterface":"y"}],"mtu":65520,"advMss":65495`:                        "",
		four + `,"type":"BLACKHOLE"`: "",
		`"outgoingInterface":"x","dstNetwork":"10.0.0.0/8","type":"PROHIBIT","metric":5`: "",
		`"dstNetwork":"10.0.0.0/8","type":"PROHIBIT"`:                                    "outgoing_interface",
		four + `,"type":9`: "type: 9 is not known",
		four + `,"type":"UNREACHABLE","gwAddr":"10.0.0.1"`:                    "gw_addr: not allowed with type UNREACHABLE",
		four + `,"type":"UNREACHABLE","nextHops":[{"outgoingInterface":"y"}]`: "next_hops: not allowed",
		four + `,"type":"UNREACHABLE","mtu":1400`:                             "mtu: not allowed",
		four + `,"weight":2`:      "weight: not allowed without next_hops",
		four + `,"mtu":65521`:     "mtu: 65521",
		four + `,"nextHops":[{}]`: "next_hops[0].outgoing_interface: empty",
		four + `,"nextHops":[{"outgoingInterface":"y"},{"outgoingInterface":"y","weight":257}]`: "next_hops[1].weight: 257",
		four + `,"nextHops":[{"outgoingInterface":"y"},{"outgoingInterface":"y","weight":2}]`:   "next_hops[1]: the same next hop again",
		four + `,"nextHops":[{"outgoingInterface":"y","onLink":true}]`:                          "next_hops[0].on_link: not allowed",
		four + `,"nextHops":[{"outgoingInterface":"y","gwAddr":"alloc:n"}]`:                     "next_hops[0].gw_addr: \"alloc:n\"",
		four + `,"nextHops":[{"outgoingInterface":"y","gwAddr":"fd00::1"}]`:                     "",
		four + `,"nextHops":[{"outgoingInterface":"y","gwAddr":"fe80::1%y"}]`:                   "next_hops[0].gw_addr: \"fe80::1%y\"",
		six + `,"gwAddr":"fd00::1","nextHops":[{"outgoingInterface":"y","gwAddr":"10.0.0.1"}]`:  "next_hops[0].gw_addr: \"10.0.0.1\"; expected an IPv6 address",
		six + `,"nextHops":[{"outgoingInterface":"y","gwAddr":"fe80::1"}]`:                      "gw_addr: empty; expected a gateway",
		six + `,"gwAddr":"fd00::1","nextHops":[{"outgoingInterface":"y"}]`:                      "next_hops[0].gw_addr: empty",
	} {
		err := d.Validate("", routeOf(t, "{"+json+"}"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error is %v, expected %q", json, err, want)
		}
	}
}
