package model_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

const (
	static   = netalloc.IPAddressSource_STATIC
	allocRef = netalloc.IPAddressSource_ALLOC_REF
	fromDHCP = netalloc.IPAddressSource_FROM_DHCP
)

// TestKeysAreCompatible shows every key once, as the predecessor writes it.
func TestKeysAreCompatible(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"vpp/interface/unnumbered/tap1":                            model.UnnumberedKey.Key("tap1"),
		"vpp/bond/bond1/interface/tap1/":                           model.BondedInterfaceKey.Key("bond1", "tap1"),
		"vpp/interface/ip6nd/tap1":                                 model.IP6NDKey.Key("tap1"),
		"vpp/interface/dhcp-client/tap1":                           model.DHCPClientKey.Key("tap1"),
		"vpp/interface/dhcp-lease/tap1":                            model.DHCPLeaseKey.Key("tap1"),
		"vpp/interface/loop7/address/static/10.77.0.1/24":          model.AddressKeyFor("loop7", "10.77.0.1/24", static),
		"vpp/interface/loop7/address/static/2001:db8::1/64":        model.AddressKeyFor("loop7", "2001:DB8:0::1/64", static),
		"vpp/interface/loop7/address/from_dhcp/10.77.0.1/24":       model.AddressKeyFor("loop7", "10.77.0.1/24", fromDHCP),
		"vpp/interface/loop7/address/alloc_ref/alloc:net1/if2":     model.AddressKeyFor("loop7", "alloc:net1/if2", allocRef),
		"vpp/interface/<invalid>/address/static/10.77.0.1/24":      model.AddressKeyFor("", "10.77.0.1/24", static),
		"vpp/interface/Gi0/8/0/address/static/<invalid>":           model.AddressKeyFor("Gi0/8/0", "", static),
		"vpp/interface/loop7/address/":                             model.AddressKey.Prefix("loop7"),
		"vpp/interface/loop7/vrf/0/ip-version/v4":                  model.VrfKeyFor("loop7", 0, true, false),
		"vpp/interface/loop7/vrf/4294967295/ip-version/v6":         model.VrfKeyFor("loop7", 1<<32-1, false, true),
		"vpp/interface/Gi0/8/0/vrf/1/ip-version/both":              model.VrfKeyFor("Gi0/8/0", 1, true, true),
		"vpp/interface/loop7/vrf/from-interface/Gi0/8/0":           model.InheritedVrfKey.Key("loop7", "Gi0/8/0"),
		"vpp/interface/loop7/vrf/":                                 model.VrfKey.Prefix("loop7"),
		"vpp/interface/loop7/has-IP-address":                       model.HasAddressKey.Key("loop7"),
		"vpp/interface/loop7/link-state/UP":                        model.LinkStateKeyFor("loop7", true),
		"vpp/interface/loop7/link-state/DOWN":                      model.LinkStateKeyFor("loop7", false),
		"vpp/interface/loop7/rx-modes":                             model.RxModesKey.Key("loop7"),
		"vpp/interface/loop7/rx-placement/queue/3":                 model.RxPlacementKeyFor("loop7", 3),
		"vpp/status/v2/interface/loop7":                            model.StateKey.Key("loop7"),
		"vpp/status/v2/interface/error/loop7":                      model.ErrorKey.Key("loop7"),
		"vpp/interface/unnumbered/GigabitEthernet0/8/0":            model.UnnumberedKey.Key("GigabitEthernet0/8/0"),
		"config/vpp/v2/interfaces/vmxnet3-0/b/0/0":                 model.InterfaceModel.KeyFor("vmxnet3-0/b/0/0"),
		"vpp/interface/GigabitEthernet0/8/0/link-state/UP":         model.LinkStateKeyFor("GigabitEthernet0/8/0", true),
		"vpp/interface/GigabitEthernet0/8/0/rx-placement/queue/12": model.RxPlacementKeyFor("GigabitEthernet0/8/0", 12),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestForeignKeysAreRefused(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"", "vpp/interface/", "vpp/interface/x", "config/vpp/v2/interfaces/x",
		"vpp/interface/x/address/nonsense/10.0.0.1/24", "vpp/interface/x/address/STATIC/10.0.0.1/24",
		"vpp/interface/x/address/undefined_source/10.0.0.1/24", "vpp/interface//address/static/10.0.0.1/24",
		"vpp/interface/x/vrf/", "vpp/interface/x/vrf/-1/ip-version/v4", "vpp/interface/x/vrf/4294967296/ip-version/v4",
		"vpp/interface/x/vrf/1/ip-version/v5", "vpp/interface/x/vrf/1/ip-version/v4/more",
		"vpp/interface/x/link-state/", "vpp/interface/x/link-state/up", "vpp/interface/x/link-state/UP/DOWN",
		// these belong to a value with a fixed element instead of the name
		"vpp/interface/unnumbered/x/address/static/10.0.0.1/24", "vpp/interface/dhcp-lease/x/vrf/1/ip-version/v4",
		"vpp/interface/ip6nd/x/vrf/from-interface/y", "vpp/interface/dhcp-client/x/link-state/UP",
	} {
		if iface, addr, src, ok := model.ParseAddressKey(key); ok {
			t.Errorf("ParseAddressKey(%q) = %q, %q, %v", key, iface, addr, src)
		}
		if iface, vrf, v4, v6, ok := model.ParseVrfKey(key); ok {
			t.Errorf("ParseVrfKey(%q) = %q, %d, %v, %v", key, iface, vrf, v4, v6)
		}
		if iface, from, ok := model.ParseInheritedVrfKey(key); ok {
			t.Errorf("ParseInheritedVrfKey(%q) = %q, %q", key, iface, from)
		}
		if iface, up, ok := model.ParseLinkStateKey(key); ok {
			t.Errorf("ParseLinkStateKey(%q) = %q, %v", key, iface, up)
		}
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"tap1", "GigabitEthernet0/8/0", "vmxnet3-0/b/0/0", "štěně", "UNTAGGED-local0", "address", "vrf", "a//b",
		strings.Repeat("x", model.MaxNameLength),
	} {
		if err := model.CheckName(name); err != nil {
			t.Errorf("%q is refused: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		"":                      "empty",
		strings.Repeat("š", 32): "64 bytes, expected 1 to 63",
		"unnumbered":            `starts with the reserved element "unnumbered"`,
		"dhcp-lease/x":          `starts with the reserved element "dhcp-lease"`,
		"a/address/b":           `contains the reserved element "address"`,
		"a/vrf":                 `contains the reserved element "vrf"`,
	} {
		if err := model.CheckName(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one that says %q", name, err, want)
		}
	}
}

// FuzzKeys takes keys apart that were built from names that CheckName accepts:
// nothing is lost, and no key belongs to two kinds of values.
func FuzzKeys(f *testing.F) {
	f.Add("tap1", "10.0.0.1/24", uint32(1))
	f.Add("GigabitEthernet0/8/0", "alloc:net/if", uint32(0))
	f.Add("address", "alloc:a/address/static/b", uint32(1<<32-1))
	f.Add("/", "/", uint32(7))
	f.Fuzz(func(t *testing.T, iface, addr string, vrf uint32) {
		if model.CheckName(iface) != nil || strings.Contains(iface, "<invalid>") || addr == "" || addr == "<invalid>" {
			t.Skip("not a name")
		}
		checkAddressKey(t, iface, addr)
		key := model.VrfKeyFor(iface, vrf, vrf%2 == 0, vrf%3 != 0 || vrf%2 != 0)
		gotIf, gotVrf, v4, v6, ok := model.ParseVrfKey(key)
		if !ok || gotIf != iface || gotVrf != vrf || v4 != (vrf%2 == 0) || v6 != (vrf%3 != 0 || vrf%2 != 0) {
			t.Errorf("ParseVrfKey(%q) = %q, %d, %v, %v, %v", key, gotIf, gotVrf, v4, v6, ok)
		}
		checkOneKind(t, key)
		key = model.InheritedVrfKey.Key(iface, iface)
		if a, b, ok := model.ParseInheritedVrfKey(key); !ok || a != iface || b != iface {
			t.Errorf("ParseInheritedVrfKey(%q) = %q, %q, %v", key, a, b, ok)
		}
		checkOneKind(t, key)
		key = model.LinkStateKeyFor(iface, vrf%2 == 0)
		if got, up, ok := model.ParseLinkStateKey(key); !ok || got != iface || up != (vrf%2 == 0) {
			t.Errorf("ParseLinkStateKey(%q) = %q, %v, %v", key, got, up, ok)
		}
		for _, key := range []string{
			key, model.UnnumberedKey.Key(iface), model.IP6NDKey.Key(iface), model.DHCPClientKey.Key(iface),
			model.DHCPLeaseKey.Key(iface), model.HasAddressKey.Key(iface), model.RxModesKey.Key(iface),
			model.RxPlacementKeyFor(iface, vrf),
		} {
			checkOneKind(t, key)
		}
	})
}

func checkAddressKey(t *testing.T, iface, addr string) {
	t.Helper()
	key := model.AddressKeyFor(iface, addr, allocRef)
	gotIf, gotAddr, src, ok := model.ParseAddressKey(key)
	if !ok || gotIf != iface || src != allocRef {
		t.Errorf("ParseAddressKey(%q) = %q, %q, %v, %v", key, gotIf, gotAddr, src, ok)
	}
	if again := model.AddressKeyFor(gotIf, gotAddr, src); again != key {
		t.Errorf("%q became %q", key, again)
	}
	if strings.HasPrefix(addr, "alloc:") && gotAddr != addr {
		t.Errorf("reference %q became %q", addr, gotAddr)
	}
	// An address is not an arbitrary text, so it cannot look like another key.
	if !strings.Contains(addr, "/link-state/") && !strings.Contains(addr, "/vrf/") &&
		!strings.Contains(addr, "/rx-") && !strings.Contains(addr, "/has-IP-address") {
		checkOneKind(t, key)
	}
}

// checkOneKind shows that a key belongs to exactly one kind of values.
func checkOneKind(t *testing.T, key string) {
	t.Helper()
	_, _, _, address := model.ParseAddressKey(key)
	_, _, _, _, vrf := model.ParseVrfKey(key)
	_, _, inherited := model.ParseInheritedVrfKey(key)
	_, _, link := model.ParseLinkStateKey(key)
	kinds := 0
	for _, is := range []bool{
		address, vrf, inherited, link, model.UnnumberedKey.Matches(key), model.IP6NDKey.Matches(key),
		model.DHCPClientKey.Matches(key), model.DHCPLeaseKey.Matches(key), model.HasAddressKey.Matches(key),
		model.RxModesKey.Matches(key), model.RxPlacementKey.Matches(key),
	} {
		if is {
			kinds++
		}
	}
	if kinds != 1 {
		t.Errorf("%q belongs to %d kinds of values", key, kinds)
	}
}
