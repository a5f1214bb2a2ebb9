package l3plugin_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// spelled are items that the kernel prints in another form: two spellings of each, with the same key,
// unless the key of the item has its spelling.
func spelled() (first, second []proto.Message) {
	left := &namespace.NetNamespace{Type: namespace.NetNamespace_NSID, Reference: "left"}
	first = []proto.Message{
		&l3.ARPEntry{Interface: "x", IpAddress: "FD00:1:0:0::77", HwAddress: "02-00-00-00-00-AA"},
		&l3.ARPEntry{Interface: "x", IpAddress: "::ffff:10.1.0.77", HwAddress: "0200.0000.00bb"},
		&l3.ARPEntry{Interface: "y", IpAddress: "fe80::77", HwAddress: "02:00:00:00:00:CC"},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "FD00:2:0::/64", GwAddr: "FD00:1:0::2"},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "fd00:3::/64", GwAddr: "FE80::0:1", Metric: 1024, SourceAddr: "FD00:1:0::1"},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "fd00:4::/64", GwAddr: "FD00:99:0::1", OnLink: true},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "fd00:5::/64", GwAddr: "::", Scope: l3.Route_GLOBAL},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "0::/0", GwAddr: "fd00:1::2"},
		&l3.Route{OutgoingInterface: "y", DstNetwork: "::/0", GwAddr: "fd00:1::1", Metric: 7},
		&l3.Route{OutgoingInterface: "y", DstNetwork: "0.0.0.0/0", GwAddr: "::ffff:10.1.0.1", Scope: l3.Route_GLOBAL},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "10.2.0.0/16", GwAddr: "0.0.0.0", Scope: l3.Route_GLOBAL},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "::ffff:10.7.0.0/112", GwAddr: "fd00:1::2"},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "10.8.0.0/16", GwAddr: "FD00:1:0::2", Scope: l3.Route_GLOBAL},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "10.9.1.1/16", GwAddr: "10.1.0.2/24", Scope: l3.Route_GLOBAL},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "10.10.0.1", Scope: l3.Route_LINK},
		&l3.ARPEntry{Interface: "x", IpAddress: "10.1.0.79/24", HwAddress: "02:00:00:00:00:DD"},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "FD00:6::/64", Type: l3.Route_BLACKHOLE},
		&l3.Rule{Name: "r1", Priority: 100, SrcNetwork: "FD00:1:0::/64", DstNetwork: "fd00:2::/48", Table: 77},
		&l3.Rule{Name: "r2", Priority: 101, Ipv6: true, Fwmark: 5, Fwmask: 0xffffffff, Table: 77, Namespace: left},
	}
	second = []proto.Message{
		&l3.ARPEntry{Interface: "x", IpAddress: "FD00:1:0:0::77", HwAddress: "02:00:00:00:00:aa"},
		&l3.ARPEntry{Interface: "x", IpAddress: "::ffff:10.1.0.77", HwAddress: "02:00:00:00:00:BB"},
		&l3.ARPEntry{Interface: "y", IpAddress: "fe80::77", HwAddress: "0200.0000.00cc"},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "fd00:2::/64", GwAddr: "fd00:1::2", Metric: 1024, Scope: l3.Route_SITE},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "fd00:3::/64", GwAddr: "fe80::1", SourceAddr: "fd00:1::1"},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "fd00:4:0::/64", GwAddr: "fd00:99::1", OnLink: true},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "fd00:5::/64", Scope: l3.Route_GLOBAL},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "::/0", GwAddr: "fd00:1::2"},
		&l3.Route{OutgoingInterface: "y", DstNetwork: "0::/0", GwAddr: "FD00:1::1", Metric: 7},
		&l3.Route{OutgoingInterface: "y", DstNetwork: "0.0.0.0/0", GwAddr: "10.1.0.1", Scope: l3.Route_GLOBAL},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "10.2.0.0/16", Scope: l3.Route_GLOBAL},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "0::ffff:a07:0/112", GwAddr: "fd00:1::2"},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "10.8.0.0/16", GwAddr: "fd00:1::2", Scope: l3.Route_GLOBAL},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "10.9.0.0/16", GwAddr: "10.1.0.2", Scope: l3.Route_GLOBAL},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "10.10.0.1", Scope: l3.Route_LINK},
		&l3.ARPEntry{Interface: "x", IpAddress: "10.1.0.79/24", HwAddress: "02:00:00:00:00:dd"},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "fd00:6::/64", Type: l3.Route_BLACKHOLE, Metric: 1024},
		&l3.Rule{Name: "r1", Priority: 100, SrcNetwork: "fd00:1::/64", DstNetwork: "FD00:2:0::/48", Table: 77, Ipv6: true},
		&l3.Rule{Name: "r2", Priority: 101, Ipv6: true, Fwmark: 5, Table: 77, Namespace: left},
	}
	return first, second
}

// TestSpellings: items are the same however they are written and however the kernel prints
// them: neither a resync nor another spelling nor a restart changes anything.
func TestSpellings(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		first, second := spelled()
		must(t, a.Apply(pair()...))
		// An IPv6 address can be a source a moment after it was added.
		nltest.Poll(t, "all can be applied", func() bool { return a.Apply(first...) == nil })
		a.Quiet("all is configured", func() bool { return allConfigured(t, a, first...) })
		unchanged(t, a, append(pair(), first...)...)
		unchanged(t, a, append(pair(), second...)...)
		a.Stop()
		a = linuxtest.Start(t, w)
		unchanged(t, a, append(pair(), first...)...)
		a.Stop()
		a = linuxtest.Start(t, w)
		unchanged(t, a, append(pair(), second...)...)
		a.Expect(configured, second...)

		own, left := w.Foreign(t, ""), w.Foreign(t, "left")
		must(t, errors.Join(
			own.DeleteNeighbour(t.Context(), netlinkapi.Neighbour{Link: link(t, own, "x"), IP: netip.MustParseAddr("fd00:1::77")}),
			own.DeleteNeighbour(t.Context(), netlinkapi.Neighbour{Link: link(t, own, "x"), IP: netip.MustParseAddr("10.1.0.77")}),
			left.DeleteNeighbour(t.Context(), netlinkapi.Neighbour{Link: link(t, left, "y"), IP: netip.MustParseAddr("fe80::77")}),
		))
		remove(t, own, "fd00:4::/64")
		remove(t, own, "::/0")
		remove(t, own, "fd00:6::/64")
		remove(t, left, "::/0")
		a.Quiet("what another process removes is there again", func() bool {
			return hasNeighbour(t, own, "fd00:1::77", "02:00:00:00:00:aa") && hasNeighbour(t, own, "10.1.0.77", "02:00:00:00:00:bb") &&
				hasNeighbour(t, left, "fe80::77", "02:00:00:00:00:cc") &&
				len(to(t, own, "fd00:4::/64"))+len(to(t, own, "::/0"))+len(to(t, own, "fd00:6::/64"))+len(to(t, left, "::/0")) == 4
		})
		must(t, a.Delete(first...))
		for _, h := range []netlinkapi.Handle{own, left} {
			all, err := h.Routes(t.Context())
			must(t, err)
			if slices.ContainsFunc(all, func(r netlinkapi.Route) bool { return r.Protocol == netlinkapi.ProtocolAgent }) {
				t.Errorf("routes remain: %+v", all)
			}
		}
	})
}

// TestForeignSpelling: a static route or neighbour of another program that is the desired one is taken
// over, whatever else the kernel prints of it.
func TestForeignSpelling(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		must(t, a.Apply(pair()...))
		own := w.Foreign(t, "")
		mac := []byte{2, 0, 0, 0, 0, 0xaa}
		must(t, errors.Join(
			own.AddRoute(t.Context(), netlinkapi.Route{Link: link(t, own, "x"), Table: netlinkapi.MainTable, Dst: netip.MustParsePrefix("fd00:2::/64"),
				Gateway: netip.MustParseAddr("fd00:1::2"), Protocol: netlinkapi.ProtocolBoot}),
			own.AddRoute(t.Context(), netlinkapi.Route{Link: link(t, own, "x"), Table: netlinkapi.MainTable, Dst: netip.MustParsePrefix("10.2.0.0/16"),
				Gateway: netip.MustParseAddr("10.1.0.2"), Protocol: netlinkapi.ProtocolStatic}),
			own.SetNeighbour(t.Context(), netlinkapi.Neighbour{Link: link(t, own, "x"), IP: netip.MustParseAddr("fd00:1::77"), MAC: mac}),
		))
		items := []proto.Message{
			&l3.Route{OutgoingInterface: "x", DstNetwork: "FD00:2::/64", GwAddr: "FD00:1::2"},
			&l3.Route{OutgoingInterface: "x", DstNetwork: "10.2.0.0/16", GwAddr: "10.1.0.2", Scope: l3.Route_GLOBAL},
			&l3.ARPEntry{Interface: "x", IpAddress: "FD00:1::77", HwAddress: "02-00-00-00-00-AA"},
		}
		must(t, a.Apply(items...))
		a.Expect(configured, items...)
		for _, dst := range []string{"fd00:2::/64", "10.2.0.0/16"} {
			if found := to(t, own, dst); len(found) != 1 {
				t.Errorf("routes of the agent are %+v", found)
			}
		}
		unchanged(t, a, append(pair(), items...)...)
	})
}

// TestSpellingErrors: the error of an invalid address names the expected form.
func TestSpellingErrors(t *testing.T) {
	t.Parallel()
	deps := descriptor.Deps{Log: logging.Nop()}
	routes, arps, rules := descriptor.NewRoute(deps), descriptor.NewARP(deps), descriptor.NewRule(deps)
	for _, c := range []struct {
		v    proto.Message
		want string
	}{
		{&l3.Route{OutgoingInterface: "x", DstNetwork: "default", Scope: l3.Route_GLOBAL}, `"default"; expected 0.0.0.0/0 or ::/0`},
		{&l3.Route{OutgoingInterface: "x", DstNetwork: "fd00::/64", GwAddr: "fe80::1%x"}, `"fe80::1%x"; expected an IP address without zone`},
		{&l3.ARPEntry{Interface: "x", IpAddress: "fe80::1%x", HwAddress: "02:00:00:00:00:01"}, `"fe80::1%x"; expected an IP address without zone`},
		{&l3.Rule{Name: "r", Priority: 1, Table: 7, SrcNetwork: "::ffff:10.0.0.0/104"}, "is an IPv4-mapped network"},
		{&l3.Rule{Name: "r", Priority: 1, Table: 7, SrcNetwork: "::/0"}, "expected nothing for any address"},
	} {
		validate := routes.Validate
		switch c.v.(type) {
		case *l3.ARPEntry:
			validate = arps.Validate
		case *l3.Rule:
			validate = rules.Validate
		}
		if err := validate(linuxtest.Key(t, c.v), c.v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v, expected %q", err, c.want)
		}
	}
}
