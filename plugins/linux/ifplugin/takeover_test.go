package ifplugin_test

import (
	"net"
	"net/netip"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
)

// former makes links, as the predecessor does.
type former struct {
	*testing.T
	netlinkapi.Handle
}

func (f former) finish(host, alias string, addrs ...string) {
	f.Helper()
	i := nltest.MustLink(f.T, f.Handle, host).Index
	must(f.T, f.SetAlias(f.Context(), i, alias))
	must(f.T, f.SetUp(f.Context(), i, true))
	for _, a := range addrs {
		must(f.T, f.AddAddress(f.Context(), netlinkapi.Address{Link: i, Prefix: netip.MustParsePrefix(a)}))
	}
}

// aliases returns the aliases of the links in a namespace.
func aliases(t *testing.T, h netlinkapi.Handle) (all []string) {
	t.Helper()
	links, err := h.Links(t.Context())
	must(t, err)
	for _, l := range links {
		if l.Alias != "" {
			all = append(all, l.Name+" "+l.Alias)
		}
	}
	slices.Sort(all)
	return all
}

// An agent takes over what the predecessor made, without an operation, and leaves it so
// that the predecessor finds it again.
func TestTakenOverFromThePredecessor(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own, left := former{t, w.Open(t, "")}, former{t, w.Make(t, "left")}
		must(t, own.AddVeth(t.Context(), "h-x", "h-y"))
		must(t, own.Move(t.Context(), nltest.MustLink(t, own.Handle, "h-y").Index, left.Handle))
		own.finish("h-x", "/vnf-agent/test/x/y", "10.1.0.1/24")
		left.finish("h-y", "/vnf-agent/test/y/x", "10.1.0.2/24", "fd00:1::2/64")
		left.finish("lo", "/vnf-agent/test/lo1")
		i := nltest.MustLink(t, own.Handle, "h-x").Index
		must(t, own.AddRoute(t.Context(), netlinkapi.Route{Link: i, Table: netlinkapi.MainTable, Dst: netip.MustParsePrefix("10.9.0.0/24"),
			Gateway: netip.MustParseAddr("10.1.0.2"), Protocol: netlinkapi.ProtocolBoot}))
		must(t, own.SetNeighbour(t.Context(), netlinkapi.Neighbour{Link: i, IP: netip.MustParseAddr("10.1.0.7"), MAC: net.HardwareAddr{2, 0, 0, 0, 0, 7}}))
		values := []proto.Message{
			veth("x", "y", "", "10.1.0.1/24"),
			veth("y", "x", "left", "10.1.0.2/24", "fd00:1::2/64"),
			&interfaces.Interface{Name: "lo1", Type: interfaces.Interface_LOOPBACK, Namespace: named("left"), Enabled: true},
			&l3.Route{OutgoingInterface: "x", DstNetwork: "10.9.0.0/24", GwAddr: "10.1.0.2", Scope: l3.Route_GLOBAL},
			&l3.ARPEntry{Interface: "x", IpAddress: "10.1.0.7", HwAddress: "02:00:00:00:00:07"},
		}
		if w.Sim != nil { // kernels without dummy and VRF devices are common
			must(t, left.AddLink(t.Context(), "h-d", netlinkapi.Dummy{}, 0))
			left.finish("h-d", "/vnf-agent/test/d", "10.2.0.1/32")
			must(t, left.AddLink(t.Context(), "h-red", netlinkapi.VRF{Table: 10}, 0))
			left.finish("h-red", "/vnf-agent/test/red")
			values = append(values,
				&interfaces.Interface{Name: "d", Type: interfaces.Interface_DUMMY, HostIfName: "h-d", Namespace: named("left"), Enabled: true, IpAddresses: []string{"10.2.0.1/32"}},
				&interfaces.Interface{Name: "red", Type: interfaces.Interface_VRF_DEVICE, HostIfName: "h-red", Namespace: named("left"), Enabled: true,
					Link: &interfaces.Interface_VrfDev{VrfDev: &interfaces.VrfDevLink{RoutingTable: 10}}})
		}
		ownBefore, leftBefore := aliases(t, own.Handle), aliases(t, left.Handle)

		a := linuxtest.Start(t, w)
		must(t, a.Resync(values...))
		if ops := a.Executed(); len(ops) != 0 {
			t.Errorf("taking over did %v", ops)
		}
		a.Expect(configured, values...)

		// A change is made in place, and one end of a pair can be deleted and created again.
		x := veth("x", "y", "", "10.1.0.1/24")
		x.Mtu = 1400
		must(t, a.Apply(x))
		must(t, a.Delete(values[1]))
		must(t, a.Apply(values[1]))
		must(t, a.Apply(values[0]))
		a.Expect(configured, values...)
		unchanged(t, a, values...)
		a.Stop()
		if ownAfter, leftAfter := aliases(t, own.Handle), aliases(t, left.Handle); !slices.Equal(ownBefore, ownAfter) || !slices.Equal(leftBefore, leftAfter) {
			t.Errorf("the aliases were %q and %q, are %q and %q", ownBefore, leftBefore, ownAfter, leftAfter)
		}

		// The links of a predecessor with another label are foreign.
		must(t, own.AddVeth(t.Context(), "f-x", "f-y"))
		own.finish("f-x", "/vnf-agent/test2/x/y")
		a = linuxtest.Start(t, w)
		unchanged(t, a, values...)
		for _, o := range a.Orphans() {
			t.Errorf("orphan %+v", o)
		}
	})
}
