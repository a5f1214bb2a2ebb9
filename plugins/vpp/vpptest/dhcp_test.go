package vpptest_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	interfacesapi "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	rdapi "go.fd.io/govpp/binapi/rd_cp"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func dhcpLoop(name string) *interfaces.Interface {
	i := loop(name)
	i.SetDhcpClient = true
	return i
}

const (
	dhcpClient = "vpp/interface/dhcp-client/lo"
	dhcpLease  = "vpp/interface/dhcp-lease/lo"
)

// The client comes and goes with the wish for it, on either VPP.
func TestDHCPClient(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		i := dhcpLoop("lo")
		i.Vrf = 7
		b.Must(of(i))
		b.Want(states{ifKey("lo"): configured, dhcpClient: pending})
		b.Must(of(&l3.VrfTable{Id: 7}))
		b.Want(states{dhcpClient: configured, "vpp/interface/lo/vrf/7/ip-version/v4": configured, dhcpLease: gone})
		readBack(t, b, "vpp-interface", of(as(b, i)))
		b.InSync()
		b.Stop()

		b = vpptest.Start(t, target)
		if ops := b.FullResync(of(i, &l3.VrfTable{Id: 7})); len(ops) > 0 {
			t.Errorf("another agent had to %q", ops)
		}
		without := proto.CloneOf(i)
		without.SetDhcpClient = false
		b.Must(of(without))
		b.Want(states{dhcpClient: gone})
		readBack(t, b, "vpp-interface", of(as(b, without)))
		b.InSync()
	})
}

func indexIn(t *testing.T, b *vpptest.Harness, name string) uint32 {
	t.Helper()
	idx := indexOf(b, name)
	if idx == vppNone {
		t.Fatalf("interface %s does not exist", name)
	}
	return idx
}

// A lease comes by an event, with everything it says; who waits for an address
// has one; it goes with the client.
func TestDHCPLease(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	b := vpptest.Start(t, target)
	borrower := loop("borrower")
	borrower.Unnumbered = unnumbered("lo")
	b.Must(of(dhcpLoop("lo"), borrower))
	b.Want(states{"vpp/interface/unnumbered/borrower": pending})
	lease := func(address, router string) {
		t.Helper()
		if err := target.Sim.Lease(indexIn(t, b, "lo"), netip.MustParsePrefix(address), netip.MustParseAddr(router)); err != nil {
			t.Fatal(err)
		}
	}
	lease("192.0.2.7/24", "192.0.2.1")
	b.Await(dhcpLease, obtained)
	first, second := "vpp/interface/lo/address/from_dhcp/192.0.2.7/24", "vpp/interface/lo/address/from_dhcp/192.0.2.8/24"
	b.Await(first, configured)
	b.Await("vpp/interface/unnumbered/borrower", configured)
	got, _ := b.Dump("vpp-dhcp-lease")[dhcpLease].(*interfaces.DHCPLease)
	want := &interfaces.DHCPLease{
		InterfaceName: "lo", HostName: "lo", HostPhysAddress: readOne(b, "lo").PhysAddress,
		HostIpAddress: "192.0.2.7/24", RouterIpAddress: "192.0.2.1/24",
	}
	infratest.EqualMessages(t, "lease", got, want)
	leases, err := b.If.DHCPLeases()
	if err != nil {
		t.Fatal(err)
	}
	l, _ := leases.Get("lo")
	infratest.EqualMessages(t, "metadata", l, want)
	if ips := readOne(b, "lo").IpAddresses; len(ips) > 0 {
		t.Errorf("the leased address is taken for a configured one: %q", ips)
	}
	b.InSync()

	lease("192.0.2.8/24", "192.0.2.1")
	b.Await(second, configured)
	b.Await(first, gone)
	b.Must(of(loop("lo")))
	b.Await(dhcpLease, gone)
	b.Await(second, gone)
	b.Want(states{"vpp/interface/unnumbered/borrower": pending})
}

// What VPP does not report is seen at the next look: the end of a lease, and a
// lease of a client that an agent before this one started.
func TestDHCPLeaseWithoutEvent(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	first := vpptest.Start(t, target)
	first.Must(of(dhcpLoop("lo")))
	first.Stop()
	b := vpptest.Start(t, target, vpptest.UseIf(func(p *ifplugin.Plugin) {
		conf := ifplugin.DefaultConfig()
		conf.LeaseInterval = 10 * time.Millisecond
		ifplugin.UseConf(conf)(p)
	}))
	b.FullResync(of(dhcpLoop("lo")))
	b.Want(states{dhcpClient: configured})
	if err := target.Sim.Lease(indexIn(t, b, "lo"), netip.MustParsePrefix("192.0.2.7/24"), netip.Addr{}); err != nil {
		t.Fatal(err)
	}
	b.Await(dhcpLease, obtained)
	if err := target.Sim.Lease(indexIn(t, b, "lo"), netip.Prefix{}, netip.Addr{}); err != nil {
		t.Fatal(err)
	}
	b.Await(dhcpLease, gone)
	b.InSync()
}

// A lease that is there when the agent starts is found, and survives a resync.
func TestDHCPLeaseAtStart(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	first := vpptest.Start(t, target)
	first.Must(of(dhcpLoop("lo")))
	if err := target.Sim.Lease(indexIn(t, first, "lo"), netip.MustParsePrefix("192.0.2.7/24"), netip.Addr{}); err != nil {
		t.Fatal(err)
	}
	first.Await(dhcpLease, obtained)
	first.Stop()
	b := vpptest.Start(t, target)
	for _, op := range b.FullResync(of(dhcpLoop("lo"))) {
		if strings.HasPrefix(op, "delete") || strings.Contains(op, "config/") {
			t.Errorf("another agent had to %s", op)
		}
	}
	b.Await(dhcpLease, obtained)
	if !strings.Contains(target.Sim.Dump(), "address 192.0.2.7/24") {
		t.Errorf("the address is gone:\n%s", target.Sim.Dump())
	}
}

func TestIP6ND(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		key := "vpp/interface/ip6nd/lo"
		i := loop("lo")
		i.Ip6Nd = &interfaces.Interface_IP6ND{AddressAutoconfig: true}
		b.Must(of(i))
		b.Want(states{key: configured})
		readBack(t, b, "vpp-interface", of(as(b, i)))
		b.InSync()
		routes := proto.CloneOf(i)
		routes.Ip6Nd.InstallDefaultRoutes = true
		b.Must(of(routes))
		readBack(t, b, "vpp-interface", of(as(b, routes)))
		b.InSync()

		// VPP cannot be asked: a later agent sets it again.
		b.Stop()
		b = vpptest.Start(t, target)
		if ops := strings.Join(b.FullResync(of(routes)), " "); strings.Contains(ops, "delete") || !strings.Contains(ops, "create "+key) {
			t.Errorf("another agent did %q", ops)
		}
		b.InSync()
		b.Must(of(loop("lo")))
		b.Want(states{key: gone})
		b.InSync()
		if target.Sim != nil && strings.Contains(target.Sim.Dump(), "router advertisements") {
			t.Errorf("it still listens:\n%s", target.Sim.Dump())
		}
	})
}

// giveAddress gives an interface an address, behind the back of the agent.
func giveAddress(t *testing.T, b *vpptest.Harness, name, address string) {
	t.Helper()
	err := b.Mux.Conn().Call(t.Context(), &interfacesapi.SwInterfaceAddDelAddress{
		SwIfIndex: interface_types.InterfaceIndex(indexIn(t, b, name)), IsAdd: true,
		Prefix: ipconv.Interface(netip.MustParsePrefix(address)),
	}, &interfacesapi.SwInterfaceAddDelAddressReply{})
	if err != nil {
		t.Fatal(err)
	}
}

// Addresses that routers advertised are neither configured ones nor removed.
func TestAdvertisedAddresses(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	i := loop("lo", "2001:db8::1/64")
	i.Ip6Nd = &interfaces.Interface_IP6ND{AddressAutoconfig: true}
	b.Must(of(i))
	giveAddress(t, b, "lo", "2001:db8:1::99/64")
	b.InSync()
	readBack(t, b, "vpp-interface", of(as(b, i)))
}

// A VPP without the message: that value fails, and says what is missing.
func TestNoIP6ND(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	forget(t, target, (&rdapi.IP6NdAddressAutoconfig{}).GetMessageName())
	b := vpptest.Start(t, target)
	i := loop("lo")
	i.Ip6Nd = &interfaces.Interface_IP6ND{AddressAutoconfig: true}
	err := b.Commit(of(i), kvs.WithRetryDefault())
	if err == nil || !strings.Contains(err.Error(), "ip6_nd_address_autoconfig") {
		t.Errorf("error %v", err)
	}
	b.Want(states{ifKey("lo"): configured})
}
