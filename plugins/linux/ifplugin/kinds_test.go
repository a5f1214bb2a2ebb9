package ifplugin_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// kind is a type of interfaces that is made from parameters.
type kind struct {
	value   string // as JSON; "p" is a VETH end in the namespace of the agent
	inPlace string // another value that the link is changed to; empty: there is none
	again   string // another value that takes another link
}

func kinds() []kind {
	return []kind{
		{`"type":"DUMMY"`, `"type":"DUMMY","mtu":1400`, `"type":"DUMMY","linkOnly":true`},
		{`"type":"VRF_DEVICE","vrfDev":{"routingTable":5}`, `"type":"VRF_DEVICE","vrfDev":{"routingTable":5},"mtu":1400`,
			`"type":"VRF_DEVICE","vrfDev":{"routingTable":6}`},
		{`"type":"BRIDGE"`, `"type":"BRIDGE","bridge":{"stp":true,"ageingTime":10}`, `"type":"BRIDGE","linkOnly":true`},
		{`"type":"BOND","bond":{"mode":"LACP","lacpFast":true}`, `"type":"BOND","bond":{"mode":"LACP","lacpFast":true,"miimon":50,"hashPolicy":"LAYER34"}`,
			`"type":"BOND","bond":{"mode":"ACTIVE_BACKUP"}`},
		{`"type":"VLAN","vlan":{"parentInterface":"p","vlanId":5}`, "", `"type":"VLAN","vlan":{"parentInterface":"p","vlanId":6,"protocol":"DOT1AD"}`},
		{`"type":"MACVLAN","macvlan":{"parentInterface":"p"}`, `"type":"MACVLAN","macvlan":{"parentInterface":"p","mode":"VEPA"}`,
			`"type":"MACVLAN","macvlan":{"parentInterface":"p","mode":"PASSTHRU"}`},
		{`"type":"IPVLAN","ipvlan":{"parentInterface":"p"}`, `"type":"IPVLAN","ipvlan":{"parentInterface":"p","mode":"L3"}`,
			`"type":"IPVLAN","ipvlan":{"parentInterface":"q"}`},
		{`"type":"VXLAN","vxlan":{"vni":5,"remote":"10.1.0.2","local":"10.1.0.1"}`,
			`"type":"VXLAN","vxlan":{"vni":5,"remote":"10.1.0.3","local":"10.1.0.1","ttl":7,"noLearning":true}`,
			`"type":"VXLAN","vxlan":{"vni":6,"remote":"239.1.1.1","parentInterface":"p","port":8472}`},
		{`"type":"GRE","tunnel":{"local":"10.1.0.1","remote":"10.1.0.2","key":5}`, "", `"type":"GRE","tunnel":{"local":"10.1.0.1","parentInterface":"p"}`},
		{`"type":"IPIP","tunnel":{"local":"10.1.0.1","remote":"10.1.0.2"}`, "", `"type":"IPIP","tunnel":{"local":"10.1.0.1","remote":"10.1.0.2","ttl":9}`},
		{`"type":"SIT","tunnel":{"local":"10.1.0.1","remote":"10.1.0.2"}`, "", `"type":"SIT","tunnel":{"local":"10.1.0.1","remote":"10.1.0.3"}`},
		{`"type":"WIREGUARD","wireguard":{"privateKey":"` + key(1) + `","listenPort":7000,"peers":[{"publicKey":"` + key(3) + `"},{"publicKey":"` + key(2) + `","allowedIps":["10.8.0.0/16","10.7.0.2/32"]}]}`,
			`"type":"WIREGUARD","wireguard":{"privateKey":"` + key(1) + `","fwmark":5,"peers":[{"publicKey":"` + key(2) + `","presharedKey":"` + key(4) +
				`","endpoint":"10.1.0.2:7000","persistentKeepalive":25,"allowedIps":["fd00::/64"]}]}`,
			`"type":"WIREGUARD","linkOnly":true,"wireguard":{"privateKey":"` + key(1) + `"}`},
		{`"type":"TUN"`, `"type":"TUN","mtu":1400`, `"type":"TUN","tunTap":{"owner":12,"group":34}`},
		{`"type":"TAP","tunTap":{"multiQueue":true}`, `"type":"TAP","tunTap":{"multiQueue":true},"physAddress":"02:00:00:00:00:77"`, `"type":"TAP"`},
	}
}

// device is the value of a kind, in a namespace.
func device(t *testing.T, json, ns string) *interfaces.Interface {
	t.Helper()
	v := parse(t, `{"name":"dev/1","hostIfName":"dev","enabled":true,`+json+`}`)
	v.Namespace = named(ns)
	if v.GetType() != interfaces.Interface_IPIP && v.GetType() != interfaces.Interface_SIT {
		v.IpAddresses = []string{"10.7.0.1/24"}
	}
	return v
}

// parents are the links that kinds stand on.
func parents() []proto.Message { return []proto.Message{veth("p", "q", ""), veth("q", "p", "")} }

// TestKinds: an interface of each type is created, found again by the next agent, changed in
// place where the kernel can and else made again, and deleted, in the agent's namespace and in
// another one.
func TestKinds(t *testing.T) {
	for _, ns := range []string{"", "left"} {
		for _, k := range kinds() {
			typ := device(t, k.value, ns).GetType().String()
			t.Run(typ+" in "+ns, func(t *testing.T) {
				nltest.Run(t, func(t *testing.T, w *nltest.World) { testKind(t, w, k, ns) })
			})
		}
	}
}

func testKind(t *testing.T, w *nltest.World, k kind, ns string) {
	a := linuxtest.Start(t, w)
	must(t, a.Apply(parents()...))
	with := func(v proto.Message) []proto.Message { return append(parents(), v) }
	v := device(t, k.value, ns)
	if err := a.Apply(v); err != nil && w.Sim == nil && strings.Contains(err.Error(), netlinkapi.ErrUnsupported.Error()) {
		a.Expect(unimplemented, v)
		t.Skipf("SKIPPED: %s is not tested on the kernel: %v", v.GetType(), err)
	}
	a.Expect(configured, append(with(v), v)...)
	h := w.Open(t, ns)
	link := expectLink(t, h, "dev")
	if !link.Up || len(v.IpAddresses) > 0 && !hasAddress(t, h, "dev", "10.7.0.1/24") {
		t.Errorf("link is %+v", link)
	}
	unchanged(t, a, with(v)...)
	a.Stop()
	a = linuxtest.Start(t, w)
	unchanged(t, a, with(v)...)

	if k.inPlace != "" {
		v = device(t, k.inPlace, ns)
		must(t, a.Apply(v))
		if now := expectLink(t, h, "dev"); now.Index != link.Index || now.Params == link.Params && now.MTU == link.MTU && now.MAC.String() == link.MAC.String() {
			t.Errorf("link is %+v, it was %+v; expected that it was changed in place", now, link)
		}
		unchanged(t, a, with(v)...)
	}
	v = device(t, k.again, ns)
	must(t, a.Apply(v))
	a.Expect(configured, v)
	if now := expectLink(t, h, "dev"); now.Index == link.Index {
		t.Errorf("link is %+v, it was %+v; expected another one", now, link)
	}
	unchanged(t, a, with(v)...)
	a.Stop()
	a = linuxtest.Start(t, w)
	unchanged(t, a, with(v)...)

	other := device(t, k.again, "right")
	must(t, a.Apply(other))
	a.Expect(configured, other)
	expectNoLink(t, h, "dev")
	expectLink(t, w.Open(t, "right"), "dev")
	unchanged(t, a, with(other)...)

	must(t, a.Resync(parents()...))
	expectNoLink(t, w.Open(t, "right"), "dev")
	expectLinks(t, w.Open(t, ""), "h-p", "h-q")
}

// TestParent: an interface waits for its parent, is deleted before it and is created again with it.
func TestParent(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		own := w.Open(t, "")
		v := device(t, `"type":"MACVLAN","macvlan":{"parentInterface":"p"}`, "left")
		must(t, a.Apply(v))
		a.Expect(pending, v)
		must(t, a.Apply(parents()...))
		a.Expect(configured, v)
		left := w.Open(t, "left")
		index := expectLink(t, left, "dev").Index

		renamed := veth("p", "q", "")
		renamed.HostIfName = "h-other"
		must(t, a.Apply(renamed))
		if l := expectLink(t, left, "dev"); l.Index != index {
			t.Errorf("link is %+v after its parent was renamed", l)
		}
		must(t, a.Apply(veth("p", "q", "right"))) // another namespace, hence another link
		a.Expect(configured, v)
		unchanged(t, a, v, veth("p", "q", "right"), veth("q", "p", ""))

		must(t, a.Delete(veth("p", "q", "right")))
		a.Expect(pending, v)
		expectNoLink(t, left, "dev")
		must(t, a.Apply(veth("p", "q", "")))
		a.Expect(configured, v)

		must(t, own.DeleteLink(t.Context(), expectLink(t, own, "h-p").Index)) // by another process
		a.Quiet("everything is there again", func() bool {
			_, up := find(t.Context(), own, "h-p")
			_, on := find(t.Context(), left, "dev")
			return up && on && a.State(linuxtest.Key(t, v)).GetState() == configured
		})
	})
}

// TestBridge: ports wait for their bridge, move to another one in place, and leave; ports of
// other programs stay.
func TestBridge(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		own := w.Open(t, "")
		bridge := func(name string) *interfaces.Interface {
			return &interfaces.Interface{Name: name, HostIfName: "h-" + name, Type: interfaces.Interface_BRIDGE, Enabled: true}
		}
		port := func(master string) *interfaces.Interface {
			v := veth("x", "y", "")
			v.MasterInterface = master
			return v
		}
		master := func(want string) {
			t.Helper()
			index := 0
			if want != "" {
				index = expectLink(t, own, want).Index
			}
			if l := expectLink(t, own, "h-x"); l.Master != index || !l.Up {
				t.Errorf("port is %+v, expected the master %q (index %d)", l, want, index)
			}
		}
		key := "linux/interface-port/x"
		must(t, a.Apply(port("b1"), veth("y", "x", "left")))
		a.ExpectKey(pending, key)
		must(t, a.Apply(bridge("b1")))
		a.ExpectKey(configured, key)
		master("h-b1")
		index := expectLink(t, own, "h-x").Index
		must(t, a.Apply(bridge("b2"), port("b2")))
		master("h-b2")
		must(t, a.Delete(bridge("b2")))
		a.ExpectKey(pending, key)
		master("")
		must(t, a.Apply(port("b1")))
		master("h-b1")
		unchanged(t, a, port("b1"), veth("y", "x", "left"), bridge("b1"))
		a.Stop()
		a = linuxtest.Start(t, w)
		unchanged(t, a, port("b1"), veth("y", "x", "left"), bridge("b1"))

		must(t, own.SetMaster(t.Context(), index, 0)) // by another process
		a.Quiet("the port is back", func() bool { l, _ := find(t.Context(), own, "h-x"); return l.Master != 0 })
		must(t, a.Apply(port("")))
		master("")

		must(t, own.AddLink(t.Context(), "foreign", netlinkapi.Bridge{}, 0))
		must(t, own.SetMaster(t.Context(), index, expectLink(t, own, "foreign").Index))
		err := a.Apply(port("b1"))
		if text := linuxtest.ErrorText(err); !strings.Contains(text, `belongs to "foreign"`) {
			t.Errorf("error is %q", text)
		}
		master("foreign")
		must(t, a.Delete(port("b1"), veth("y", "x", "left"), bridge("b1")))
		expectLinks(t, own, "foreign")
	})
}

// TestMasterRefused: what cannot be a master, or not of this port, says why.
func TestMasterRefused(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		x, y := veth("x", "y", ""), veth("y", "x", "left")
		bridge := &interfaces.Interface{Name: "b", Type: interfaces.Interface_BRIDGE, Namespace: named("left")}
		x.MasterInterface = "b"
		if text := linuxtest.ErrorText(a.Apply(x, y, bridge)); !strings.Contains(text, "different network namespaces") {
			t.Errorf("error is %q", text)
		}
		x = proto.CloneOf(x)
		x.MasterInterface = "y"
		must(t, a.Apply(veth("y", "x", "")))
		if text := linuxtest.ErrorText(a.Apply(x)); !strings.Contains(text, "no bridge or bond") {
			t.Errorf("error is %q", text)
		}
	})
}

// TestBond: a bond sets up its ports and is in charge of their MAC address and MTU; a port
// that leaves is as its value says.
func TestBond(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		own := w.Open(t, "")
		bond := &interfaces.Interface{Name: "b", Type: interfaces.Interface_BOND, Enabled: true, Mtu: 1400,
			Link: &interfaces.Interface_Bond{Bond: &interfaces.BondLink{Mode: interfaces.BondLink_ACTIVE_BACKUP}}}
		x, y := veth("x", "y", ""), veth("y", "x", "")
		x.MasterInterface, x.PhysAddress, x.Mtu = "b", "02:00:00:00:00:77", 1500
		y.MasterInterface, y.Enabled = "b", false
		if err := a.Apply(bond); err != nil && w.Sim == nil && strings.Contains(err.Error(), netlinkapi.ErrUnsupported.Error()) {
			t.Skipf("SKIPPED: bonds are not tested on the kernel: %v", err)
		}
		must(t, a.Apply(x, y))
		master := expectLink(t, own, "b").Index
		for name, up := range map[string]bool{"h-x": true, "h-y": false} {
			if l := expectLink(t, own, name); l.Master != master || l.Up != up || l.MTU != 1400 {
				t.Errorf("port is %+v", l)
			}
		}
		unchanged(t, a, bond, x, y)
		a.Stop()
		a = linuxtest.Start(t, w)
		unchanged(t, a, bond, x, y)
		x = proto.CloneOf(x)
		x.MasterInterface = ""
		must(t, a.Apply(x))
		if l := expectLink(t, own, "h-x"); l.Master != 0 || !l.Up || l.MTU != 1500 || l.MAC.String() != x.PhysAddress {
			t.Errorf("link is %+v", l)
		}
		unchanged(t, a, bond, x, y)
		must(t, a.Delete(bond, x, y))
		expectLinks(t, own)
	})
}

// TestVRFParameter: the parameter of the namespace that VRFs need gets its former value when the last
// of them was deleted, also by the next agent, or could not be created. It stays for VRFs of other
// programs.
func TestVRFParameter(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		must(t, w.Create(w.Path("left")))
		left, stateDir := w.Open(t, "left"), t.TempDir()
		expect := func(when string, want int) {
			t.Helper()
			all, err := left.Sysctls(t.Context(), "", []string{netlinkapi.TCPAcceptL3Master})
			if got := all[netlinkapi.TCPAcceptL3Master]; err != nil || got != want {
				t.Errorf("%s: %s is %d (error %v), expected %d", when, netlinkapi.TCPAcceptL3Master, got, err, want)
			}
		}
		vrf := func(name string, table uint32) *interfaces.Interface {
			return &interfaces.Interface{Name: name, Type: interfaces.Interface_VRF_DEVICE, Namespace: named("left"), Enabled: true,
				Link: &interfaces.Interface_VrfDev{VrfDev: &interfaces.VrfDevLink{RoutingTable: table}}}
		}
		red, blue := vrf("red", 10), vrf("blue", 11)
		a := linuxtest.StartIn(t, w, stateDir)
		if err := a.Apply(red); err != nil {
			if !errors.Is(err, netlinkapi.ErrUnsupported) {
				t.Fatal(err)
			}
			expect("without a VRF that could be created", 0)
			t.Skipf("SKIPPED: the parameter that VRFs need is not tested: %v", err)
		}
		must(t, a.Apply(blue))
		expect("with VRFs", 1)
		must(t, a.Delete(red))
		expect("with one VRF", 1)
		a.Stop()
		a = linuxtest.StartIn(t, w, stateDir)
		unchanged(t, a, blue)
		must(t, a.Delete(blue))
		expect("without VRFs", 0)

		must(t, left.AddLink(t.Context(), "h-other", netlinkapi.VRF{Table: 12}, 0))
		must(t, a.Apply(red))
		must(t, a.Delete(red))
		expect("with a VRF of another program", 1)
		must(t, left.DeleteLink(t.Context(), nltest.MustLink(t, left, "h-other").Index))

		must(t, left.SetSysctl(t.Context(), "", netlinkapi.TCPAcceptL3Master, 1))
		must(t, a.Apply(red))
		must(t, a.Delete(red))
		expect("set before", 1)

		must(t, left.SetSysctl(t.Context(), "", netlinkapi.TCPAcceptL3Master, 0))
		if w.Sim != nil {
			w.Sim.Fail("AddLink", netlinkapi.ErrUnsupported, 1)
			if err := a.Apply(red); err == nil {
				t.Error("the VRF was created")
			}
			expect("without a VRF that could be created", 0)
		}
	})
}
