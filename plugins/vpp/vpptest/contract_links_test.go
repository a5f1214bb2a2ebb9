//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be understood or refused

package vpptest_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// TestContractOfLinks tries the promises of descriptors on every type of link:
// the default left out and written, spellings, and what must be created again.
func TestContractOfLinks(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	var samples []kvstest.Sample
	add := func(base *interfaces.Interface, changes ...func(*interfaces.Interface)) {
		base.Name = "x"
		for _, change := range append(changes, func(*interfaces.Interface) {}) {
			i := proto.CloneOf(base)
			change(i)
			samples = append(samples, kvstest.Sample{Key: ifmodel.InterfaceModel.Key(i), Value: i})
		}
	}
	add(memif("", 1, "x.sock"), func(i *interfaces.Interface) { i.GetMemif().RingSize = 1024 }, func(i *interfaces.Interface) { i.GetMemif().RingSize = 512 })
	add(subif("", "p", 5), func(i *interfaces.Interface) { i.GetSub().Tag1 = 7 },
		func(i *interfaces.Interface) { i.GetSub().TagRwOption = interfaces.SubInterface_POP1 }, func(i *interfaces.Interface) { i.GetSub().SubId = 6 })
	add(bond("", 1, "a"), func(i *interfaces.Interface) { i.GetBond().BondedInterfaces = nil }, func(i *interfaces.Interface) {
		i.GetBond().Mode, i.GetBond().Lb = interfaces.BondLink_ROUND_ROBIN, interfaces.BondLink_L2
	}, func(i *interfaces.Interface) {
		i.GetBond().Mode, i.GetBond().Lb = interfaces.BondLink_ROUND_ROBIN, interfaces.BondLink_RR
	})
	add(vxlan("", "2001:db8::1", "2001:db8::2", 1), func(i *interfaces.Interface) { i.GetVxlan().DstAddress = "2001:DB8:0::2" },
		func(i *interfaces.Interface) { i.Vrf = 5 }, func(i *interfaces.Interface) { i.GetVxlan().Vni = 2 })
	add(vxlanGpe("", "192.0.2.1", "192.0.2.2", 1), func(i *interfaces.Interface) { i.GetVxlan().Gpe.DecapVrfId = 3 })
	add(gre("", "192.0.2.1", "192.0.2.2", interfaces.GreLink_L3), func(i *interfaces.Interface) { i.GetGre().TunnelType = interfaces.GreLink_TEB })
	add(ipip("", "192.0.2.1", "192.0.2.2"), func(i *interfaces.Interface) { i.Vrf = 5 })
	add(gtpu("", "192.0.2.1", "192.0.2.2", 4), func(i *interfaces.Interface) { i.GetGtpu().RemoteTeid, i.GetGtpu().DecapNextNode = 4, 1 },
		func(i *interfaces.Interface) { i.GetGtpu().DecapNext = interfaces.GtpuLink_IP6 }, func(i *interfaces.Interface) { i.GetGtpu().DecapNextNode = 3 })
	add(ipsecInterface(""), func(i *interfaces.Interface) { i.GetIpsec().TunnelMode = interfaces.IPSecLink_POINT_TO_MULTIPOINT })
	add(wireguard(""), func(i *interfaces.Interface) { i.GetWireguard().Port = 1 })
	add(rdma("", "eth0"), func(i *interfaces.Interface) { i.GetRdma().RxqNum = 1 }, func(i *interfaces.Interface) { i.GetRdma().RxqNum = 2 })
	card := vmxnet3("vmxnet3-0/b/0/0")
	full := proto.CloneOf(card)
	full.GetVmxNet3().RxqSize = 1024
	for _, i := range []*interfaces.Interface{card, full} {
		samples = append(samples, kvstest.Sample{Key: ifmodel.InterfaceModel.Key(i), Value: i})
	}
	add(dhcpLoop(""), func(i *interfaces.Interface) { i.Ip6Nd = &interfaces.Interface_IP6ND{AddressAutoconfig: true} })
	samples = append(samples,
		kvstest.Sample{Key: "vpp/interface/dhcp-client/a/b", Value: &emptypb.Empty{}},
		kvstest.Sample{Key: "vpp/interface/dhcp-lease/a/b", Value: &interfaces.DHCPLease{InterfaceName: "a/b", HostIpAddress: "192.0.2.1/24"}},
		kvstest.Sample{Key: "vpp/interface/ip6nd/a/b", Value: &interfaces.Interface_IP6ND{AddressAutoconfig: true}},
		kvstest.Sample{Key: "vpp/bond/b/interface/a/b/", Value: &interfaces.BondLink_BondedInterface{Name: "a/b"}})
	for key, v := range spans(&interfaces.Span{InterfaceFrom: "a", InterfaceTo: "b", Direction: interfaces.Span_RX},
		&interfaces.Span{InterfaceFrom: "b", InterfaceTo: "a", Direction: interfaces.Span_BOTH, IsL2: true}) {
		samples = append(samples, kvstest.Sample{Key: key, Value: v})
	}
	kvstest.CheckSamples(t, samples, b.Scheduler.ListDescriptors()...)
}
