package vpptest_test

import (
	"strings"
	"testing"

	"go.fd.io/govpp/api"
	bondapi "go.fd.io/govpp/binapi/bond"
	"go.fd.io/govpp/binapi/interface_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

func bond(name string, id uint32, members ...string) *interfaces.Interface {
	l := &interfaces.BondLink{Id: id, Mode: interfaces.BondLink_XOR, Lb: interfaces.BondLink_L34}
	for _, m := range members {
		l.BondedInterfaces = append(l.BondedInterfaces, &interfaces.BondLink_BondedInterface{Name: m})
	}
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_BOND_INTERFACE, Enabled: true,
		Link: &interfaces.Interface_Bond{Bond: l},
	}
}

func TestBond(t *testing.T) {
	kind{
		make: func() *interfaces.Interface {
			i := bond("bond1", 3)
			i.PhysAddress, i.IpAddresses = "02:00:00:00:00:03", []string{"10.1.1.1/24"}
			return i
		},
		relink: func(i *interfaces.Interface) { i.GetBond().Mode = interfaces.BondLink_LACP },
		byHand: func(idx uint32, _ *interfaces.Interface) (api.Message, api.Message) {
			return &bondapi.BondDelete{SwIfIndex: interface_types.InterfaceIndex(idx)}, &bondapi.BondDeleteReply{}
		},
		real: true,
	}.run(t)
}

// Members wait for their interfaces, come and go while the bond stays, and
// keep the addresses that they were given, although VPP shows that of the bond.
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

// An ID that is in use, and an interface in two bonds: the errors name the owner.
func TestBondConflicts(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(of(bond("bond1", 3, "one"), loop("one")))
		err := b.Commit(of(bond("bond2", 3)))
		if want := `bond.id: 3: VPP has it already, as interface "bond1" (BondEthernet3): `; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
		b.Want(states{ifKey("bond2"): failed})
		err = b.Commit(of(bond("bond2", 4, "one")))
		if want := `bond.bonded_interfaces.name: "one": is in bond "bond1" (ID 3) already`; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
		b.Want(states{ifKey("bond2"): configured, "vpp/bond/bond2/interface/one/": failed})
		b.Must(deleted(of(bond("bond1", 3))))
		b.Resync()
		b.Want(states{"vpp/bond/bond2/interface/one/": configured})
	})
}

func TestInvalidBond(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	wantInvalid(t, b, bond("b", 1, "one", "two"), map[string]func(*interfaces.Interface){
		"bond.mode: UNKNOWN, expected":                                  func(i *interfaces.Interface) { i.GetBond().Mode = 0 },
		"bond.mode: 99, expected":                                       func(i *interfaces.Interface) { i.GetBond().Mode = 99 },
		"bond.lb: RR, expected L2, L34 or L23 in mode XOR":              func(i *interfaces.Interface) { i.GetBond().Lb = interfaces.BondLink_RR },
		"bond.bonded_interfaces[1].name: \"one\" is listed twice":       func(i *interfaces.Interface) { i.GetBond().BondedInterfaces[1].Name = "one" },
		"bond.bonded_interfaces[1].name: empty":                         func(i *interfaces.Interface) { i.GetBond().BondedInterfaces[1].Name = "" },
		"bond.bonded_interfaces[0].name: is the bond itself":            func(i *interfaces.Interface) { i.GetBond().BondedInterfaces[0].Name = "b" },
		"link: is MemifLink, expected BondLink for type BOND_INTERFACE": func(i *interfaces.Interface) { i.Link = memif("x", 1, "").Link },
	})
}
