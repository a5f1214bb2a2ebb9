package vpptest_test

import (
	"strings"
	"testing"

	bondapi "go.fd.io/govpp/binapi/bond"
	"go.fd.io/govpp/binapi/interface_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Members wait for their interfaces, join and leave while the bond stays, and
// keep their configured addresses, although VPP shows the address of the bond.
func TestBondMembers(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		one, two := loop("one"), loop("two")
		one.PhysAddress, two.PhysAddress = "02:00:00:00:00:01", "02:00:00:00:00:02"
		first, second := "vpp/bond/bond1/interface/one/", "vpp/bond/bond1/interface/two/"
		i := bond("bond1", 3, "two", "one")
		b.Must(of(i, one))
		b.Want(states{first: configured, second: pending, ifKey("bond1"): configured})
		b.InSync()
		b.Must(of(two))
		b.Want(states{second: configured})
		sorted := bond("bond1", 3, "one", "two")
		wantLink(t, b, sorted)
		for _, m := range []*interfaces.Interface{one, two} {
			if got := readOne(b, m.Name); got.GetPhysAddress() != m.PhysAddress {
				t.Errorf("%s has %s, expected %s", m.Name, got.GetPhysAddress(), m.PhysAddress)
			}
		}
		b.InSync()
		index := indexOf(b, "bond1")

		changed := proto.CloneOf(sorted)
		changed.GetBond().BondedInterfaces = changed.GetBond().BondedInterfaces[1:]
		changed.GetBond().BondedInterfaces[0].IsPassive = true
		b.Must(of(changed))
		b.Want(states{first: gone, second: configured})
		wantLink(t, b, changed)
		b.InSync()
		if now := indexOf(b, "bond1"); now != index {
			t.Errorf("the bond was created again: index %d, was %d", now, index)
		}

		// Taken out by hand: put back.
		err := b.Mux.Conn().Call(t.Context(), &bondapi.BondDetachMember{
			SwIfIndex: interface_types.InterfaceIndex(indexOf(b, "two")),
		}, &bondapi.BondDetachMemberReply{})
		if err != nil {
			t.Fatal(err)
		}
		if ops := strings.Join(b.Resync(), " "); ops != "create "+second {
			t.Errorf("resync did %q", ops)
		}
		b.InSync()
		b.Must(deleted(of(two)))
		b.Want(states{second: pending})
		b.Must(deleted(of(i)))
		b.Want(states{ifKey("one"): configured, second: gone})
		b.InSync()
	})
}

// VPP gives a bond the MAC address of its first member. The bond does not keep it when the member
// has it again.
func TestBondReturnsMAC(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		m := memif("m", 3, "")
		m.PhysAddress = "02:00:00:00:00:33"
		b.Must(of(m, bond("bo", 5, "m")))
		if mac := found(t, b, "bo").L2Address.String(); mac != m.PhysAddress {
			t.Fatalf("the bond has the MAC address %s: the test has no sense", mac)
		}
		b.Must(of(bond("bo", 5)))
		if mac := found(t, b, "bo").L2Address.String(); mac == m.PhysAddress {
			t.Errorf("the bond has the MAC address %s of its former member", mac)
		}
		if mac := found(t, b, "m").L2Address.String(); mac != m.PhysAddress {
			t.Errorf("the former member has the MAC address %s", mac)
		}
		b.InSync()

		chosen := bond("bo", 5, "m")
		chosen.PhysAddress = m.PhysAddress
		b.Must(of(chosen))
		chosen = proto.CloneOf(chosen)
		chosen.GetBond().BondedInterfaces = nil
		b.Must(of(chosen))
		if mac := found(t, b, "bo").L2Address.String(); mac != m.PhysAddress {
			t.Errorf("the bond has the MAC address %s, and should have %s", mac, m.PhysAddress)
		}
		b.InSync()
	})
}

// A bond without a MAC address of its own follows the address of its member, also when the item of the
// member gives the address back.
func TestBondFollowsMember(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		member := func(mac string) *interfaces.Interface {
			m := memif("m1", 41, "")
			m.PhysAddress = mac
			return m
		}
		bond := &interfaces.Interface{Name: "b1", Type: interfaces.Interface_BOND_INTERFACE, Enabled: true, Link: &interfaces.Interface_Bond{Bond: &interfaces.BondLink{
			Id: 41, Mode: interfaces.BondLink_XOR, Lb: interfaces.BondLink_L34, BondedInterfaces: []*interfaces.BondLink_BondedInterface{{Name: "m1"}},
		}}}
		b.Must(of(member("02:00:00:00:00:41"), bond))
		for _, mac := range []string{"02:00:00:00:00:42", ""} {
			b.FullResync(of(member(mac), bond))
			was, is := found(t, b, "m1").L2Address, found(t, b, "b1").L2Address
			if was != is || mac != "" && is.String() != mac || is.String() == "02:00:00:00:00:41" {
				t.Errorf("the member gets %q: it has %s, and the bond %s", mac, was, is)
			}
			b.InSync()
		}
	})
}
