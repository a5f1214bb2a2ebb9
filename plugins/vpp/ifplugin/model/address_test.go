package model_test

import (
	"testing"

	linuxmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

// An address has one key whatever its spelling, with or without prefix length.
func TestAddressKeySpellings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10.0.0.1": "10.0.0.1/32", "10.0.0.1/32": "10.0.0.1/32", "2001:DB8::1": "2001:db8::1/128", "::ffff:10.0.0.1/120": "10.0.0.1/24",
		"alloc:net1": "alloc:net1",
	} {
		for name, key := range map[string]func(iface, address string, source netalloc.IPAddressSource) string{
			"vpp": model.AddressKeyFor, "linux": linuxmodel.AddressKeyFor,
		} {
			if got, other := key("a", text, netalloc.IPAddressSource_STATIC), key("a", want, netalloc.IPAddressSource_STATIC); got != other {
				t.Errorf("%s %s: %s, want %s", name, text, got, other)
			}
		}
	}
}
