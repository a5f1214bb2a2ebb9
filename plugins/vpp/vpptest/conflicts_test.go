package vpptest_test

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	interfacesapi "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// conflict is two values that are right by themselves; the second wants
// what the first has.
type conflict struct {
	values [2]proto.Message
	failed string // the key; "" is that of the second value
	want   string // the paths of the fields, what they say, and who has it
	host   bool   // they need a kernel interface
	cards  bool   // they need a device that a real VPP does not find here
}

// twice is two interfaces of the same settings.
func twice(kind string, conf func(name string) *interfaces.Interface, want string) conflict {
	return conflict{values: [2]proto.Message{conf(kind + "1"), conf(kind + "2")}, want: want}
}

// hostName is the kernel interface of these cases, that of veth.
func hostName() string { return fmt.Sprintf("tvh%d", os.Getpid()) }

func conflicts() map[string]conflict {
	slave := memif("memif2", 8, "x.sock")
	slave.GetMemif().Master = false
	all := map[string]conflict{
		"bond": twice("bond", func(name string) *interfaces.Interface { return bond(name, 3) },
			`create BOND_INTERFACE: bond.id: 3: VPP has it already, as interface "bond1" (BondEthernet3): bond_create2: `),
		"member of bonds": {
			values: [2]proto.Message{bond("bond1", 3, "a"), bond("bond2", 4, "a")}, failed: "vpp/bond/bond2/interface/a/",
			want: `bond.bonded_interfaces.name: "a": is in bond "bond1" (ID 3) already: `,
		},
		"vxlan": twice("vxlan", func(name string) *interfaces.Interface { return vxlan(name, "192.0.2.1", "192.0.2.2", 42) },
			`create VXLAN_TUNNEL: vxlan.src_address, vxlan.dst_address, vxlan.vni, vrf: 192.0.2.1, 192.0.2.2, 42, 0: `+
				`VPP has it already, as interface "vxlan1" (vxlan_tunnel0): vxlan_add_del_tunnel_v3: `),
		"vxlan-gpe": twice("gpe", func(name string) *interfaces.Interface { return vxlanGpe(name, "192.0.2.1", "192.0.2.2", 42) },
			`create VXLAN_TUNNEL: vxlan.src_address, vxlan.dst_address, vxlan.vni, vrf: 192.0.2.1, 192.0.2.2, 42, 0: `+
				`VPP has it already, as interface "gpe1" (vxlan_gpe_tunnel0): `),
		"gre": twice("gre", func(name string) *interfaces.Interface {
			return gre(name, "192.0.2.1", "192.0.2.2", interfaces.GreLink_TEB)
		}, `create GRE_TUNNEL: gre.src_addr, gre.dst_addr, gre.tunnel_type, gre.outer_fib_id, gre.session_id: `+
			`192.0.2.1, 192.0.2.2, TEB, 0, 0: VPP has it already, as interface "gre1" (gre0): `),
		"ipip": twice("ipip", func(name string) *interfaces.Interface { return ipip(name, "192.0.2.1", "192.0.2.2") },
			`create IPIP_TUNNEL: ipip.src_addr, ipip.dst_addr, vrf: 192.0.2.1, 192.0.2.2, 0: `+
				`VPP has it already, as interface "ipip1" (ipip0): `),
		"gtpu": twice("gtpu", func(name string) *interfaces.Interface { return gtpu(name, "192.0.2.1", "192.0.2.2", 1) },
			`create GTPU_TUNNEL: gtpu.dst_addr, gtpu.teid: 192.0.2.2, 1: VPP has it already, as interface "gtpu1" (gtpu_tunnel0): `),
		"gtpu from another address": {
			values: [2]proto.Message{gtpu("gtpu1", "192.0.2.1", "192.0.2.2", 1), gtpu("gtpu2", "192.0.2.3", "192.0.2.2", 1)},
			want:   `gtpu.dst_addr, gtpu.teid: 192.0.2.2, 1: VPP has it already, as interface "gtpu1" (gtpu_tunnel0): `,
		},
		"memif": twice("memif", func(name string) *interfaces.Interface { return memif(name, 7, "") },
			`create MEMIF: memif.socket_filename, memif.id: "", 7: VPP has it already, as interface "memif1" (memif0/7): `),
		"role of memif": {
			values: [2]proto.Message{memif("memif1", 7, "x.sock"), slave},
			want:   `create MEMIF: memif.master: false: the socket "x.sock" has memifs of the other role, such as interface "memif1" (memif`,
		},
		"sub-interface": twice("sub", func(name string) *interfaces.Interface { return subif(name, "b", 5) },
			`create SUB_INTERFACE: sub.parent_name, sub.sub_id: "b", 5: VPP has it already, as interface "sub1" (loop1.5): create_vlan_subif: `),
		"af-packet": {
			values: [2]proto.Message{afPacket("af1", hostName()), afPacket("af2", hostName())}, host: true,
			want: fmt.Sprintf(`create AF_PACKET: afpacket.host_if_name: %q: VPP has it already, as interface "af1" (host-%[1]s): `, hostName()),
		},
		"vmxnet3": {
			values: [2]proto.Message{vmxnet3("vmxnet3-0/b/0/0"), vmxnet3("vmxnet3-0/B/0/0")}, cards: true,
			want: `create VMXNET3_INTERFACE: name: "vmxnet3-0/B/0/0": VPP has it already, as interface "vmxnet3-0/b/0/0" (`,
		},
		"two bridge domains": {
			values: [2]proto.Message{bridge("bd1", "a"), bridge("bd2", "a")}, failed: "vpp/bd/bd2/interface/a",
			want: `interfaces.name: "a": is in bridge domain "bd1" (number 1) already`,
		},
		"cross-connected out of a bridge domain": {
			values: [2]proto.Message{bridge("bd1", "a"), xconnect("a", "b")},
			want:   `receive_interface: "a": is in bridge domain "bd1" (number 1) already`,
		},
		"bridged although cross-connected": {
			values: [2]proto.Message{xconnect("a", "b"), bridge("bd1", "a")}, failed: "vpp/bd/bd1/interface/a",
			want: `interfaces.name: "a": is cross-connected to interface "b" already`,
		},
	}
	for name, addrs := range map[string][2]string{
		"address": {"10.5.0.1/24", "10.5.0.1/24"}, "subnet": {"10.5.0.1/24", "10.5.0.2/24"}, "larger subnet": {"10.5.3.1/24", "10.5.0.2/16"},
		"smaller subnet": {"10.5.0.1/16", "10.5.3.1/24"}, "IPv6 address": {"2001:db8::1/64", "2001:db8::2/64"},
	} {
		all[name] = conflict{
			values: [2]proto.Message{loop("lo1", addrs[0]), loop("lo2", addrs[1])}, failed: "vpp/interface/lo2/address/static/" + addrs[1],
			want: fmt.Sprintf("ip_addresses: %s: overlaps with %s of interface \"lo1\" in VRF table 0: sw_interface_add_del_address: ", addrs[1], addrs[0]),
		}
	}
	return all
}

// The error of a value that wants what another one has says by which field, and who
// has it. When that one goes, it comes up at the next attempt.
func TestConflicts(t *testing.T) {
	for name, test := range conflicts() {
		t.Run(name, func(t *testing.T) {
			vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
				switch {
				case test.cards && target.Real != nil:
					t.Skip("NOT CHECKED AGAINST A REAL VPP: it needs a device that it can use")
				case test.host && target.Real != nil:
					veth(t)
				}
				b := vpptest.Start(t, target)
				b.SetHostInterface(hostName(), true)
				b.Must(of(loop("a"), loop("b")))
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
