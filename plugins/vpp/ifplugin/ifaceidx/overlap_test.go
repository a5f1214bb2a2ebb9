package ifaceidx_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
)

func TestOverlapping(t *testing.T) {
	t.Parallel()
	store := idxmap.New[*ifaceidx.IfMeta]("vpp-interface")
	for name, m := range map[string]*ifaceidx.IfMeta{
		"b": {IPAddresses: []string{"nonsense", "10.0.0.1/24"}}, "a": {IPAddresses: []string{"10.0.0.9/30", "2001:db8::1/64"}},
		"elsewhere": {Vrf: 7, IPAddresses: []string{"10.0.0.1/24"}}, "unknown": nil,
	} {
		if err := store.Put(name, m); err != nil {
			t.Fatal(err)
		}
	}
	x, err := ifaceidx.New(store)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		vrf         uint32
		iface, addr string
		want        []string
	}{
		{0, "c", "10.0.0.10/24", []string{"a", "b"}},
		{0, "b", "10.0.0.10/24", []string{"a"}}, // two of one subnet
		{0, "b", "10.0.0.1/24", []string{"a", "b"}},
		{0, "b", "10.0.0.10/16", []string{"a", "b"}},
		{0, "c", "10.0.1.1/24", nil},
		{0, "c", "2001:db8::/32", []string{"a"}},
		{7, "c", "10.0.0.10/24", []string{"elsewhere"}},
	} {
		if got := x.Overlapping(test.vrf, test.iface, netip.MustParsePrefix(test.addr)); !slices.Equal(got, test.want) {
			t.Errorf("%s on %s in table %d: %q, expected %q", test.addr, test.iface, test.vrf, got, test.want)
		}
	}
}
