package nltest

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// testRouteFields: routes of other tables are routes of their own; a source must be an address
// of this host, and a gateway that is said to be on the link need not be in its networks.
func testRouteFields(t *testing.T, w *World) {
	own := w.Open(t, "")
	i := cable(t, own, "10.1.0.1/24", "10.1.0.5/32", "fd00:1::1/64", "fd00:1::5/128")
	for _, v := range []struct{ dst, gw, far, source, foreign string }{
		{"10.2.0.0/16", "10.1.0.2", "10.9.9.9", "10.1.0.5", "10.7.0.1"},
		{"fd00:2::/64", "fd00:1::2", "fd00:9::9", "fd00:1::5", "fd00:7::1"},
	} {
		there := func(r netlinkapi.Route, want bool) {
			t.Helper()
			all, err := own.Routes()
			must(t, err)
			if slices.Contains(all, r) != want {
				t.Errorf("%+v: expected %t among %+v", r, want, all)
			}
		}
		plain, other := static(i, v.dst, v.gw), inTable(static(i, v.dst, v.gw), 77)
		must(t, own.AddRoute(plain))
		must(t, own.AddRoute(other))
		expect(t, "add it again", own.AddRoute(other), netlinkapi.ErrExists)
		there(plain, true)
		there(other, true)
		must(t, own.DeleteRoute(plain))
		there(other, true)
		other.Source = netip.MustParseAddr(v.source)
		Poll(t, "the source can be used", func() bool { // an IPv6 address a moment after it was added
			err := own.ReplaceRoute(other)
			return err == nil
		})
		there(other, true)
		far := other
		far.Gateway, far.OnLink = netip.MustParseAddr(v.far), true
		must(t, own.ReplaceRoute(far))
		there(far, true)
		foreign := inTable(static(i, v.dst, v.gw), 78)
		foreign.Source = netip.MustParseAddr(v.foreign)
		if err := own.AddRoute(foreign); err == nil {
			t.Errorf("%s: added with the source %s", v.dst, v.foreign)
		}
		must(t, own.DeleteRoute(far))
		there(far, false)
	}
	r := static(i, "10.2.0.0/16", "10.1.0.2")
	r.Source = netip.MustParseAddr("10.1.0.5")
	must(t, own.AddRoute(r))
	must(t, own.DeleteAddress(netlinkapi.Address{Link: i, Prefix: netip.MustParsePrefix("10.1.0.5/32")}))
	expectRoutes(t, own)
}

// testRules: rules are what was added, each once, and those of one protocol are not deleted as
// those of another.
func testRules(t *testing.T, w *World) {
	own := w.Open(t, "")
	for _, r := range []netlinkapi.Rule{
		{Priority: 100, Table: 77, Src: netip.MustParsePrefix("10.1.0.0/16")},
		{Priority: 100, Table: 77, Dst: netip.MustParsePrefix("10.1.0.0/16"), Invert: true},
		{Priority: 101, Table: 70000, Mark: 5, Mask: 0xff},
		{Priority: 102, Table: 78},
		{IPv6: true, Priority: 100, Table: 77, Src: netip.MustParsePrefix("fd00:1::/64"), Dst: netip.MustParsePrefix("fd00:2::/64")},
		{IPv6: true, Priority: 102, Table: 78},
	} {
		r.Protocol = netlinkapi.ProtocolAgent
		there := func(want bool) {
			t.Helper()
			all, err := own.Rules()
			must(t, err)
			if slices.Contains(all, r) != want {
				t.Errorf("%+v: expected %t among %+v", r, want, all)
			}
		}
		there(false)
		must(t, own.AddRule(r))
		there(true)
		expect(t, "add again", own.AddRule(r), netlinkapi.ErrExists)
		other := r
		other.Protocol = netlinkapi.ProtocolStatic
		expect(t, "delete that of another program", own.DeleteRule(other), netlinkapi.ErrNotFound)
		must(t, own.AddRule(other))
		must(t, own.DeleteRule(other))
		there(true)
		must(t, own.DeleteRule(r))
		there(false)
		expect(t, "delete again", own.DeleteRule(r), netlinkapi.ErrNotFound)
	}
}
