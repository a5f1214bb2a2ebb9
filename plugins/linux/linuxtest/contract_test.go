package linuxtest_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	ifdescriptor "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/descriptor"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	iptdescriptor "github.com/tenuto-dev/tenuto/plugins/linux/iptablesplugin/descriptor"
	l3descriptor "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	nftdescriptor "github.com/tenuto-dev/tenuto/plugins/linux/nftablesplugin/descriptor"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/packetfilter"
	puntdescriptor "github.com/tenuto-dev/tenuto/plugins/linux/puntplugin/descriptor"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
	nftables "github.com/tenuto-dev/tenuto/proto/ligato/linux/nftables"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/linux/punt"
)

// TestContract: the descriptors of all Linux plugins keep what every
// descriptor promises.
func TestContract(t *testing.T) {
	t.Parallel()
	ifDeps := ifdescriptor.Deps{Label: linuxtest.Label, Log: logging.Nop(), TAPs: linuxtest.TAPs{}}
	l3Deps := l3descriptor.Deps{Log: logging.Nop()}
	watcher := ifdescriptor.NewWatcher(ifDeps, func(...api.KVWithMetadata) error { return nil })
	ns := &namespace.NetNamespace{Type: namespace.NetNamespace_NSID, Reference: "a"}
	web := &namespace.NetNamespace{Type: namespace.NetNamespace_MICROSERVICE, Reference: "web"}
	values := []proto.Message{
		&interfaces.Interface{Name: "x", Type: interfaces.Interface_VETH, Enabled: true, Namespace: ns,
			IpAddresses: []string{"10.0.0.1/24", "fd00::1/64"}, VrfMasterInterface: "red",
			AddressLifetimes: []*interfaces.AddressLifetime{{Address: "fd00::1/64", Valid: 60}},
			Link:             &interfaces.Interface_Veth{Veth: &interfaces.VethLink{PeerIfName: "y/1"}}},
		&interfaces.Interface{Name: "y/1", Type: interfaces.Interface_VETH, HostIfName: "y", Namespace: web,
			Link: &interfaces.Interface_Veth{Veth: &interfaces.VethLink{PeerIfName: "x"}}},
		&interfaces.Interface{Name: "red", Type: interfaces.Interface_VRF_DEVICE,
			Link: &interfaces.Interface_VrfDev{VrfDev: &interfaces.VrfDevLink{RoutingTable: 7}}},
		&interfaces.Interface{Name: "e", Type: interfaces.Interface_EXISTING, LinkOnly: true, IpAddresses: []string{"10.0.0.9/24"},
			VrfMasterInterface: "red"},
		&interfaces.Interface{Name: "lo1", Type: interfaces.Interface_LOOPBACK},
		&interfaces.Interface{Name: "d", Type: interfaces.Interface_DUMMY, Mtu: 1400,
			Sysctls: []*interfaces.Sysctl{{Name: "ipv4.rp_filter", Value: 2}, {Name: "ipv6.accept_ra"}}},
		&interfaces.Interface{Name: "t", Type: interfaces.Interface_TAP_TO_VPP,
			Link: &interfaces.Interface_Tap{Tap: &interfaces.TapLink{VppTapIfName: "tap"}}},
		&interfaces.Interface{Name: "br/1", HostIfName: "br", Type: interfaces.Interface_BRIDGE, Namespace: ns},
		&interfaces.Interface{Name: "vlan", Type: interfaces.Interface_VLAN, Namespace: ns, MasterInterface: "br/1", IpAddresses: []string{"10.4.0.1/24"},
			BridgeVlans: &interfaces.BridgeVlans{Pvid: 5, Tagged: []string{"7-9"}},
			Link:        &interfaces.Interface_Vlan{Vlan: &interfaces.VlanLink{ParentInterface: "y/1", VlanId: 5}}},
		&interfaces.Interface{Name: "vx", Type: interfaces.Interface_VXLAN,
			Link: &interfaces.Interface_Vxlan{Vxlan: &interfaces.VxlanLink{Vni: 5, Remote: "10.0.0.2", ParentInterface: "x"}}},
		&interfaces.Interface{Name: "gre", Type: interfaces.Interface_GRE,
			Link: &interfaces.Interface_Tunnel{Tunnel: &interfaces.TunnelLink{Local: "10.0.0.1"}}},
		&interfaces.Interface{Name: "tap", Type: interfaces.Interface_TAP},
		&interfaces.Interface{Name: "wg", Type: interfaces.Interface_WIREGUARD, Link: &interfaces.Interface_Wireguard{Wireguard: &interfaces.WireguardLink{
			PrivateKey: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=", Peers: []*interfaces.WireguardPeer{{
				PublicKey: "CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=", AllowedIps: []string{"10.0.0.0/24"}}}}}},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "10.9.0.0/16", Scope: l3.Route_LINK},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "10.8.0.0/16", GwAddr: "10.9.0.1", Scope: l3.Route_GLOBAL},
		&l3.Route{OutgoingInterface: "y/1", DstNetwork: "::/0", GwAddr: "fe80::1"},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "10.7.0.0/16", GwAddr: "10.9.0.1", Scope: l3.Route_GLOBAL, Table: 7,
			NextHops: []*l3.Route_NextHop{{OutgoingInterface: "vlan", GwAddr: "10.4.0.2", Weight: 2}}},
		&l3.Route{OutgoingInterface: "y/1", DstNetwork: "10.6.0.0/16", Type: l3.Route_PROHIBIT},
		&l3.Nexthop{Name: "nh/1", Id: 7, OutgoingInterface: "x", GwAddr: "10.9.0.1", Namespace: ns, MplsLabels: []uint32{16}},
		&l3.Nexthop{Name: "group", Id: 8, Namespace: ns, Members: []*l3.Nexthop_Member{{Nexthop: "nh/1", Weight: 2}}},
		&l3.Route{OutgoingInterface: "x", DstNetwork: "10.5.0.0/16", Scope: l3.Route_GLOBAL, Nexthop: "group"},
		&l3.Rule{Name: "r/1", Namespace: web, Priority: 100, SrcNetwork: "10.0.0.0/24", Table: 77},
		&l3.ARPEntry{Interface: "x", IpAddress: "10.0.0.7", HwAddress: "02:00:00:00:00:01"},
		&l3.ARPEntry{Interface: "y/1", IpAddress: "fd00::7", HwAddress: "02:00:00:00:00:0A"},
		&iptables.RuleChain{Name: "in", Namespace: web, Interfaces: []string{"x"}, ChainType: iptables.RuleChain_INPUT,
			DefaultPolicy: iptables.RuleChain_DROP, Rules: []string{"-i eth0 -j ACCEPT"}},
		&iptables.RuleChain{Name: "own/chain", Namespace: ns, Protocol: iptables.RuleChain_IPV6, Table: iptables.RuleChain_NAT, ChainName: "OWN"},
		&nftables.Table{Name: "a/table", Namespace: web, TableName: "t", Interfaces: []string{"x"}, Content: "chain c {\n accept\n}"},
		&punt.Proxy{Name: "p/1", Rx: &punt.Proxy_RxPort{RxPort: &punt.PortBased{L4Protocol: punt.PortBased_UDP, L3Protocol: punt.PortBased_ALL, Port: 53, Namespace: web}},
			Tx: &punt.Proxy_TxSocket{TxSocket: &punt.SocketBased{Path: "/run/dns.sock"}}},
	}
	samples := []kvstest.Sample{
		{Key: ifmodel.HostInterfaceKey.Key("eth0"), Value: &emptypb.Empty{}},
		{Key: ifmodel.HostAddressKeyFor("eth0", "10.0.0.1/24"), Value: &emptypb.Empty{}},
		{Key: ifmodel.HostVrfKey.Key("eth0", "red"), Value: &emptypb.Empty{}},
	}
	for _, v := range values {
		samples = append(samples, kvstest.Sample{Key: linuxtest.Key(t, v), Value: v})
	}
	kvstest.CheckSamples(t, samples,
		ifdescriptor.NewInterface(ifDeps), ifdescriptor.NewAddress(ifDeps), ifdescriptor.NewVrf(ifDeps), ifdescriptor.NewPort(ifDeps), ifdescriptor.NewSysctl(ifDeps), ifdescriptor.NewBridgeVlans(ifDeps), watcher.Descriptor(),
		l3descriptor.NewRoute(l3Deps), l3descriptor.NewARP(l3Deps), l3descriptor.NewRule(l3Deps), l3descriptor.NewNexthop(l3Deps),
		nftdescriptor.New(packetfilter.Deps{Label: linuxtest.Label, Log: logging.Nop()}),
		iptdescriptor.New(packetfilter.Deps{Label: linuxtest.Label, Log: logging.Nop()}),
		puntdescriptor.New(puntdescriptor.Deps{Log: logging.Nop()}))
}

// Items with a namespace of their own are read after it is known which containers run; otherwise
// a restarted agent would not find those in containers.
func TestContainersAreKnownFirst(t *testing.T) {
	t.Parallel()
	deps := packetfilter.Deps{Label: linuxtest.Label, Log: logging.Nop()}
	for _, d := range []*api.KVDescriptor{
		ifdescriptor.NewInterface(ifdescriptor.Deps{}), l3descriptor.NewRule(l3descriptor.Deps{}), l3descriptor.NewNexthop(l3descriptor.Deps{}), nftdescriptor.New(deps), iptdescriptor.New(deps),
		puntdescriptor.New(puntdescriptor.Deps{}),
	} {
		if !slices.Contains(d.RetrieveDependencies, nsmodel.MicroserviceDescriptor) {
			t.Errorf("%s is read after %v, expected %s among them", d.Name, d.RetrieveDependencies, nsmodel.MicroserviceDescriptor)
		}
	}
}
