package model_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

func TestNetworkKeyPart(t *testing.T) {
	t.Parallel()
	for dst, want := range map[string]string{
		"10.0.1.7/24":         "10.0.1.0/24",
		"0.0.0.0/0":           "0.0.0.0/0",
		"10.0.0.1/32":         "10.0.0.1/32",
		"2001:DB8:0::1/64":    "2001:db8::/64",
		"::/0":                "::/0",
		"alloc:net1/if1/GW":   "alloc:net1/if1/GW",
		"alloc:":              "alloc:",
		"":                    "<invalid>/0",
		"10.0.0.1":            "<invalid>/0",
		"10.0.0.1/33":         "<invalid>/0",
		"Alloc:net1":          "<invalid>/0",
		"10.0.0.1/24 ":        "<invalid>/0",
		"fe80::1%eth0/64":     "<invalid>/0",
		"255.255.255.255/31":  "255.255.255.254/31",
		"10.1.2.3/08":         "10.0.0.0/8",
		"::ffff:10.1.2.3/104": "10.0.0.0/104", // as net.ParseCIDR has it
	} {
		if got := model.NetworkKeyPart(dst); got != want {
			t.Errorf("%q gives %q, want %q", dst, got, want)
		}
	}
}

func TestSourceNames(t *testing.T) {
	t.Parallel()
	for v := range netalloc.IPAddressSource_name {
		s := netalloc.IPAddressSource(v)
		name := model.SourceName(s)
		got, ok := model.ParseSource(name)
		if want := s != netalloc.IPAddressSource_UNDEFINED_SOURCE; ok != want || ok && got != s {
			t.Errorf("ParseSource(%q) = %v, %v", name, got, ok)
		}
	}
	for _, name := range []string{"", "STATIC", "Static", "dhcp", "1"} {
		if got, ok := model.ParseSource(name); ok {
			t.Errorf("ParseSource(%q) = %v", name, got)
		}
	}
	if got, want := model.NeighborGwKey.Key("net1", "if1"), "netalloc/neigh-gw/network/net1/interface/if1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
