package catalogue

import (
	"google.golang.org/protobuf/proto"

	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// Router is a virtual router on "lo" that runs.
func Router(id, priority uint32, addrs ...string) *l3.VRRPEntry {
	return &l3.VRRPEntry{
		Interface: "lo", VrId: id, Priority: priority, Interval: 1000, Preempt: true, IpAddresses: addrs, Enabled: true,
	}
}

func vrrp() Item {
	field := func(change func(e *l3.VRRPEntry)) Change { return To(change) }
	addrs := func(addrs ...string) Change { return field(func(e *l3.VRRPEntry) { e.IpAddresses = addrs }) }
	return Item{
		Name:       "vpp.vrrp",
		Make:       func() proto.Message { return Router(5, 100, "10.1.1.100", "10.1.1.101") },
		Needs:      func() []proto.Message { return []proto.Message{Base()} },
		Capability: "VRRP",
		Spellings:  []Change{addrs("10.1.1.101", "10.1.1.100")},
		Updates:    []Change{field(func(e *l3.VRRPEntry) { e.Enabled = false })},
		Recreates:  []Change{field(func(e *l3.VRRPEntry) { e.Priority, e.IpAddresses = 101, []string{"10.1.1.101", "10.1.1.105"} })},
		Refusals: map[string]Change{
			"vr_id: 0, expected 1 to 255":           field(func(e *l3.VRRPEntry) { e.VrId = 0 }),
			"priority: 256, expected 1 to 255":      field(func(e *l3.VRRPEntry) { e.Priority = 256 }),
			"interval: 65536, expected 10 to 65535": field(func(e *l3.VRRPEntry) { e.Interval = 65536 }),
			"interval: 9, ":                         field(func(e *l3.VRRPEntry) { e.Interval = 9 }),
			"ip_addresses: empty":                   addrs(),
			"ip_addresses[1]: 2001:db8::1, expected the version of IP of 10.1.1.100": addrs("10.1.1.100", "2001:db8::1"),
			"ip_addresses[1]: 10.1.1.1 is listed twice":                              addrs("10.1.1.1", "10.1.1.1"),
			"unicast_peers: 1 addresses, expected none without unicast":              field(func(e *l3.VRRPEntry) { e.UnicastPeers = []string{"10.1.1.9"} }),
		},
		Without: map[string]string{
			"Conflicts": "interface, number and version of IP are the key", "ByHand": "a router that runs must be stopped by a request before",
		},
	}
}

func unicastVRRP() Item {
	peers := func(peers ...string) Change { return To(func(e *l3.VRRPEntry) { e.UnicastPeers = peers }) }
	return Item{
		Name: "vpp.vrrp: unicast",
		Make: func() proto.Message {
			e := Router(6, 100, "10.1.1.106")
			e.Unicast, e.UnicastPeers = true, []string{"10.1.1.8", "10.1.1.9"}
			return e
		},
		Needs:      func() []proto.Message { return []proto.Message{Base()} },
		Capability: "VRRP: unicast",
		Spellings:  []Change{peers("10.1.1.9", "10.1.1.8")},
		Recreates:  []Change{peers("10.1.1.9", "10.1.1.7"), To(func(e *l3.VRRPEntry) { e.Unicast, e.UnicastPeers = false, nil })},
		Refusals: map[string]Change{
			"unicast_peers: empty, expected the address of another router": peers(),
			`unicast_peers[0]: "x"`: peers("x"),
			"unicast_peers[1]: fe80::1, expected the version of IP of 10.1.1.106": peers("10.1.1.9", "fe80::1"),
			"unicast_peers[0]: 224.0.0.18, expected the address of a router":      peers("224.0.0.18"),
			"unicast_peers[1]: 10.1.1.9 is listed twice":                          peers("10.1.1.9", "10.1.1.9"),
		},
		Without: map[string]string{
			"Updates": "VPP sets the peers of a router that does not run", "Conflicts": "interface, number and version of IP are the key", "ByHand": "a router that runs must be stopped by a request before",
		},
	}
}
