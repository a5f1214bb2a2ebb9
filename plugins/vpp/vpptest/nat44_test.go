//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be understood

package vpptest_test

import (
	"strings"
	"testing"

	ed "go.fd.io/govpp/binapi/nat44_ed"
	ei "go.fd.io/govpp/binapi/nat44_ei"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// dnat is a group with one mapping of a port to others.
func dnat(label, external string, port uint32, locals ...string) *nat.DNat44 {
	m := &nat.DNat44_StaticMapping{ExternalIp: external, ExternalPort: port}
	for _, l := range locals {
		m.LocalIps = append(m.LocalIps, &nat.DNat44_StaticMapping_LocalIP{LocalIp: l, LocalPort: port, Probability: 1})
	}
	return &nat.DNat44{Label: label, StMappings: []*nat.DNat44_StaticMapping{m}}
}

func pool(first, last string) *nat.Nat44AddressPool {
	return &nat.Nat44AddressPool{VrfId: 4294967295, FirstIp: first, LastIp: last}
}

// Endpoint-independent NAT44 has interfaces, pools and mappings, too; what it lacks waits. When
// the kind changes, everything is made again in the other one.
func TestNAT44EndpointIndependent(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		global := &nat.Nat44Global{EndpointIndependent: true, Forwarding: true, Timeouts: &nat.Nat44Global_Timeouts{Icmp: 5}, MaxUsers: 10}
		simple := dnat("a/b", "192.0.2.10", 80, "10.1.1.2")
		simple.IdMappings = []*nat.DNat44_IdentityMapping{{IpAddress: "192.0.2.11", Port: 22}, {Interface: "lo"}}
		balanced := dnat("balanced", "192.0.2.10", 81, "10.1.1.2", "10.1.1.3")
		twice := pool("198.51.100.1", "")
		twice.TwiceNat = true
		wanted := of(
			loop("lo", "10.1.1.1/24"), loop("out"), global, pool("192.0.2.10", "192.0.2.12"), twice, simple, balanced,
			&nat.Nat44Interface{Name: "lo", NatInside: true}, &nat.Nat44Interface{Name: "out", OutputFeature: true},
			&nat.Nat44VrfTable{SrcVrfId: 0},
		)
		waiting := states{key(balanced): pending, key(twice): pending, key(&nat.Nat44VrfTable{}): pending}
		works := func() {
			t.Helper()
			b.Want(waiting)
			for k := range wanted {
				if _, waits := waiting[k]; !waits {
					b.Await(k, configured)
				}
			}
			b.InSync()
		}
		b.Must(wanted)
		works()
		b.Stop()
		b = vpptest.Start(t, target)
		if ops := b.FullResync(wanted); len(ops) > 0 {
			t.Errorf("another agent had to %q", ops)
		}
		works()
		readBack(t, b, "vpp-nat44-dnat", of(simple))

		dependent := proto.CloneOf(global)
		dependent.EndpointIndependent, dependent.MaxUsers = false, 0
		b.Must(of(dependent))
		allConfigured(t, b, wanted)
		readBack(t, b, "vpp-nat44-dnat", of(simple, balanced))
		b.InSync()
		b.Must(of(global))
		works()
		b.Must(deleted(wanted))
		b.InSync()
	})
}

// VPP would run both kinds at once.
func TestNAT44OfAnotherClient(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		call := func(on bool) {
			t.Helper()
			if err := b.Mux.Conn().Call(t.Context(), &ei.Nat44EiPluginEnableDisable{Enable: on}, &ei.Nat44EiPluginEnableDisableReply{}); err != nil {
				t.Fatal(err)
			}
		}
		b.Must(of(loop("lo")))
		call(true)
		global := of(&nat.Nat44Global{})
		err := b.Commit(global)
		if want := "endpoint_independent: false, but the endpoint-independent NAT44 is enabled, by another client of VPP"; err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
		call(false)
		b.Resync()
		allConfigured(t, b, global)
	})
}

// The global item lists interfaces and addresses itself, in the deprecated form, beside items of
// their own.
func TestNAT44Deprecated(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		global := &nat.Nat44Global{
			NatInterfaces: []*nat.Nat44Global_Interface{{Name: "lo", IsInside: true}, {Name: "lo"}, {Name: "later", OutputFeature: true}},
			AddressPool:   []*nat.Nat44Global_Address{{Address: "192.0.2.1", VrfId: 4294967295}, {Address: "192.0.2.1", TwiceNat: true}},
		}
		own := of(loop("lo", "10.1.1.1/24"), loop("own"), &nat.Nat44Interface{Name: "own", NatOutside: true}, pool("192.0.2.2", ""))
		b.Must(own)
		b.Must(of(global))
		parts := states{
			"vpp/nat44/interface/lo/feature/in": configured, "vpp/nat44/interface/lo/feature/out": configured,
			"vpp/nat44/interface/later/feature/out":    pending,
			"vpp/nat44/address/192.0.2.1/twice-nat/on": configured, "vpp/nat44/address/192.0.2.1/twice-nat/off": configured,
		}
		b.Want(parts)
		allConfigured(t, b, own)
		b.InSync()
		b.Must(of(loop("later")))
		b.Await("vpp/nat44/interface/later/feature/out", configured)
		all := of(global, loop("later"))
		for k, v := range own {
			all[k] = v
		}
		b.Stop()
		b = vpptest.Start(t, target)
		if ops := b.FullResync(all); len(ops) > 0 {
			t.Errorf("another agent had to %q", ops)
		}
		readBack(t, b, "vpp-nat44-global", of(global))
		readBack(t, b, "vpp-nat44-interface", of(&nat.Nat44Interface{Name: "own", NatOutside: true}))
		readBack(t, b, "vpp-nat44-address-pool", of(pool("192.0.2.2", "")))
		b.Must(of(&nat.Nat44Global{}))
		b.InSync()
		readBack(t, b, "vpp-nat44-address-pool", of(pool("192.0.2.2", "")))
		b.Must(deleted(all))
		b.InSync()
	})
}

// A mapping with an address for twice-NAT waits for a pool with it.
func TestNAT44TwiceNATPool(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		twice := pool("198.51.100.1", "198.51.100.9")
		twice.TwiceNat = true
		d := dnat("twice", "192.0.2.10", 80, "10.1.1.2")
		d.StMappings[0].TwiceNat, d.StMappings[0].TwiceNatPoolIp = nat.DNat44_StaticMapping_ENABLED, "198.51.100.5"
		b.Must(of(&nat.Nat44Global{}, d))
		b.Want(states{key(d): pending})
		b.Must(of(twice))
		b.Want(states{key(d): configured})
		b.InSync()
		smaller := proto.CloneOf(twice)
		smaller.LastIp, smaller.Name = "198.51.100.4", "smaller"
		b.Must(deleted(of(twice)))
		b.Want(states{key(d): pending})
		b.Must(of(smaller))
		b.Want(states{key(d): pending})
		b.Must(deleted(of(smaller)))
		b.Must(of(&nat.Nat44Global{AddressPool: []*nat.Nat44Global_Address{{Address: "198.51.100.5", TwiceNat: true}}}))
		b.Await(key(d), configured)
		b.InSync()
	})
}

// A mapping follows the address of its interface; that VPP lists it twice is no difference.
func TestNAT44InterfaceAddress(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		d := dnat("of an interface", "", 80, "10.1.1.2")
		d.StMappings[0].ExternalInterface = "lo"
		d.StMappings = append(d.StMappings, dnat("", "192.0.2.10", 80, "10.1.1.2").StMappings...)
		d.IdMappings = []*nat.DNat44_IdentityMapping{{Interface: "lo", Port: 22}}
		b.Must(of(&nat.Nat44Global{}, d))
		b.Want(states{key(d): pending})
		for _, lo := range []*interfaces.Interface{loop("lo"), loop("lo", "10.1.1.1/24"), loop("lo", "10.1.2.1/24"), loop("lo")} {
			b.Must(of(lo))
			b.Want(states{key(d): configured})
			readBack(t, b, "vpp-nat44-dnat", of(d))
			b.InSync()
		}
		b.Must(deleted(of(loop("lo"))))
		b.Want(states{key(d): pending})
		readBack(t, b, "vpp-nat44-dnat", nil)
		b.InSync()
	})
}

// Of a pool that overlaps with another one nothing is left; what another client has is
// replaced.
func TestNAT44Pools(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		byHand := &ed.Nat44AddDelAddressRange{IsAdd: true, FirstIPAddress: [4]byte{192, 0, 2, 2}, LastIPAddress: [4]byte{192, 0, 2, 3}, VrfID: 7}
		b.Must(of(&nat.Nat44Global{}))
		if err := b.Mux.Conn().Call(t.Context(), byHand, &ed.Nat44AddDelAddressRangeReply{}); err != nil {
			t.Fatal(err)
		}
		first, second := pool("192.0.2.1", "192.0.2.4"), pool("192.0.2.3", "192.0.2.9")
		second.Name = "second"
		b.Must(of(first))
		readBack(t, b, "vpp-nat44-address-pool", of(first))
		want := "first_ip: 192.0.2.3 is in config/vpp/nat/v2/nat44-pool/vrf/4294967295/address/192.0.2.1-192.0.2.4 already"
		if err := b.Commit(of(second)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
		readBack(t, b, "vpp-nat44-address-pool", of(first))
		b.Must(deleted(of(first)))
		b.Resync()
		allConfigured(t, b, of(second))
		b.InSync()
	})
}
