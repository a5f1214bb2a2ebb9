//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be understood

package vpptest_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.fd.io/govpp/binapi/ip"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
	nat64 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat64"
)

// receivedIn are the VRF tables, of those up to 2, in which VPP receives an address of NAT.
func receivedIn(t *testing.T, b *vpptest.Harness, addr string) (tables []uint32) {
	t.Helper()
	for table := range uint32(3) {
		if b.Sim != nil {
			if strings.Contains(b.Sim.Dump(), fmt.Sprintf("receives %s in table %d ", addr, table)) {
				tables = append(tables, table)
			}
			continue
		}
		routes, err := binapi.Dump[*ip.IPRouteV2Details](t.Context(), b.Mux.Conn(), &ip.IPRouteV2Dump{Table: ip.IPTable{TableID: table}})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range routes {
			if r.Route.Prefix.String() == addr+"/32" {
				tables = append(tables, table)
			}
		}
	}
	return tables
}

// VPP receives the outside addresses in the table of the outside interface, whatever the history
// of both; nothing stays when they go.
func TestNAT44FollowsTable(t *testing.T) {
	for name, on := range map[string]values{
		"outside": of(&nat.Nat44Global{Forwarding: true}, &nat.Nat44Interface{Name: "out", NatOutside: true}),
		"both":    of(&nat.Nat44Global{Forwarding: true}, &nat.Nat44Interface{Name: "out", NatOutside: true, NatInside: true}),
		"output":  of(&nat.Nat44Global{Forwarding: true}, &nat.Nat44Interface{Name: "out", OutputFeature: true}),
		"global":  of(&nat.Nat44Global{Forwarding: true, NatInterfaces: []*nat.Nat44Global_Interface{{Name: "out"}}}),
		"endpoint-independent": of(&nat.Nat44Global{Forwarding: true, EndpointIndependent: true},
			&nat.Nat44Interface{Name: "out", NatOutside: true}),
	} {
		t.Run(name, func(t *testing.T) {
			outside := []string{"203.0.113.1", "203.0.113.9"}
			maps.Copy(on, of(pool(outside[0], ""), dnat("m", outside[1], 0, "10.1.1.2")))
			vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) { natFollowsTable(t, target, on, outside) })
		})
	}
}

// The same for NAT64.
func TestNAT64FollowsTable(t *testing.T) {
	const outside = "203.0.113.1"
	on := of(&nat64.Global{}, &nat64.Interface{Name: "out", Outside: true}, &nat64.Pool{FirstIp: outside})
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) { natFollowsTable(t, target, on, []string{outside}) })
}

// VPP receives the addresses of the pools of NAT64 in the table of each outside interface, in whatever
// order interfaces and pools come, and no longer without them.
func TestNAT64ReceivesOnEveryOutsideInterface(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		in := func(name string, vrf uint32) *interfaces.Interface {
			i := loop(name, fmt.Sprintf("10.64.%d.1/24", vrf))
			i.Vrf = vrf
			return i
		}
		const first, second = "203.0.113.1", "203.0.113.2"
		others := of(&nat64.Global{}, in("a", 1), in("b", 2), in("c", 0), &l3.VrfTable{Id: 1}, &l3.VrfTable{Id: 2},
			&l3.VrfTable{Id: 1, Protocol: l3.VrfTable_IPV6}, &l3.VrfTable{Id: 2, Protocol: l3.VrfTable_IPV6})
		ifs := of(&nat64.Interface{Name: "a", Inside: true, Outside: true}, &nat64.Interface{Name: "b", Outside: true}, &nat64.Interface{Name: "c", Inside: true})
		pools := func(last string) values { return of(&nat64.Pool{Name: "pool", FirstIp: first, LastIp: last}) }
		check := func(when, addr string, tables ...uint32) {
			t.Helper()
			if got := receivedIn(t, b, addr); !slices.Equal(got, tables) {
				t.Errorf("%s: VPP receives %s in the tables %d, expected %d", when, addr, got, tables)
			}
			b.InSync()
		}
		b.Must(others)
		for _, order := range [][]values{{ifs, pools("")}, {pools(""), ifs}} {
			for _, v := range order {
				b.Must(v)
			}
			allConfigured(t, b, ifs)
			check("created", first, 1, 2)
			b.Must(pools(second))
			check("an address more", second, 1, 2)
			b.Must(pools(""))
			check("an address less", second)
			check("an address less", first, 1, 2)
			b.Must(deleted(order[0]))
			check("one half deleted", first)
			b.Must(deleted(order[1]))
			check("deleted", first)
		}
		b.Must(deleted(others))
	})
}

func natFollowsTable(t *testing.T, target vpptest.Target, on values, outside []string) {
	b := vpptest.Start(t, target)
	out := func(vrf uint32, addrs ...string) *interfaces.Interface {
		o := proto.CloneOf(loop("out", addrs...))
		o.Vrf = vrf
		return o
	}
	all := of(&l3.VrfTable{Id: 1}, &l3.VrfTable{Id: 2}, &l3.VrfTable{Id: 2, Protocol: l3.VrfTable_IPV6})
	maps.Copy(all, on)
	b.Must(all)
	check := func(when string, tables ...uint32) {
		t.Helper()
		for _, addr := range outside {
			if got := receivedIn(t, b, addr); !slices.Equal(got, tables) {
				t.Errorf("%s: VPP receives %s in the tables %d, expected %d", when, addr, got, tables)
			}
		}
		b.InSync()
	}
	b.Must(of(out(1, "192.0.2.1/24")))
	allConfigured(t, b, all)
	check("created", 1)
	b.Must(of(out(2, "192.0.2.1/24")))
	allConfigured(t, b, all)
	check("another table", 2)
	b.Must(of(out(0, "192.0.2.1/24")))
	check("table 0", 0)
	b.Must(of(out(2, "192.0.2.1/24", "2001:db8::1/64")))
	check("both versions of IP", 2)
	b.Must(of(out(2)))
	allConfigured(t, b, all)
	check("without addresses", 0)
	b.Must(of(out(1, "192.0.2.1/24")))
	check("with addresses again", 1)
	lender := loop("lender", "192.0.2.1/24")
	lender.Vrf = 2
	borrower := out(0)
	borrower.Unnumbered = &interfaces.Interface_Unnumbered{InterfaceWithIp: "lender"}
	b.Must(of(lender, borrower))
	allConfigured(t, b, all)
	check("unnumbered", 2)
	lender = proto.CloneOf(lender)
	lender.Vrf = 1
	b.Must(of(lender))
	check("the lender in another table", 1)
	b.Must(deleted(of(out(0))))
	check("without the interface")
	b.Must(of(out(2, "192.0.2.1/24")))
	check("with the interface again", 2)
	b.Must(deleted(all))
	check("everything deleted")
}
