package l3plugin_test

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	configured = kvscheduler.ValueState_CONFIGURED
	pending    = kvscheduler.ValueState_PENDING
	failed     = kvscheduler.ValueState_FAILED
)

// pair are two connected interfaces, x in the agent's namespace and y in
// another one.
func pair() []proto.Message {
	end := func(name, peer string, addrs ...string) *interfaces.Interface {
		return &interfaces.Interface{
			Name: name, Type: interfaces.Interface_VETH, Enabled: true, IpAddresses: addrs,
			Link: &interfaces.Interface_Veth{Veth: &interfaces.VethLink{PeerIfName: peer}},
		}
	}
	x, y := end("x", "y", "10.1.0.1/24", "fd00:1::1/64"), end("y", "x", "10.1.0.2/24", "fd00:1::2/64")
	y.Namespace = &namespace.NetNamespace{Type: namespace.NetNamespace_NSID, Reference: "left"}
	return []proto.Message{x, y}
}

func routes() []proto.Message {
	return []proto.Message{
		&l3.Route{OutgoingInterface: "x", DstNetwork: "10.2.0.0/16", GwAddr: "10.1.0.2", Scope: l3.Route_GLOBAL, Metric: 5},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "fd00:2::/64", GwAddr: "fd00:1::2"},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "10.3.0.0/16", Scope: l3.Route_LINK},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "10.4.0.0/16", GwAddr: "10.3.0.9", Scope: l3.Route_GLOBAL},
		&l3.Route{OutgoingInterface: "y", DstNetwork: "0.0.0.0/0", GwAddr: "10.1.0.1", Scope: l3.Route_GLOBAL},
		&l3.ARPEntry{Interface: "x", IpAddress: "10.1.0.77", HwAddress: "02:00:00:00:00:AA"},
		&l3.ARPEntry{Interface: "y", IpAddress: "fd00:1::77", HwAddress: "02:00:00:00:00:bb"},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func unchanged(t *testing.T, a *linuxtest.Agent, values ...proto.Message) {
	t.Helper()
	must(t, a.Resync(values...))
	if ops := a.Executed(); len(ops) != 0 {
		t.Errorf("a resync without changes did %v", ops)
	}
}

// hasRoute reports whether there is a route of the agent.
func hasRoute(t *testing.T, h netlinkapi.Handle, dst, gw string) bool {
	t.Helper()
	all, err := h.Routes(t.Context())
	must(t, err)
	return slices.ContainsFunc(all, func(r netlinkapi.Route) bool {
		return r.Dst == netip.MustParsePrefix(dst) && r.Protocol == netlinkapi.ProtocolAgent &&
			(gw == "" && !r.Gateway.IsValid() || gw != "" && r.Gateway == netip.MustParseAddr(gw))
	})
}

func hasNeighbour(t *testing.T, h netlinkapi.Handle, ip, mac string) bool {
	t.Helper()
	all, err := h.Neighbours(t.Context())
	must(t, err)
	return slices.ContainsFunc(all, func(n netlinkapi.Neighbour) bool {
		return n.IP == netip.MustParseAddr(ip) && n.MAC.String() == mac && n.Permanent
	})
}

// Routes and neighbours given before their interfaces wait; with them they come
// up, survive a restart, change and go.
func TestRoutesAndNeighbours(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		must(t, a.Apply(routes()...))
		a.Expect(pending, routes()...)
		must(t, a.Apply(pair()...))
		a.Expect(configured, routes()...)
		own, left := w.Open(t, ""), w.Open(t, "left")
		if !hasRoute(t, own, "10.2.0.0/16", "10.1.0.2") || !hasRoute(t, own, "fd00:2::/64", "fd00:1::2") ||
			!hasRoute(t, own, "10.3.0.0/16", "") || !hasRoute(t, own, "10.4.0.0/16", "10.3.0.9") || !hasRoute(t, left, "0.0.0.0/0", "10.1.0.1") {
			t.Errorf("not all routes are there")
		}
		if !hasNeighbour(t, own, "10.1.0.77", "02:00:00:00:00:aa") || !hasNeighbour(t, left, "fd00:1::77", "02:00:00:00:00:bb") {
			t.Error("not all neighbours are there")
		}
		everything := append(pair(), routes()...)
		unchanged(t, a, everything...)
		a.Stop()

		a = linuxtest.Start(t, w)
		unchanged(t, a, everything...)
		must(t, a.Apply(
			&l3.Route{OutgoingInterface: "x", DstNetwork: "10.2.0.0/16", GwAddr: "10.1.0.3", Scope: l3.Route_GLOBAL, Metric: 6},
			&l3.Route{OutgoingInterface: "y", DstNetwork: "0.0.0.0/0", GwAddr: "10.1.0.9", Scope: l3.Route_GLOBAL},
			&l3.ARPEntry{Interface: "x", IpAddress: "10.1.0.77", HwAddress: "02:00:00:00:00:cc"}))
		if !hasRoute(t, own, "10.2.0.0/16", "10.1.0.3") || hasRoute(t, own, "10.2.0.0/16", "10.1.0.2") ||
			!hasRoute(t, left, "0.0.0.0/0", "10.1.0.9") || !hasNeighbour(t, own, "10.1.0.77", "02:00:00:00:00:cc") {
			t.Error("the changes are not there")
		}
		must(t, a.Delete(routes()...))
		if hasRoute(t, own, "10.2.0.0/16", "10.1.0.3") || hasRoute(t, own, "10.3.0.0/16", "") || hasNeighbour(t, own, "10.1.0.77", "02:00:00:00:00:cc") {
			t.Error("something is left")
		}
		must(t, a.Delete(pair()...))
	})
}

// A gateway becomes reachable by an address or by a link-local route, and
// unreachable without.
func TestGatewayReachable(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		must(t, a.Apply(pair()...))
		far := &l3.Route{OutgoingInterface: "x", DstNetwork: "10.9.0.0/16", GwAddr: "10.8.0.1", Scope: l3.Route_GLOBAL}
		must(t, a.Apply(far))
		a.Expect(pending, far)
		link := &l3.Route{OutgoingInterface: "x", DstNetwork: "10.8.0.1/32", Scope: l3.Route_LINK}
		must(t, a.Apply(link))
		a.Expect(configured, far, link)
		must(t, a.Delete(link))
		a.Expect(pending, far)
		if hasRoute(t, w.Open(t, ""), "10.9.0.0/16", "10.8.0.1") {
			t.Error("the route is still there")
		}
		x := pair()[0].(*interfaces.Interface)
		x.IpAddresses = append(x.IpAddresses, "10.8.0.7/24")
		must(t, a.Apply(x))
		a.Expect(configured, far)
	})
}

// Routes and neighbours of others on our interfaces are left alone, except a
// route that is exactly the desired one.
func TestForeignRoutes(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		must(t, a.Apply(pair()...))
		own := w.Open(t, "")
		i := nltest.MustLink(t, own, "x").Index
		foreign := func(dst string) netlinkapi.Route {
			return netlinkapi.Route{Link: i, Dst: netip.MustParsePrefix(dst), Gateway: netip.MustParseAddr("10.1.0.2"),
				Protocol: netlinkapi.ProtocolStatic, Table: netlinkapi.MainTable}
		}
		must(t, own.AddRoute(t.Context(), foreign("10.5.0.0/16")))
		must(t, own.AddRoute(t.Context(), foreign("10.6.0.0/16")))
		mac, _ := net.ParseMAC("02:00:00:00:00:dd")
		must(t, own.SetNeighbour(t.Context(), netlinkapi.Neighbour{Link: i, IP: netip.MustParseAddr("10.1.0.66"), MAC: mac}))
		wanted := &l3.Route{OutgoingInterface: "x", DstNetwork: "10.5.0.0/16", GwAddr: "10.1.0.2", Scope: l3.Route_GLOBAL}
		must(t, a.Resync(append(pair(), wanted)...))
		a.Expect(configured, wanted)
		must(t, a.Resync(pair()...))
		all, err := own.Routes(t.Context())
		must(t, err)
		if !slices.ContainsFunc(all, foreign("10.6.0.0/16").Equal) {
			t.Errorf("the route of another process is not among %+v", all)
		}
		if slices.ContainsFunc(all, func(r netlinkapi.Route) bool { return r.Dst == netip.MustParsePrefix("10.5.0.0/16") }) {
			t.Error("the route that was taken over was not deleted")
		}
		if !hasNeighbour(t, own, "10.1.0.66", mac.String()) {
			t.Error("the neighbour of another process is gone")
		}
	})
}

func TestValidate(t *testing.T) {
	t.Parallel()
	deps := descriptor.Deps{Log: logging.Nop()}
	route, arp := descriptor.NewRoute(deps), descriptor.NewARP(deps)
	check := func(json string, v proto.Message, validate func(string, proto.Message) error, want string) {
		t.Helper()
		if err := protojson.Unmarshal([]byte(json), v); err != nil {
			t.Fatal(err)
		}
		err := validate("", v)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error is %v, expected %q", json, err, want)
		}
	}
	for json, want := range map[string]string{
		`{"outgoingInterface":"x","dstNetwork":"10.0.0.0/8","scope":"LINK"}`:                                   "",
		`{"outgoingInterface":"x","dstNetwork":"fd00::/64","gwAddr":"fe80::1"}`:                                "",
		`{"outgoingInterface":"x","dstNetwork":"0.0.0.0/0","scope":"GLOBAL","gwAddr":"0.0.0.0"}`:               "",
		`{"outgoingInterface":"x","dstNetwork":"10.0.0.0/8","scope":"LINK","table":7,"sourceAddr":"10.0.0.1"}`: "",
		`{"outgoingInterface":"x","dstNetwork":"10.0.0.0/8","scope":"LINK","table":254}`:                       "table: 254 is the main table",
		`{"outgoingInterface":"x","dstNetwork":"10.0.0.0/8","scope":"LINK","onLink":true}`:                     "on_link: not allowed without",
		`{"outgoingInterface":"x","dstNetwork":"10.0.0.0/8","scope":"LINK","sourceAddr":"x"}`:                  "source_addr",
		`{"outgoingInterface":"x","dstNetwork":"10.0.0.0/8","scope":"LINK","sourceAddr":"fd00::1"}`:            "source_addr",
		`{"dstNetwork":"10.0.0.0/8","scope":"LINK"}`:                                                           "outgoing_interface",
		`{"outgoingInterface":"x","dstNetwork":"10.0.0.0/8"}`:                                                  "scope: missing",
		`{"outgoingInterface":"x","dstNetwork":"10.0.0.0/8","scope":9}`:                                        "scope: 9",
		`{"outgoingInterface":"x","dstNetwork":"10.0.0.1/8","scope":"LINK"}`:                                   "",
		`{"outgoingInterface":"x","dstNetwork":"10.0.0.0","scope":"LINK"}`:                                     "",
		`{"outgoingInterface":"x","dstNetwork":"10.0.0.0/33","scope":"LINK"}`:                                  "dst_network",
		`{"outgoingInterface":"x","dstNetwork":"alloc:n","scope":"LINK"}`:                                      "allocates no addresses",
		`{"outgoingInterface":"x","dstNetwork":"10.0.0.0/8","scope":"LINK","gwAddr":"10.0.0.1"}`:               "not allowed with scope LINK",
		`{"outgoingInterface":"x","dstNetwork":"10.0.0.0/8","scope":"GLOBAL","gwAddr":"fd00::1"}`:              "",
		`{"outgoingInterface":"x","dstNetwork":"10.0.0.0/8","scope":"GLOBAL","gwAddr":"fe80::1%x"}`:            "gw_addr",
		`{"outgoingInterface":"x","dstNetwork":"10.0.0.0/8","scope":"LINK","gwAddr":"fe80::1"}`:                "not allowed with scope LINK",
		`{"outgoingInterface":"x","dstNetwork":"fd00:2::/64","gwAddr":"10.0.0.1"}`:                             "gw_addr: \"10.0.0.1\"; expected an IPv6 address",
		`{"outgoingInterface":"x","dstNetwork":"10.0.0.0/8","scope":"GLOBAL","gwAddr":"10.0.0.1/8"}`:           "",
		`{"outgoingInterface":"x","dstNetwork":"10.0.0.0/8","scope":"GLOBAL","gwAddr":"10.0.0.1/33"}`:          "gw_addr",
	} {
		check(json, &l3.Route{}, route.Validate, want)
	}
	for json, want := range map[string]string{
		`{"interface":"x","ipAddress":"10.0.0.1","hwAddress":"02:00:00:00:00:01"}`:    "",
		`{"ipAddress":"10.0.0.1","hwAddress":"02:00:00:00:00:01"}`:                    "interface",
		`{"interface":"x","ipAddress":"10.0.0","hwAddress":"02:00:00:00:00:01"}`:      "ip_address",
		`{"interface":"x","ipAddress":"10.0.0.1/24","hwAddress":"02:00:00:00:00:01"}`: "",
		`{"interface":"x","ipAddress":"10.0.0.1","hwAddress":"02"}`:                   "hw_address",
	} {
		check(json, &l3.ARPEntry{}, arp.Validate, want)
	}
}

func TestEquivalent(t *testing.T) {
	t.Parallel()
	d := descriptor.NewRoute(descriptor.Deps{Log: logging.Nop()})
	for _, c := range []struct {
		a, b  *l3.Route
		equal bool
	}{
		{&l3.Route{DstNetwork: "10.0.0.0/8", GwAddr: ""}, &l3.Route{DstNetwork: "10.0.0.0/8", GwAddr: "0.0.0.0"}, true},
		{&l3.Route{DstNetwork: "10.0.0.0/8", Scope: l3.Route_LINK}, &l3.Route{DstNetwork: "10.0.0.0/8", Scope: l3.Route_HOST}, false},
		{&l3.Route{DstNetwork: "fd00::/64", Scope: l3.Route_LINK}, &l3.Route{DstNetwork: "fd00:0::/64", Metric: 1024}, true},
		{&l3.Route{DstNetwork: "10.0.0.0/8"}, &l3.Route{DstNetwork: "10.0.0.0/8", Metric: 1024}, false},
		{&l3.Route{DstNetwork: "10.0.0.0/8"}, &l3.Route{DstNetwork: "10.0.0.0/9"}, false},
	} {
		if got := d.ValueComparator("", c.a, c.b); got != c.equal {
			t.Errorf("%v, %v: equivalent %t, expected %t", c.a, c.b, got, c.equal)
		}
	}
}
