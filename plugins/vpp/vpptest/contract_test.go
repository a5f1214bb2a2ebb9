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

// The descriptors of derived values keep their promises.
func TestContractOfDerivedValues(t *testing.T) {
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
	samples = append(samples,
		kvstest.Sample{Key: "vpp/proxyarp/interface/a/b", Value: &l3.ProxyARP_Interface{Name: "a/b"}},
		kvstest.Sample{Key: "vpp/interface/dhcp-client/a/b", Value: &emptypb.Empty{}},
		kvstest.Sample{Key: "vpp/interface/dhcp-lease/a/b", Value: &interfaces.DHCPLease{InterfaceName: "a/b", HostIpAddress: "192.0.2.1/24"}},
		kvstest.Sample{Key: "vpp/interface/ip6nd/a/b", Value: &interfaces.Interface_IP6ND{AddressAutoconfig: true}},
		kvstest.Sample{Key: "vpp/bond/b/interface/a/b/", Value: &interfaces.BondLink_BondedInterface{Name: "a/b"}})
	kvstest.CheckSamples(t, samples, b.Scheduler.ListDescriptors()...)
}
