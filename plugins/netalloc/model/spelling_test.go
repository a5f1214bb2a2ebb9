package model_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/netalloc/model"
)

// The forms of addresses that the predecessor accepted: an address of an interface, a next
// hop, and a destination. Empty: it is refused.
func TestSpellings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, address, host, network string }{
		{"10.0.0.1/24", "10.0.0.1/24", "10.0.0.1", "10.0.0.0/24"},
		{"10.0.0.1", "10.0.0.1/32", "10.0.0.1", "10.0.0.1/32"},
		{"10.0.0.0/24", "10.0.0.0/24", "10.0.0.0", "10.0.0.0/24"},
		{"10.0.0.1/32", "10.0.0.1/32", "10.0.0.1", "10.0.0.1/32"},
		{"0.0.0.0/0", "0.0.0.0/0", "0.0.0.0", "0.0.0.0/0"},
		{"2001:DB8:0::1/64", "2001:db8::1/64", "2001:db8::1", "2001:db8::/64"},
		{"2001:db8::1", "2001:db8::1/128", "2001:db8::1", "2001:db8::1/128"},
		{"::ffff:10.0.0.1", "10.0.0.1/32", "10.0.0.1", "::ffff:10.0.0.1/128"},
		{"::ffff:10.0.0.1/120", "10.0.0.1/24", "10.0.0.1", "::ffff:10.0.0.0/120"},
		{"::ffff:10.0.0.1/24", "", "10.0.0.1", "::/24"},
		{"fe80::1%eth0", "", "fe80::1%eth0", ""},
		{"10.0.0.1/33", "", "", ""},
		{"10.0.0.256", "", "", ""},
		{"10.0.0.1/", "", "", ""},
		{"", "", "", ""},
	} {
		check := func(what, want string, got interface{ String() string }, err error) {
			if want == "" && err == nil || want != "" && (err != nil || got.String() != want) {
				t.Errorf("%s %q: %v, %v, want %q", what, c.text, got, err, want)
			}
		}
		address, err := model.ParseAddress(c.text)
		check("address", c.address, address, err)
		host, err := model.ParseHost(c.text)
		check("host", c.host, host, err)
		network, err := model.ParseNetwork(c.text)
		check("network", c.network, network, err)
	}
}
