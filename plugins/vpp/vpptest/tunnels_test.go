//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be understood or refused

package vpptest_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// The values that are read back equal the configured ones, in all variants of the
// links.
func TestTunnelLinks(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(of(loop("group", "192.0.2.9/24"), &l3.VrfTable{Id: 5}, &l3.VrfTable{Id: 6},
			&l3.VrfTable{Id: 5, Protocol: l3.VrfTable_IPV6}))
		group := vxlan("mcast", "192.0.2.1", "239.1.1.1", 12)
		group.GetVxlan().Multicast = "group"
		inVrf := vxlan("vrf", "2001:db8::1", "2001:db8::2", 1<<24-1)
		inVrf.Vrf = 5
		gpe := vxlanGpe("gpe", "192.0.2.1", "192.0.2.4", 13)
		gpe.GetVxlan().Gpe.DecapVrfId = 6
		teb := gre("teb", "192.0.2.1", "192.0.2.2", interfaces.GreLink_TEB)
		teb.PhysAddress, teb.GetGre().OuterFibId = "02:00:00:00:00:01", 6
		many := ipip("many", "2001:db8::1", "")
		many.Vrf = 5
		mobile := gtpu("mobile", "192.0.2.1", "192.0.2.2", 14)
		mobile.GetGtpu().EncapVrfId, mobile.GetGtpu().RemoteTeid, mobile.GetGtpu().DecapNextNode = 6, 15, 3
		six := vxlanGpe("six", "2001:db8::1", "2001:db8::3", 16)
		six.GetVxlan().Gpe.Protocol = interfaces.VxlanLink_Gpe_NSH
		all := []*interfaces.Interface{group, inVrf, gpe, teb, many, mobile, six}
		for _, i := range all {
			b.Must(of(i))
			allConfigured(t, b, of(i))
			wantLink(t, b, i)
			if got := readOne(b, i.Name); got.GetVrf() != i.Vrf {
				t.Errorf("VRF of %s is %d, expected %d", i.Name, got.GetVrf(), i.Vrf)
			}
			b.InSync()
		}
		// Interfaces of tunnels that are gone are used again, as if they were new.
		for _, i := range all {
			b.Must(deleted(of(i)))
		}
		for _, i := range all {
			i.Name, i.Enabled = "other-"+i.Name, false
			b.Must(of(i))
			wantLink(t, b, i)
		}
		b.InSync()
		for _, i := range all {
			if got := readOne(b, i.Name); got.GetEnabled() {
				t.Errorf("%s is up", i.Name)
			}
		}
	})
}

// The table of the tunnel is gone, or was changed by hand.
func TestVrfOfTunnel(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	i := vxlan("v", "192.0.2.1", "192.0.2.2", 10)
	i.Vrf = 5
	b.Must(of(i))
	b.Want(states{ifKey("v"): pending})
	b.Must(of(&l3.VrfTable{Id: 5}))
	b.Want(states{ifKey("v"): configured, "vpp/interface/v/vrf/5/ip-version/v4": configured})
	b.Must(deleted(of(&l3.VrfTable{Id: 5})))
	b.Want(states{ifKey("v"): pending})
	moved := proto.CloneOf(i)
	moved.Vrf = 0
	b.Must(of(moved))
	b.Want(states{ifKey("v"): configured})
	b.InSync()
}
