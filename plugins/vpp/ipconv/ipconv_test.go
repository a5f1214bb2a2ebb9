package ipconv_test

import (
	"net/netip"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0.0.0.0/0", "10.1.2.3/24", "::/0", "2001:db8::1/64", "fe80::1/128"} {
		p := netip.MustParsePrefix(text)
		if got := ipconv.FromPrefix(ipconv.Prefix(p)); got != p {
			t.Errorf("%s became %s", p, got)
		}
		if got := ipconv.FromInterface(ipconv.Interface(p)); got != p {
			t.Errorf("%s became %s", p, got)
		}
		if got := ipconv.FromAddress(ipconv.Address(p.Addr())); got != p.Addr() {
			t.Errorf("%s became %s", p.Addr(), got)
		}
	}
	if mapped := ipconv.FromAddress(ipconv.Address(netip.MustParseAddr("::ffff:10.0.0.1"))); !mapped.Is4() {
		t.Errorf("mapped address became %s", mapped)
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		same func(a, b string) bool
		a, b string
		want bool
	}{
		{ipconv.SameAddr, "2001:DB8:0::1", "2001:db8::1", true},
		{ipconv.SameAddr, "::ffff:10.0.0.1", "10.0.0.1", true},
		{ipconv.SameAddr, "10.0.0.1", "10.0.0.2", false},
		{ipconv.SameAddr, "x", "x", true},
		{ipconv.SameAddr, "x", "y", false},
		{ipconv.SamePrefix, "2001:DB8::/32", "2001:db8:0::/32", true},
		{ipconv.SamePrefix, "10.0.0.1/24", "10.0.0.1/25", false},
		{ipconv.SamePrefix, "10.0.0.1/24", "10.0.0.2/24", false},
		{ipconv.SameMAC, "02:00:00:00:00:0A", "02-00-00-00-00-0a", true},
		{ipconv.SameMAC, "02:00:00:00:00:0A", "02:00:00:00:00:0B", false},
		{ipconv.SameMAC, "", "02:00:00:00:00:0B", false},
	} {
		if got := test.same(test.a, test.b); got != test.want {
			t.Errorf("%q and %q: %v", test.a, test.b, got)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "10.0.0", "10.0.0.1/24", "fe80::1%eth0", "host"} {
		if a, err := ipconv.ParseAddr(text); err == nil {
			t.Errorf("%q is address %s", text, a)
		}
	}
	for _, text := range []string{"", "10.0.0.1", "10.0.0.1/33", "alloc:net"} {
		if p, err := ipconv.ParsePrefix(text); err == nil {
			t.Errorf("%q is prefix %s", text, p)
		}
	}
	for _, text := range []string{"", "02:00", "02:00:00:00:00:00:00:01", "x"} {
		if m, err := ipconv.ParseMAC(text); err == nil {
			t.Errorf("%q is MAC %s", text, m)
		}
	}
}
