package ifplugin_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// settings is what a link was before the agent changed it.
type settings struct {
	mtu int
	mac string
}

func settingsOf(t *testing.T, h netlinkapi.Handle, link string) settings {
	t.Helper()
	l := nltest.MustLink(t, h, link)
	return settings{l.MTU, l.MAC.String()}
}

// An MTU and a MAC address that are removed become what they were, also if the agent was stopped
// meanwhile: of a link of another process, and of a link that the agent made.
func TestRemovedSettings(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own, dir := w.Open(t, ""), t.TempDir()
		makeDevice(t, own, "dev")
		a := linuxtest.StartIn(t, w, dir)
		foreign, made, peer := existing("e"), veth("x", "y", ""), veth("y", "x", "")
		must(t, a.Apply(foreign, made, peer))
		links := map[*interfaces.Interface]string{foreign: "dev", made: "h-x"}
		before := map[string]settings{}
		for _, link := range links {
			before[link] = settingsOf(t, own, link)
		}
		for _, stopped := range []bool{false, true} {
			for v, link := range links {
				set := proto.CloneOf(v)
				set.Mtu, set.PhysAddress = 1400, "02:00:00:00:00:77"
				must(t, a.Apply(set))
				if now := settingsOf(t, own, link); now != (settings{1400, set.PhysAddress}) {
					t.Errorf("link %s has %+v", link, now)
				}
			}
			if stopped {
				a.Stop()
				a = linuxtest.StartIn(t, w, dir)
			}
			must(t, a.Resync(foreign, made, peer))
			for _, link := range links {
				if now := settingsOf(t, own, link); now != before[link] {
					t.Errorf("link %s has %+v, expected %+v; agent was stopped: %t", link, now, before[link], stopped)
				}
			}
		}
		set := proto.CloneOf(foreign)
		set.Mtu = 1400
		must(t, a.Apply(set))
		must(t, a.Delete(set))
		if now := settingsOf(t, own, "dev"); now != before["dev"] {
			t.Errorf("a link that is given back has %+v, expected %+v", now, before["dev"])
		}
	})
}

// Checksum offloading that is removed becomes what it was.
func TestRemovedChecksumOffloading(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		a := linuxtest.Start(t, w)
		x, y := veth("x", "y", ""), veth("y", "x", "")
		x.GetVeth().TxChecksumOffloading = interfaces.VethLink_CHKSM_OFFLOAD_DISABLED
		must(t, a.Apply(x, y))
		parameter := netlinkapi.OffloadParameter(netlinkapi.OffloadTXChecksum)
		expectSysctl(t, own, "h-x", parameter, 0)
		x = proto.CloneOf(x)
		x.GetVeth().TxChecksumOffloading = interfaces.VethLink_CHKSM_OFFLOAD_DEFAULT
		must(t, a.Apply(x))
		expectSysctl(t, own, "h-x", parameter, 1)
	})
}

// A link of another process under the name of another item: the former item gives it back before
// the other one takes it.
func TestExistingRenamed(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		makeDevice(t, own, "dev")
		before := settingsOf(t, own, "dev")
		a := linuxtest.Start(t, w)
		v := existing("e")
		v.Mtu, v.Sysctls = 1300, []*interfaces.Sysctl{{Name: "ipv4.proxy_arp", Value: 1}}
		must(t, a.Apply(v))
		for _, name := range []string{"x", "a"} {
			v = proto.CloneOf(v)
			v.Name = name
			must(t, a.Resync(v))
			if now := settingsOf(t, own, "dev"); now.mtu != 1300 {
				t.Errorf("as %q the link has %+v", name, now)
			}
			expectSysctl(t, own, "dev", "ipv4.proxy_arp", 1)
		}
		must(t, a.Resync())
		if now := settingsOf(t, own, "dev"); now != before {
			t.Errorf("the link has %+v, expected %+v", now, before)
		}
		expectSysctl(t, own, "dev", "ipv4.proxy_arp", 0)
	})
}

// A port of another process gets the default VLAN again when its VLANs are removed.
func TestRemovedVLANsOfExisting(t *testing.T) {
	w := nltest.Sim()
	own := w.Open(t, "")
	makeDevice(t, own, "dev")
	a := linuxtest.Start(t, w)
	br, port := &interfaces.Interface{Name: "br", Type: interfaces.Interface_BRIDGE}, existing("e")
	port.MasterInterface = "br"
	with := proto.CloneOf(port)
	with.BridgeVlans = &interfaces.BridgeVlans{Tagged: []string{"7"}}
	for range 2 {
		must(t, a.Resync(br, with))
		expectVLANs(t, own, "dev", netlinkapi.PortVLAN{ID: 7})
		must(t, a.Resync(br, port))
		expectVLANs(t, own, "dev", netlinkapi.PortVLAN{ID: 1, PVID: true, Untagged: true})
	}
}

func expectVLANs(t *testing.T, h netlinkapi.Handle, link string, want ...netlinkapi.PortVLAN) {
	t.Helper()
	all, err := h.PortVLANs(t.Context())
	must(t, err)
	if now := all[nltest.MustLink(t, h, link).Index]; len(now) != len(want) || now[0] != want[0] {
		t.Errorf("VLANs are %v, expected %v", now, want)
	}
}

// A port leaves its bond or bridge although the new one does not take it.
func TestPortLeavesForNoBridge(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		a := linuxtest.Start(t, w)
		br := &interfaces.Interface{Name: "br", Type: interfaces.Interface_BRIDGE}
		x, y := veth("x", "y", ""), veth("y", "x", "")
		x.MasterInterface = "br"
		must(t, a.Apply(br, x, y))
		x = proto.CloneOf(x)
		x.MasterInterface = "y"
		_ = a.Resync(x, y) // the port fails
		if l := nltest.MustLink(t, own, "h-x"); l.Master != 0 {
			t.Errorf("link is %+v, expected no master", l)
		}
		expectNoLink(t, own, "br")
	})
}

// The MTU of a link on another one follows, also on a third one.
func TestMTUFollows(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		a := linuxtest.Start(t, w)
		on := func(name, parent string) *interfaces.Interface {
			return &interfaces.Interface{Name: name, Type: interfaces.Interface_MACVLAN,
				Link: &interfaces.Interface_Macvlan{Macvlan: &interfaces.MacvlanLink{ParentInterface: parent}}}
		}
		vxlan := &interfaces.Interface{Name: "vx", Type: interfaces.Interface_VXLAN, Link: &interfaces.Interface_Vxlan{
			Vxlan: &interfaces.VxlanLink{Vni: 7, Remote: "192.0.2.1", ParentInterface: "m"}}}
		x, y := veth("x", "y", ""), veth("y", "x", "")
		must(t, a.Apply(x, y, on("m", "x"), vxlan))
		for _, mtu := range []uint32{1400, 9000, 0} {
			x = proto.CloneOf(x)
			x.Mtu = mtu
			must(t, a.Apply(x))
			want := max(int(mtu), 1400)
			if mtu == 0 {
				want = 1500
			}
			if m, v := settingsOf(t, own, "m"), settingsOf(t, own, "vx"); m.mtu != want || v.mtu != want-50 {
				t.Errorf("MTU %d: the links on it have %d and %d", mtu, m.mtu, v.mtu)
			}
		}
	})
}

// The MTU of a link on a bridge follows the smallest of the ports.
func TestMTUFollowsBridge(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		a := linuxtest.Start(t, w)
		bridge := &interfaces.Interface{Name: "bridge", Type: interfaces.Interface_BRIDGE}
		on := &interfaces.Interface{Name: "on", Type: interfaces.Interface_MACVLAN,
			Link: &interfaces.Interface_Macvlan{Macvlan: &interfaces.MacvlanLink{ParentInterface: "bridge"}}}
		port := func(name, peer string, mtu uint32, master string) *interfaces.Interface {
			v := veth(name, peer, "")
			v.Mtu, v.MasterInterface = mtu, master
			return v
		}
		must(t, a.Apply(bridge, on, port("x", "y", 1400, "bridge"), port("y", "x", 0, ""), port("v", "w", 2000, "bridge"), port("w", "v", 0, "")))
		for _, c := range []struct {
			change *interfaces.Interface
			want   int
		}{
			{port("x", "y", 9000, "bridge"), 2000},
			{port("v", "w", 1300, "bridge"), 1300},
			{port("v", "w", 1300, ""), 9000},
			{port("x", "y", 1200, "bridge"), 1200},
			{port("x", "y", 1200, ""), 1500},
		} {
			must(t, a.Apply(c.change))
			if b, v := settingsOf(t, own, "bridge").mtu, settingsOf(t, own, "on").mtu; b != c.want || v != c.want {
				t.Errorf("the bridge has the MTU %d, the link on it %d; expected %d", b, v, c.want)
			}
		}
	})
}

// The MTU of a link on a port of a bond follows the MTU of the bond, also when the port joins and leaves.
func TestMTUFollowsBond(t *testing.T) {
	w := nltest.Sim()
	own := w.Open(t, "")
	a := linuxtest.Start(t, w)
	bond := &interfaces.Interface{Name: "bond", Type: interfaces.Interface_BOND, Mtu: 9000}
	port := &interfaces.Interface{Name: "port", Type: interfaces.Interface_DUMMY}
	vlan := &interfaces.Interface{Name: "vlan", Type: interfaces.Interface_VLAN,
		Link: &interfaces.Interface_Vlan{Vlan: &interfaces.VlanLink{ParentInterface: "port", VlanId: 5}}}
	must(t, a.Apply(bond, port, vlan))
	in := proto.CloneOf(port)
	in.MasterInterface = "bond"
	for _, c := range []struct {
		port *interfaces.Interface
		bond uint32
		want int
	}{{in, 9000, 9000}, {in, 1400, 1400}, {in, 2000, 2000}, {port, 2000, 1500}} {
		bond = proto.CloneOf(bond)
		bond.Mtu = c.bond
		must(t, a.Apply(bond, c.port))
		if got := settingsOf(t, own, "vlan").mtu; got != c.want {
			t.Errorf("MTU %d, expected %d; bond has %d, master is %q", got, c.want, c.bond, c.port.GetMasterInterface())
		}
	}
}
