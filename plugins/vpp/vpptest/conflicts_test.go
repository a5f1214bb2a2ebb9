package vpptest_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Values that are right by themselves want what another one has: the error says who
// has it. When that one goes, they come up at the next attempt.
func TestConflicts(t *testing.T) {
	later := func(kind string, conf func(name string) *interfaces.Interface) [2]proto.Message {
		return [2]proto.Message{conf(kind + "1"), conf(kind + "2")}
	}
	for name, test := range map[string]struct {
		values [2]proto.Message
		failed string // the key; "" is that of the second value
		want   string
	}{
		"bond": {later("bond", func(name string) *interfaces.Interface { return bond(name, 3) }), "",
			`create BOND_INTERFACE: VPP has it already, as interface "bond1" (BondEthernet3): bond.id: 3: bond_create2: `},
		"vxlan": {later("vxlan", func(name string) *interfaces.Interface { return vxlan(name, "192.0.2.1", "192.0.2.2", 42) }), "",
			`create VXLAN_TUNNEL: VPP has it already, as interface "vxlan1" (vxlan_tunnel0): vxlan_add_del_tunnel_v3: `},
		"vxlan-gpe": {later("gpe", func(name string) *interfaces.Interface { return vxlanGpe(name, "192.0.2.1", "192.0.2.2", 42) }), "",
			`create VXLAN_TUNNEL: VPP has it already, as interface "gpe1" (vxlan_gpe_tunnel0): `},
		"gre": {later("gre", func(name string) *interfaces.Interface {
			return gre(name, "192.0.2.1", "192.0.2.2", interfaces.GreLink_TEB)
		}), "", `create GRE_TUNNEL: VPP has it already, as interface "gre1" (gre0): `},
		"ipip": {later("ipip", func(name string) *interfaces.Interface { return ipip(name, "192.0.2.1", "192.0.2.2") }), "",
			`create IPIP_TUNNEL: VPP has it already, as interface "ipip1" (ipip0): `},
		"gtpu": {later("gtpu", func(name string) *interfaces.Interface { return gtpu(name, "192.0.2.1", "192.0.2.2", 1) }), "",
			`create GTPU_TUNNEL: VPP has it already, as interface "gtpu1" (gtpu_tunnel0): `},
		"memif": {later("memif", func(name string) *interfaces.Interface { return memif(name, 7, "") }), "",
			`create MEMIF: VPP has it already, as interface "memif1" (memif0/7): `},
		"subinterface": {later("sub", func(name string) *interfaces.Interface { return subif(name, "b", 5) }), "",
			`create SUB_INTERFACE: VPP has it already, as interface "sub1" (loop1.5): create_vlan_subif: `},
		"address": {later("lo", func(name string) *interfaces.Interface { return loop(name, "10.5.0.1/24") }),
			"vpp/interface/lo2/address/static/10.5.0.1/24", "sw_interface_add_del_address: VPPApiError: "},
		"two bridge domains": {[2]proto.Message{bridge("bd1", "a"), bridge("bd2", "a")}, "vpp/bd/bd2/interface/a",
			`interface "a": is in bridge domain "bd1" (number 1) already`},
	} {
		t.Run(name, func(t *testing.T) {
			vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
				b := vpptest.Start(t, target)
				b.Must(of(loop("a")))
				b.Must(of(loop("b")))
				first, second := of(test.values[0]), of(test.values[1])
				b.Must(first)
				err := b.Commit(second)
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, expected %q", err, test.want)
				}
				at := test.failed
				if at == "" {
					at = key(test.values[1])
				}
				b.Want(states{at: failed})
				allConfigured(t, b, of(loop("a"), loop("b")))
				allConfigured(t, b, first)
				b.Must(deleted(first))
				b.Resync()
				allConfigured(t, b, second)
				b.InSync()
			})
		})
	}
}
