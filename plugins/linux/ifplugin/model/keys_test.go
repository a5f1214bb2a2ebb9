package model_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

const (
	static   = netalloc.IPAddressSource_STATIC
	existing = netalloc.IPAddressSource_EXISTING
	allocRef = netalloc.IPAddressSource_ALLOC_REF
)

// TestKeysAreCompatible shows every key once, as the predecessor writes it.
func TestKeysAreCompatible(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"linux/interface/host-name/eth0":                     model.HostInterfaceKey.Key("eth0"),
		"linux/interface/host-name/lo/address/127.0.0.1/8":   model.HostAddressKeyFor("lo", "127.0.0.1/8"),
		"linux/interface/host-name/eth0/address/fd00::2/64":  model.HostAddressKeyFor("eth0", "FD00:0::2/64"),
		"linux/interface/host-name/eth0/vrf-host-name/vrf1":  model.HostVrfKey.Key("eth0", "vrf1"),
		"linux/interface/host-name/eth0/vrf-host-name/":      model.HostVrfKey.Prefix("eth0"),
		"linux/interface/state/veth1/UP":                     model.StateKeyFor("veth1", true),
		"linux/interface/state/a/b/DOWN":                     model.StateKeyFor("a/b", false),
		"linux/interface/veth1/address/static/10.0.0.1/24":   model.AddressKeyFor("veth1", "10.0.0.1/24", static),
		"linux/interface/veth1/address/existing/10.0.0.1/24": model.AddressKeyFor("veth1", "10.0.0.1/24", existing),
		"linux/interface/veth1/address/alloc_ref/alloc:net1": model.AddressKeyFor("veth1", "alloc:net1", allocRef),
		"linux/interface/veth1/address/":                     model.AddressKey.Prefix("veth1"),
		"linux/interface/veth1/vrf/vrf1":                     model.VrfKey.Key("veth1", "vrf1"),
		"linux/interface/<invalid>/vrf/<invalid>":            model.VrfKey.Key("", ""),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestForeignKeysAreRefused(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"", "linux/interface/", "linux/interface/x", "linux/interface/host-name/",
		"linux/interface/host-name/eth0/address/10.0.0.1/24", "linux/interface/host-name/eth0/vrf-host-name/vrf1",
		"linux/interface/host-name/eth0/address/static/10.0.0.1/24", "linux/interface/state/x/vrf/y",
		"linux/interface/state/UP", "linux/interface/state//UP", "linux/interface/state/x/up",
		"linux/interface/x/address/nonsense/10.0.0.1/24", "linux/interface/x/address/static/", "linux/interface/x/vrf/",
	} {
		if host, ok := model.ParseHostInterfaceKey(key); ok {
			t.Errorf("ParseHostInterfaceKey(%q) = %q", key, host)
		}
		if iface, up, ok := model.ParseStateKey(key); ok {
			t.Errorf("ParseStateKey(%q) = %q, %v", key, iface, up)
		}
		if iface, addr, src, ok := model.ParseAddressKey(key); ok {
			t.Errorf("ParseAddressKey(%q) = %q, %q, %v", key, iface, addr, src)
		}
		if iface, vrf, ok := model.ParseVrfKey(key); ok {
			t.Errorf("ParseVrfKey(%q) = %q, %q", key, iface, vrf)
		}
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"veth1", "a/b", "štěně", "vrf", strings.Repeat("x", 300)} {
		if err := model.CheckName(name); err != nil {
			t.Errorf("%q is refused: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		"":            "empty",
		"state":       `starts with the reserved element "state"`,
		"host-name/x": `starts with the reserved element "host-name"`,
		"a/vrf/b":     `contains the reserved element "vrf"`,
	} {
		if err := model.CheckName(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one that says %q", name, err, want)
		}
	}
}

// FuzzKeys takes keys apart that were built from names that CheckName accepts.
func FuzzKeys(f *testing.F) {
	f.Add("veth1", "10.0.0.1/24", true)
	f.Add("a/b", "alloc:net/if", false)
	f.Add("/", "/", true)
	f.Fuzz(func(t *testing.T, iface, addr string, up bool) {
		if model.CheckName(iface) != nil || strings.Contains(iface, "<invalid>") || addr == "" || addr == "<invalid>" {
			t.Skip("not a name")
		}
		key := model.StateKeyFor(iface, up)
		if got, gotUp, ok := model.ParseStateKey(key); !ok || got != iface || gotUp != up {
			t.Errorf("ParseStateKey(%q) = %q, %v, %v", key, got, gotUp, ok)
		}
		key = model.AddressKeyFor(iface, addr, static)
		gotIf, gotAddr, src, ok := model.ParseAddressKey(key)
		if !ok || gotIf != iface || src != static || model.AddressKeyFor(gotIf, gotAddr, src) != key {
			t.Errorf("ParseAddressKey(%q) = %q, %q, %v, %v", key, gotIf, gotAddr, src, ok)
		}
		key = model.VrfKey.Key(iface, iface)
		if a, b, ok := model.ParseVrfKey(key); !ok || a != iface || b != iface {
			t.Errorf("ParseVrfKey(%q) = %q, %q, %v", key, a, b, ok)
		}
		if host, ok := model.ParseHostInterfaceKey(model.HostInterfaceKey.Key(iface)); ok != !strings.Contains(iface, "/") || ok && host != iface {
			t.Errorf("host interface %q: %q, %v", iface, host, ok)
		}
	})
}
