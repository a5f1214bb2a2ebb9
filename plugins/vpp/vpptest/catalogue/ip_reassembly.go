package catalogue

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip"
	"google.golang.org/protobuf/proto"

	reassembly "github.com/tenuto-dev/tenuto/proto/ligato/vpp/reassembly"
)

func reassemblySettings() Item {
	return Item{
		Name: "vpp.reassembly.settings",
		Make: func() proto.Message {
			return &reassembly.Settings{
				Protocol:       reassembly.Settings_IPV6,
				Full:           &reassembly.Settings_Limits{Timeout: 500, MaxReassemblies: 2048, MaxFragments: 8, ExpiryInterval: 50},
				ShallowVirtual: &reassembly.Settings_Limits{Timeout: 100, MaxReassemblies: 1024, MaxFragments: 3, ExpiryInterval: 10000},
			}
		},
		Capability: "IP reassembly",
		Spellings:  []Change{To(func(s *reassembly.Settings) { s.ShallowVirtual, s.Full.ExpiryInterval = nil, 0 })},
		Updates: []Change{
			To(func(s *reassembly.Settings) { s.LocalDisabled, s.Full.Timeout = true, 300 }),
			To(func(s *reassembly.Settings) { s.ShallowVirtual.MaxFragments = 10 }),
			To(func(s *reassembly.Settings) { s.Full, s.ShallowVirtual = nil, nil }),
		},
		Refusals: map[string]Change{
			"protocol: 2, expected IPV4, IPV6":            To(func(s *reassembly.Settings) { s.Protocol = 2 }),
			"full.max_reassemblies: 1048577, expected":    To(func(s *reassembly.Settings) { s.Full.MaxReassemblies = 1<<20 + 1 }),
			"shallow_virtual.max_reassemblies: 1048577, ": To(func(s *reassembly.Settings) { s.ShallowVirtual.MaxReassemblies = 1<<20 + 1 }),
		},
		ByHand: func(func(string) uint32, proto.Message) (api.Message, api.Message) {
			return &ip.IPReassemblySet{TimeoutMs: 200, MaxReassemblies: 1024, MaxReassemblyLength: 3, ExpireWalkIntervalMs: 50, IsIP6: true},
				&ip.IPReassemblySetReply{}
		},
		Without: map[string]string{
			"Needs": "VPP always has them", "Recreates": "VPP changes all but the key", "Conflicts": "the protocol is the key",
		},
	}
}

func reassemblyInterface() Item {
	return Item{
		Name:       "vpp.reassembly.interface",
		Make:       func() proto.Message { return &reassembly.Interface{Interface: "lo", Ipv4: true} },
		Needs:      func() []proto.Message { return []proto.Message{Base()} },
		Capability: "IP reassembly on interface",
		Recreates: []Change{
			To(func(i *reassembly.Interface) { i.Ipv6 = true }),
			To(func(i *reassembly.Interface) { i.Ipv4, i.Ipv6 = false, true }),
		},
		Refusals: map[string]Change{
			"ipv4, ipv6: both false": To(func(i *reassembly.Interface) { i.Ipv4 = false }),
		},
		Without: map[string]string{
			"Spellings": "names have none", "Updates": "VPP sets both versions of IP", "Conflicts": "the interface is the key",
			"Retrieve": "VPP does not report it", "ByHand": "VPP does not report it", "Restart": "VPP does not report it",
		},
	}
}
