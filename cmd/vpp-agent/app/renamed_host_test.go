package app_test

import (
	"fmt"
	"strings"
	"testing"

	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// attached is a VETH pair with the names x and y in the kernel, and an AF_PACKET interface on
// each end.
const attached = `
linuxConfig:
  interfaces:
  - {name: a, type: VETH, hostIfName: %[1]s, enabled: true, veth: {peerIfName: b}}
  - {name: b, type: VETH, hostIfName: %[2]s, enabled: true, veth: {peerIfName: a}}
vppConfig:
  interfaces:
  - {name: v, type: AF_PACKET, enabled: true, afpacket: {linuxInterface: a}}
  - {name: w, type: AF_PACKET, enabled: true, afpacket: {linuxInterface: b}}
  xconnectPairs:
  - {receiveInterface: v, transmitInterface: w}
  - {receiveInterface: w, transmitInterface: v}
`

// AF_PACKET interfaces follow the names of their Linux interfaces, as on a new VPP: VPP knows an
// interface of the host by its name.
func TestAFPacketFollowsRenamedLink(t *testing.T) {
	t.Parallel()
	h := newSimulatedHouse(t, fmt.Sprintf(attached, "swx", "swy"), "--simulate")
	h.start(t)
	h.await(t, "config/vpp/l2/v2/xconnect/v", pb.ValueState_CONFIGURED)
	for _, names := range [][2]string{{"swz", "swy"}, {"swy", "swz"}, {"swz", "swx"}, {"swx", "sww"}} {
		h.send(t, "PUT", "/configuration?replace", fmt.Sprintf(attached, names[0], names[1]), 200)
		for i, name := range []string{"v", "w"} {
			if meta, ok := h.VPPIfPlugin.Interfaces().LookupByName(name); !ok || meta.InternalName != "host-"+names[i] {
				t.Errorf("%v: %s is %+v, expected host-%s", names, name, meta, names[i])
			}
		}
		if text := h.Simulation.Linux().String(); strings.Count(text, "link sw") != 2 {
			t.Errorf("%v: Linux has\n%s", names, text)
		}
		h.await(t, "config/vpp/l2/v2/xconnect/v", pb.ValueState_CONFIGURED)
	}
}
