package vpptest_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	wgpb "github.com/tenuto-dev/tenuto/proto/ligato/vpp/wireguard"
)

// What would crash VPP is refused with a reason, by the plan as well, and VPP gets no request.
func TestInterfaceNeeds(t *testing.T) {
	ipMemif := memif("x", 1, "x.sock")
	ipMemif.GetMemif().Mode = interfaces.MemifLink_IP
	tunnel, wg := ipip("x", "10.0.0.1", "10.0.0.2"), wireguard("x")
	dhcp := proto.CloneOf(tunnel)
	dhcp.SetDhcpClient = true
	bvi := func(name string) proto.Message {
		return &l2.BridgeDomain{Name: "bd0", Interfaces: []*l2.BridgeDomain_Interface{{Name: name, BridgedVirtualInterface: true}}}
	}
	for name, c := range map[string]struct {
		values  []proto.Message
		key     string // of the value that is refused
		says    string
		message string // that VPP must not get
	}{
		"DHCP client": {[]proto.Message{dhcp}, ifKey("x"), "set_dhcp_client: an IPIP tunnel has no MAC address", "dhcp_client_config"},
		"BVI": {
			[]proto.Message{tunnel, bvi("x")}, "vpp/bd/bd0/interface/x",
			`interfaces.bridged_virtual_interface: a bridged virtual interface needs an interface with a MAC address, such as a loopback; "x" is an IPIP tunnel`,
			"sw_interface_set_l2_bridge",
		},
		"BVI, WireGuard":     {[]proto.Message{wg, bvi("x")}, "vpp/bd/bd0/interface/x", `"x" is a WireGuard interface`, "sw_interface_set_l2_bridge"},
		"BVI, memif":         {[]proto.Message{ipMemif, bvi("x")}, "vpp/bd/bd0/interface/x", `"x" is a memif of mode IP`, "sw_interface_set_l2_bridge"},
		"BVI, local0":        {[]proto.Message{bvi("local0")}, "vpp/bd/bd0/interface/local0", `"local0" is an interface of VPP itself`, "sw_interface_set_l2_bridge"},
		"ARP entry":          {[]proto.Message{ipMemif, &l3.ARPEntry{Interface: "x", IpAddress: "10.0.0.3", PhysAddress: "02:00:00:00:00:01"}}, "", "interface: an ARP entry needs", "ip_neighbor_add_del"},
		"member of a bond":   {[]proto.Message{wg, bond("bond0", 1, "x")}, "vpp/bond/bond0/interface/x/", "bond.bonded_interfaces.name: a bond needs", "bond_add_member"},
		"parent of a VLAN":   {[]proto.Message{tunnel, subif("x.7", "x", 7)}, ifKey("x.7"), "sub.parent_name: a sub-interface needs", "create_vlan_subif"},
		"VLAN in a VLAN":     {[]proto.Message{loop("p"), subif("x", "p", 7), subif("x.8", "x", 8)}, ifKey("x.8"), `sub.parent_name: a sub-interface needs an interface that is no sub-interface; "x" is one`, ""},
		"WireGuard, no peer": {[]proto.Message{tunnel, peerOn("x")}, "", "wg_if_name: a peer needs an interface of type WIREGUARD_TUNNEL", "wireguard_peer_add"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
			values := of(c.values...)
			if c.key == "" {
				c.key = key(c.values[len(c.values)-1])
			}
			txn := b.Scheduler.StartNBTransaction()
			for key, v := range values {
				txn.SetValue(key, v)
			}
			plan, err := txn.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			planned := ""
			for _, r := range plan.Reasons {
				if r.Key == c.key {
					planned = r.Reason
				}
			}
			if !strings.Contains(planned, c.says) {
				t.Errorf("the plan says %q, expected %q", planned, c.says)
			}
			if err := b.Commit(values); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("commit: %v, expected %q", err, c.says)
			}
			b.Want(states{c.key: invalid})
			if n := b.Sim.Count(c.message); c.message != "" && n > 0 {
				t.Errorf("VPP got %d %s", n, c.message)
			}
			if err := b.Commit(deleted(values)); err != nil {
				t.Error(err)
			}
		})
	}
}

// peerOn is the WireGuard peer of the catalogue on another interface.
func peerOn(name string) proto.Message {
	for _, i := range catalogue.All() {
		if peer, ok := i.Make().(*wgpb.Peer); ok {
			peer.WgIfName = name
			return peer
		}
	}
	return nil
}
