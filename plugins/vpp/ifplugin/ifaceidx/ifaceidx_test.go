package ifaceidx_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
)

func TestLookups(t *testing.T) {
	t.Parallel()
	store := idxmap.New[*ifaceidx.IfMeta]("vpp-interface")
	put := func(name string, m *ifaceidx.IfMeta) {
		if err := store.Put(name, m); err != nil {
			t.Fatal(err)
		}
	}
	x, err := ifaceidx.New(store)
	if err != nil {
		t.Fatal(err)
	}
	put("a", &ifaceidx.IfMeta{SwIfIndex: 1, IPAddresses: []string{"10.0.0.1/24", "2001:DB8::1/64"}})
	put("b", &ifaceidx.IfMeta{SwIfIndex: 2, IPAddresses: []string{"10.0.0.1/32"}})
	put("unknown", nil)
	if name, m, ok := x.LookupBySwIfIndex(2); !ok || name != "b" || m.SwIfIndex != 2 {
		t.Errorf("by index: %q %v %v", name, m, ok)
	}
	put("reused", &ifaceidx.IfMeta{SwIfIndex: 2})
	if names := x.NamesBySwIfIndex(2); !slices.Equal(names, []string{"b", "reused"}) {
		t.Errorf("names of a reused index: %q", names)
	}
	store.Delete("reused")
	if _, _, ok := x.LookupBySwIfIndex(3); ok {
		t.Error("index 3 is known")
	}
	if got := x.LookupByIP(netip.MustParseAddr("10.0.0.1")); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("by address: %q", got)
	}
	if got := x.LookupByIP(netip.MustParseAddr("2001:db8::1")); !slices.Equal(got, []string{"a"}) {
		t.Errorf("by IPv6 address: %q", got)
	}
	if _, ok := x.LookupByName("unknown"); ok {
		t.Error("an interface without metadata is known")
	}
	put("b", &ifaceidx.IfMeta{SwIfIndex: 7})
	if _, _, ok := x.LookupBySwIfIndex(2); ok {
		t.Error("the old index is known")
	}
	store.Delete("b")
	if _, ok := x.LookupByName("b"); ok {
		t.Error("a removed interface is known")
	}
	if x.Map().Len() != 2 {
		t.Errorf("%d interfaces", x.Map().Len())
	}
}

func TestWrongMap(t *testing.T) {
	t.Parallel()
	if _, err := ifaceidx.New(idxmap.New[string]("strings")); err == nil {
		t.Error("a map of strings was taken")
	}
}
