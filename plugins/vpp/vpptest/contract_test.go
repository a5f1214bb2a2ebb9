package vpptest_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// TestContract tries the promises of descriptors on values that differ in
// spelling, in substance, and not at all. No two samples of an interface differ
// only in whether they ask for an MTU or a MAC address: asking for none is
// content with any, which no equivalence can express.
func TestContract(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	samples := []kvstest.Sample{
		{Key: "vpp/interface/lo/address/static/10.1.1.1/24", Value: &emptypb.Empty{}},
		{Key: "vpp/interface/a/b/address/static/2001:db8::1/64", Value: &emptypb.Empty{}},
		{Key: "vpp/interface/lo/has-IP-address", Value: &emptypb.Empty{}},
		{Key: "vpp/interface/lo/vrf/0/ip-version/v4", Value: &emptypb.Empty{}},
		{Key: "vpp/interface/lo/vrf/7/ip-version/both", Value: &emptypb.Empty{}},
		{Key: "vpp/interface/lo/vrf/from-interface/a/b", Value: &emptypb.Empty{}},
		{Key: "vpp/interface/unnumbered/lo", Value: unnumbered("a/b")},
		{Key: "vpp/interface/lo/link-state/UP", Value: &emptypb.Empty{}},
		{Key: "vpp/interface/physical/GigabitEthernet0/8/0", Value: &emptypb.Empty{}},
		{Key: "vpp/bd/bd1/interface/a/b", Value: &l2.BridgeDomain_Interface{Name: "a/b"}},
		{Key: "linux/interface/host-name/eth0", Value: &emptypb.Empty{}},
	}
	modes := func(ms ...*interfaces.Interface_RxMode) proto.Message {
		return &interfaces.Interface{Name: "lo", Type: interfaces.Interface_TAP, RxModes: ms}
	}
	for _, m := range []proto.Message{
		modes(&interfaces.Interface_RxMode{Mode: interfaces.Interface_RxMode_DEFAULT}),
		modes(&interfaces.Interface_RxMode{Mode: interfaces.Interface_RxMode_INTERRUPT}),
		modes(&interfaces.Interface_RxMode{Mode: interfaces.Interface_RxMode_POLLING, DefaultMode: true}),
	} {
		samples = append(samples, kvstest.Sample{Key: "vpp/interface/lo/rx-modes", Value: m})
	}
	for _, p := range []*interfaces.Interface_RxPlacement{{Worker: 1}, {Worker: 1, MainThread: true}, {MainThread: true}} {
		samples = append(samples, kvstest.Sample{Key: "vpp/interface/lo/rx-placement/queue/0", Value: p})
	}
	add := func(messages ...proto.Message) {
		for _, m := range messages {
			for key := range of(m) {
				samples = append(samples, kvstest.Sample{Key: key, Value: m})
			}
		}
	}
	add(loop("x"), loop("x", "10.1.1.1/24", "2001:db8::1/64"), loop("x", "2001:DB8:0::1/64", "10.1.1.1/24"),
		tap("x"), tap("x", "10.1.1.1/24"), afPacket("x", "eth0"), afPacket("x", "eth1"))
	add(&interfaces.Interface{Name: "GigabitEthernet0/8/0", Type: interfaces.Interface_DPDK, Enabled: true})
	borrower := loop("x")
	borrower.Unnumbered, borrower.Vrf = unnumbered("lo"), 5
	add(borrower)
	bd := bridge("bd1", "a")
	bd.ArpTerminationTable = []*l2.BridgeDomain_ArpTerminationEntry{{IpAddress: "2001:DB8::1", PhysAddress: "02:00:00:00:00:0A"}}
	same := proto.CloneOf(bd)
	same.ArpTerminationTable[0].IpAddress = "2001:db8::1"
	add(bd, same, bridge("bd1"))
	add(&l2.FIBEntry{PhysAddress: "02:00:00:00:00:0a", BridgeDomain: "bd1", OutgoingInterface: "a"},
		&l2.FIBEntry{PhysAddress: "02:00:00:00:00:0a", BridgeDomain: "bd1", OutgoingInterface: "b"},
		&l2.FIBEntry{PhysAddress: "02:00:00:00:00:0a", BridgeDomain: "bd1", Action: l2.FIBEntry_DROP},
		&l2.FIBEntry{PhysAddress: "02:00:00:00:00:0a", BridgeDomain: "bd1", Action: l2.FIBEntry_DROP, StaticConfig: true})
	add(&l2.XConnectPair{ReceiveInterface: "a", TransmitInterface: "b"}, &l2.XConnectPair{ReceiveInterface: "a", TransmitInterface: "c"})
	add(&l3.VrfTable{Id: 7}, &l3.VrfTable{Id: 7, Label: "ipv4-VRF:7"}, &l3.VrfTable{Id: 7, Label: "x"})
	add(&l3.Route{DstNetwork: "10.9.0.0/16", NextHopAddr: "10.1.1.2", OutgoingInterface: "lo"},
		&l3.Route{DstNetwork: "10.9.0.0/16", NextHopAddr: "10.1.1.2", OutgoingInterface: "lo", Weight: 1},
		&l3.Route{DstNetwork: "10.9.0.0/16", NextHopAddr: "10.1.1.2", OutgoingInterface: "lo", Weight: 2},
		&l3.Route{DstNetwork: "10.9.0.0/16", NextHopAddr: "0.0.0.0", OutgoingInterface: "lo", VrfId: 3},
		&l3.Route{DstNetwork: "2001:db8::/32", Type: l3.Route_INTER_VRF, ViaVrfId: 3, VrfId: 4})
	add(&l3.ARPEntry{Interface: "lo", IpAddress: "10.1.1.1", PhysAddress: "02:00:00:00:00:0a"},
		&l3.ARPEntry{Interface: "lo", IpAddress: "10.1.1.1", PhysAddress: "02:00:00:00:00:0A"},
		&l3.ARPEntry{Interface: "lo", IpAddress: "10.1.1.1", PhysAddress: "02:00:00:00:00:0b"})
	samples = append(samples, kvstest.Sample{Key: "vpp/proxyarp/interface/a/b", Value: &l3.ProxyARP_Interface{Name: "a/b"}})
	add(l3Samples()...)
	kvstest.CheckSamples(t, samples, b.Scheduler.ListDescriptors()...)
}
