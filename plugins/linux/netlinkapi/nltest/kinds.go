package nltest

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// kindCase is a link of one kind.
type kindCase struct {
	name    string
	parent  int
	first   netlinkapi.LinkParams
	changes []netlinkapi.LinkParams
	local   bool // it cannot leave its namespace
}

func kindCases(parent int) []kindCase {
	local, remote, other := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3")
	tunnel := netlinkapi.Tunnel{Local: local, Remote: remote, TTL: 64}
	vxlan := netlinkapi.VXLAN{VNI: 5, Remote: remote, Local: local, Port: 4789, TTL: 9, Learning: true}
	moved, quiet := vxlan, vxlan
	moved.Remote, moved.TTL = other, 10
	quiet.Learning = false
	return []kindCase{
		{"dummy", 0, netlinkapi.Dummy{}, nil, false},
		{"VRF", 0, netlinkapi.VRF{Table: 7}, nil, true},
		{"bridge", 0, netlinkapi.Bridge{Ageing: 300 * time.Second},
			[]netlinkapi.LinkParams{netlinkapi.Bridge{STP: true, Ageing: 10 * time.Second}, netlinkapi.Bridge{Ageing: time.Second}}, true},
		{"filtering bridge", 0, netlinkapi.Bridge{Ageing: 300 * time.Second, VLANFiltering: true},
			[]netlinkapi.LinkParams{netlinkapi.Bridge{Ageing: 300 * time.Second}}, true},
		{"bond", 0, netlinkapi.Bond{Mode: netlinkapi.BondLACP, MIIMon: 100 * time.Millisecond, LACPFast: true},
			[]netlinkapi.LinkParams{netlinkapi.Bond{Mode: netlinkapi.BondLACP, MIIMon: 50 * time.Millisecond, LACPFast: true, HashPolicy: 2}}, true},
		{"VLAN", parent, netlinkapi.VLAN{ID: 5, Protocol: netlinkapi.VLANProtocol}, nil, false},
		{"QinQ", parent, netlinkapi.VLAN{ID: 6, Protocol: netlinkapi.QinQProtocol}, nil, false},
		{"MACVLAN", parent, netlinkapi.MACVLAN{Mode: netlinkapi.MACVLANBridge},
			[]netlinkapi.LinkParams{netlinkapi.MACVLAN{Mode: netlinkapi.MACVLANPrivate}, netlinkapi.MACVLAN{Mode: netlinkapi.MACVLANVEPA}}, false},
		{"MACVLAN passthru", parent, netlinkapi.MACVLAN{Mode: netlinkapi.MACVLANPassthru}, nil, false},
		{"IPVLAN", parent, netlinkapi.IPVLAN{Mode: netlinkapi.IPVLANL3},
			[]netlinkapi.LinkParams{netlinkapi.IPVLAN{Mode: netlinkapi.IPVLANL2}}, false},
		{"VXLAN", 0, vxlan, []netlinkapi.LinkParams{moved, quiet}, false},
		{"VXLAN with a parent", parent, netlinkapi.VXLAN{VNI: 6, Remote: netip.MustParseAddr("239.1.1.1"), Port: 8472, TTL: 1, Learning: true}, nil, false},
		{"VXLAN over IPv6", 0, netlinkapi.VXLAN{VNI: 7, Remote: netip.MustParseAddr("fd00::2"), Port: 4789}, nil, false},
		{"GRE", 0, netlinkapi.GRE{Tunnel: tunnel, Key: 77}, nil, false},
		{"GRE with a parent", parent, netlinkapi.GRE{Tunnel: tunnel}, nil, false},
		{"IPIP", 0, netlinkapi.IPIP{Tunnel: tunnel}, nil, false},
		{"SIT", 0, netlinkapi.SIT{Tunnel: tunnel}, nil, false},
		{"TUN", 0, netlinkapi.TUN{Owner: 12, Group: 34}, nil, false},
		{"TAP", 0, netlinkapi.TUN{TAP: true, MultiQueue: true}, nil, false},
	}
}

// testKinds: links of each kind are what they were made from, can be changed as CanChange
// says, and carry their alias into another namespace. Kinds that the kernel lacks are
// skipped, loudly.
func testKinds(t *testing.T, w *World) {
	own, a := w.Open(t, ""), w.Make(t, "a")
	must(t, own.AddVeth(t.Context(), "va", "vb"))
	for _, c := range kindCases(MustLink(t, own, "va").Index) {
		t.Run(c.name, func(t *testing.T) { testKind(t, own, a, c) })
	}
}

func testKind(t *testing.T, own, a netlinkapi.Handle, c kindCase) {
	err := own.AddLink(t.Context(), "new", c.first, c.parent)
	if errors.Is(err, netlinkapi.ErrUnsupported) {
		t.Skipf("SKIPPED: %s is not tested on the kernel: %v", c.name, err)
	}
	must(t, err)
	expect(t, "add again", own.AddLink(t.Context(), "new", c.first, c.parent), netlinkapi.ErrExists)
	link := MustLink(t, own, "new")
	same := func(h netlinkapi.Handle, want netlinkapi.LinkParams) {
		t.Helper()
		if l := MustLink(t, h, "new"); l.Params != want || l.Kind != want.Kind() || l.Up {
			t.Errorf("link is %+v, expected %+v", l, want)
		}
	}
	same(own, c.first)
	for _, p := range c.changes {
		if !netlinkapi.CanChange(c.first, p) {
			t.Errorf("%+v is said not to become %+v", c.first, p)
		}
		must(t, own.ChangeLink(t.Context(), link.Index, p))
		same(own, p)
	}
	must(t, own.SetAlias(t.Context(), link.Index, "mine"))
	h := own
	if c.local {
		if err := own.Move(t.Context(), link.Index, a); err == nil {
			t.Error("left its namespace")
		}
	} else {
		h = a
		must(t, own.Move(t.Context(), link.Index, a))
		if l := MustLink(t, a, "new"); l.Alias != "mine" || len(c.changes) == 0 && l.Params != c.first {
			t.Errorf("moved link is %+v", l)
		}
	}
	must(t, h.DeleteLink(t.Context(), MustLink(t, h, "new").Index))
	_, err = h.LinkByName(t.Context(), "new")
	expect(t, "find it after the deletion", err, netlinkapi.ErrNotFound)
}

// testCanChange: what takes another link is known.
func testCanChange(t *testing.T, _ *World) {
	for from, to := range map[netlinkapi.LinkParams]netlinkapi.LinkParams{
		netlinkapi.VLAN{ID: 5}: netlinkapi.VLAN{ID: 6}, netlinkapi.Bridge{}: netlinkapi.Dummy{}, netlinkapi.VXLAN{VNI: 5}: netlinkapi.VXLAN{VNI: 9},
		netlinkapi.MACVLAN{Mode: netlinkapi.MACVLANPassthru}: netlinkapi.MACVLAN{Mode: netlinkapi.MACVLANBridge},
		netlinkapi.Bond{}: netlinkapi.Bond{Mode: 1},
	} {
		if netlinkapi.CanChange(from, to) {
			t.Errorf("%+v is said to become %+v", from, to)
		}
	}
}

// testParentMTUs: a link is not larger than its parent. When that gets smaller, a MACVLAN does as well, and
// stays so when the parent gets larger again; a VXLAN does not.
func testParentMTUs(t *testing.T, w *World) {
	own, a := w.Open(t, ""), w.Make(t, "a")
	must(t, own.AddVeth(t.Context(), "va", "vb"))
	parent := MustLink(t, own, "va").Index
	must(t, own.AddLink(t.Context(), "m", netlinkapi.MACVLAN{Mode: netlinkapi.MACVLANBridge}, parent))
	must(t, own.Move(t.Context(), MustLink(t, own, "m").Index, a))
	must(t, own.AddLink(t.Context(), "x", netlinkapi.VXLAN{VNI: 5, Port: 4789, Learning: true, Remote: netip.MustParseAddr("10.0.0.1")}, parent))
	mtus := func(want ...int) {
		t.Helper()
		if m, x := MustLink(t, a, "m"), MustLink(t, own, "x"); m.MTU != want[0] || x.MTU != want[1] {
			t.Errorf("MTUs are %d and %d, expected %d", m.MTU, x.MTU, want)
		}
	}
	mtus(1500, 1450)
	must(t, own.SetMTU(t.Context(), parent, 1400))
	mtus(1400, 1450)
	must(t, own.SetMTU(t.Context(), parent, 9000))
	mtus(1400, 1450)
	for h, link := range map[netlinkapi.Handle]string{a: "m", own: "x"} {
		i := MustLink(t, h, link).Index
		if err := h.SetMTU(t.Context(), i, 9001); err == nil {
			t.Errorf("%s is larger than its parent", link)
		}
	}
	must(t, own.SetMTU(t.Context(), MustLink(t, own, "x").Index, 8950))
	must(t, a.SetMTU(t.Context(), MustLink(t, a, "m").Index, 9000))
	mtus(9000, 8950)
}

// testParents: a link that stands on another one ends with it, in whatever namespace it is.
func testParents(t *testing.T, w *World) {
	own, a := w.Open(t, ""), w.Make(t, "a")
	must(t, own.AddVeth(t.Context(), "va", "vb"))
	parent := MustLink(t, own, "va").Index
	mv := netlinkapi.MACVLAN{Mode: netlinkapi.MACVLANBridge}
	must(t, own.AddLink(t.Context(), "m1", mv, parent))
	must(t, own.AddLink(t.Context(), "m2", mv, parent))
	must(t, own.Move(t.Context(), MustLink(t, own, "m2").Index, a))
	m1, va := MustLink(t, own, "m1"), MustLink(t, own, "va")
	if m1.MTU != va.MTU || m1.MAC.String() == va.MAC.String() {
		t.Errorf("link is %+v on %+v", m1, va)
	}
	expect(t, "a parent that is not there", own.AddLink(t.Context(), "m3", mv, 4711), netlinkapi.ErrNotFound)
	if err := own.AddLink(t.Context(), "m3", mv, 0); err == nil {
		t.Error("made without a parent")
	}
	if err := own.AddLink(t.Context(), "m3", netlinkapi.MACVLAN{Mode: netlinkapi.MACVLANPassthru}, parent); err == nil {
		t.Error("another link has a parent that PASSTHRU needs alone")
	}
	must(t, own.DeleteLink(t.Context(), parent))
	for _, c := range []struct {
		h    netlinkapi.Handle
		name string
	}{{own, "m1"}, {a, "m2"}} {
		Poll(t, c.name+" is gone", func() bool {
			_, err := c.h.LinkByName(t.Context(), c.name)
			return errors.Is(err, netlinkapi.ErrNotFound)
		})
	}
	x := netlinkapi.VXLAN{VNI: 5, Port: 4789, Learning: true}
	must(t, own.AddLink(t.Context(), "x1", x, 0))
	expect(t, "a second VXLAN for the same packets", own.AddLink(t.Context(), "x2", x, 0), netlinkapi.ErrExists)
	x.Remote = netip.MustParseAddr("239.1.1.1")
	if err := own.AddLink(t.Context(), "x3", x, 0); err == nil {
		t.Error("made for a multicast group without a parent")
	}
}

// testBridgePorts: links enter and leave bridges, and are in one at most.
func testBridgePorts(t *testing.T, w *World) {
	own := w.Open(t, "")
	must(t, own.AddVeth(t.Context(), "va", "vb"))
	for _, name := range []string{"b1", "b2"} {
		must(t, own.AddLink(t.Context(), name, netlinkapi.Bridge{Ageing: time.Minute}, 0))
	}
	port, b1, b2 := MustLink(t, own, "va"), MustLink(t, own, "b1"), MustLink(t, own, "b2")
	must(t, own.SetUp(t.Context(), port.Index, true))
	master := func(want int) {
		t.Helper()
		if l := MustLink(t, own, "va"); l.Master != want || !l.Up || l.MAC.String() != port.MAC.String() {
			t.Errorf("port is %+v, expected the master %d", l, want)
		}
	}
	must(t, own.SetMaster(t.Context(), port.Index, b1.Index))
	master(b1.Index)
	must(t, own.SetMaster(t.Context(), port.Index, b2.Index))
	master(b2.Index)
	must(t, own.SetMaster(t.Context(), port.Index, 0))
	master(0)
	must(t, own.SetMaster(t.Context(), port.Index, b1.Index))
	if err := own.SetMaster(t.Context(), b2.Index, b1.Index); err == nil {
		t.Error("a bridge is a port of a bridge")
	}
	if err := own.SetMaster(t.Context(), MustLink(t, own, "lo").Index, b1.Index); err == nil {
		t.Error("lo is a port of a bridge")
	}
	must(t, own.DeleteLink(t.Context(), b1.Index))
	master(0)
}

// testBondPorts: a bond takes over its ports.
func testBondPorts(t *testing.T, w *World) {
	own := w.Open(t, "")
	must(t, own.AddVeth(t.Context(), "va", "vb"))
	err := own.AddLink(t.Context(), "bond", netlinkapi.Bond{Mode: 1, MIIMon: 100 * time.Millisecond}, 0)
	if errors.Is(err, netlinkapi.ErrUnsupported) {
		t.Skipf("SKIPPED: ports of bonds are not tested on the kernel: %v", err)
	}
	must(t, err)
	port, bond := MustLink(t, own, "va"), MustLink(t, own, "bond")
	must(t, own.SetUp(t.Context(), port.Index, true))
	if err := own.SetMaster(t.Context(), port.Index, bond.Index); err == nil {
		t.Error("a link that is up was taken")
	}
	must(t, own.SetUp(t.Context(), port.Index, false))
	must(t, own.SetMaster(t.Context(), port.Index, bond.Index))
	if l := MustLink(t, own, "va"); !l.Up || l.Master != bond.Index {
		t.Errorf("port is %+v", l)
	}
	must(t, own.SetMaster(t.Context(), port.Index, 0))
	if l := MustLink(t, own, "va"); l.Up || l.Master != 0 || l.MAC.String() != port.MAC.String() || l.MTU != port.MTU {
		t.Errorf("port is %+v after it left, it was %+v", l, port)
	}
}
