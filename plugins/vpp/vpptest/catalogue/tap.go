package catalogue

import (
	"go.fd.io/govpp/api"
	tapapi "go.fd.io/govpp/binapi/tapv2"
	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Tap is a TAP that is up.
func Tap(name string, addrs ...string) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_TAP, Enabled: true, IpAddresses: addrs,
		Link: &interfaces.Interface_Tap{Tap: &interfaces.TapLink{Version: 2}},
	}
}

func tap() Item {
	link := func(change func(l *interfaces.TapLink)) Change {
		return iface(func(i *interfaces.Interface) { change(i.GetTap()) })
	}
	return ofInterface(Item{
		Make:       func() proto.Message { return Tap("tap1", "10.20.1.1/24") },
		Capability: "interface TAP",
		Spellings:  []Change{link(func(l *interfaces.TapLink) { l.RxRingSize = 256 })},
		Recreates: []Change{
			link(func(l *interfaces.TapLink) { l.HostIfName = "other" }), link(func(l *interfaces.TapLink) { l.RxRingSize = 512 }),
		},
		Refusals: map[string]Change{"tap.rx_ring_size: 100, expected a power of 2": link(func(l *interfaces.TapLink) { l.RxRingSize = 100 })},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &tapapi.TapDeleteV2{SwIfIndex: of(index, m)}, &tapapi.TapDeleteV2Reply{}
		},
		Without: map[string]string{
			"Needs": "VPP makes the interface of the kernel", "Conflicts": "the kernel refuses, not VPP",
			"Real": withoutTAPs(),
		},
	})
}
