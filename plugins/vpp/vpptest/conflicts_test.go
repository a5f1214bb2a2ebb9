package vpptest_test

import (
	"net/netip"
	"strings"
	"testing"

	interfacesapi "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// Who wants an address but does not have it is not said to be in the way.
func TestConflictOfThree(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(of(loop("c", "10.5.0.1/24")))
		for _, name := range []string{"a", "b"} {
			err := b.Commit(of(loop(name, "10.5.0.2/24")))
			if err == nil || !strings.Contains(err.Error(), `overlaps with 10.5.0.1/24 of interface "c" in VRF table 0: `) {
				t.Errorf("error %v", err)
			}
		}
	})
}

// An operator has given an interface addresses by hand, with which it cannot leave its
// VRF table, and which ours may overlap.
func TestAddressByHandInTheWay(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(of(loop("lo"), loop("other"), &l3.VrfTable{Id: 7}))
		addressByHand(t, b, "lo", "10.5.0.1/24", true)
		addressByHand(t, b, "other", "10.8.0.1/24", true)
		moved := loop("lo", "10.6.0.1/24")
		moved.Vrf = 7
		for want, i := range map[string]*interfaces.Interface{
			"vrf: 7: the interface has addresses in another VRF table already, [10.5.0.1/24]: sw_interface_set_table: ":                  moved,
			"ip_addresses: 10.8.0.3/24: overlaps in VRF table 0 with an address that this agent did not configure: sw_interface_add_del": loop("third", "10.8.0.3/24"),
		} {
			if err := b.Commit(of(i)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, expected %q", err, want)
			}
		}
		addressByHand(t, b, "lo", "10.5.0.1/24", false)
		b.Resync()
		allConfigured(t, b, of(moved))
	})
}

func addressByHand(t *testing.T, b *vpptest.Harness, name, addr string, add bool) {
	t.Helper()
	err := b.Mux.Conn().Call(t.Context(), &interfacesapi.SwInterfaceAddDelAddress{
		SwIfIndex: interface_types.InterfaceIndex(indexOf(b, name)), IsAdd: add, Prefix: ipconv.Interface(netip.MustParsePrefix(addr)),
	}, &interfacesapi.SwInterfaceAddDelAddressReply{})
	if err != nil {
		t.Fatal(err)
	}
}
