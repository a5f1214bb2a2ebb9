package catalogue

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	urpfapi "go.fd.io/govpp/binapi/urpf"
	"google.golang.org/protobuf/proto"

	urpf "github.com/tenuto-dev/tenuto/proto/ligato/vpp/urpf"
)

func urpfInterface() Item {
	return Item{
		Name: "vpp.urpf.interface",
		Make: func() proto.Message {
			return &urpf.Interface{Interface: "lo", Protocol: urpf.Interface_IPV6, Direction: urpf.Interface_OUTPUT, Mode: urpf.Interface_LOOSE}
		},
		Needs:      func() []proto.Message { return []proto.Message{Base()} },
		Capability: "uRPF",
		ListNeeds:  &urpfapi.UrpfInterfaceDump{},
		Updates:    []Change{To(func(i *urpf.Interface) { i.Mode = urpf.Interface_STRICT })},
		Refusals: map[string]Change{
			"mode: 2, expected STRICT, LOOSE":      To(func(i *urpf.Interface) { i.Mode = 2 }),
			"protocol: 2, expected IPV4, IPV6":     To(func(i *urpf.Interface) { i.Protocol = 2 }),
			"direction: 2, expected INPUT, OUTPUT": To(func(i *urpf.Interface) { i.Direction = 2 }),
			"interface: empty":                     To(func(i *urpf.Interface) { i.Interface = "" }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &urpfapi.UrpfUpdateV2{
				SwIfIndex: interface_types.InterfaceIndex(index(m.(*urpf.Interface).Interface)), Af: 1, TableID: ^uint32(0),
			}, &urpfapi.UrpfUpdateV2Reply{}
		},
		Without: map[string]string{
			"Spellings": "names have none", "Recreates": "VPP changes all but the key", "Conflicts": "interface, protocol and direction are the key",
		},
	}
}
