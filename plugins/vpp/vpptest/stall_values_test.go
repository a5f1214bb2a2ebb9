//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be understood or refused

package vpptest_test

import (
	"fmt"
	"math/rand/v2"

	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// stallNames is how many values of each kind there may be in a trial with stalls.
const stallNames = 3

// stallValue is what a value of a trial is made from: which one of its kind it is, and
// which variant.
type stallValue struct {
	n, v int
	rnd  *rand.Rand
}

func (s stallValue) name(prefix string) string { return fmt.Sprintf("%s%d", prefix, s.n) }

func (s stallValue) addr(format string) string { return fmt.Sprintf(format, 10*s.n+s.v+10) }

// sometimes sets an MTU, and an address. An MTU that is no longer asked for stays, so there
// is always one. Parents of sub-interfaces have none: VPP gives it to their sub-interfaces.
func (s stallValue) sometimes(i *interfaces.Interface, third int) *interfaces.Interface {
	if s.rnd.IntN(2) == 0 {
		i.IpAddresses = []string{fmt.Sprintf("10.%d.%d.1/24", third+s.n, s.v)}
		i.Vrf = uint32(s.rnd.IntN(2))
	}
	if i.Type != interfaces.Interface_AF_PACKET {
		i.Mtu = uint32(1400 + s.v)
	}
	return i
}

// mac sometimes sets a MAC address.
func (s stallValue) mac(i *interfaces.Interface) *interfaces.Interface {
	if s.rnd.IntN(3) == 0 {
		i.PhysAddress = fmt.Sprintf("02:00:00:01:%02x:%02x", s.n, s.v)
	}
	return i
}

// stallKinds make the values of a trial.
var stallKinds = []func(s stallValue) proto.Message{
	func(s stallValue) proto.Message {
		i := loop(s.name("lo"), fmt.Sprintf("10.%d.%d.1/24", s.n, s.v))
		if s.rnd.IntN(3) == 0 {
			i.IpAddresses = nil
		}
		i.Vrf = uint32(s.rnd.IntN(2))
		return s.mac(i)
	},
	func(s stallValue) proto.Message {
		return s.mac(vxlan(s.name("vx"), "192.0.2.1", s.addr("192.0.2.%d"), uint32(100*(s.n+1)+s.v)))
	},
	func(s stallValue) proto.Message {
		return s.mac(memif(s.name("memif"), uint32(10*s.n+s.v), fmt.Sprintf("/run/m%d.sock", s.v)))
	},
	func(s stallValue) proto.Message {
		return tap(s.name("tap"), fmt.Sprintf("10.%d.%d.1/24", 100+s.n, s.v))
	},
	func(s stallValue) proto.Message { return s.sometimes(s.mac(afPacket(s.name("af"), s.name("eth"))), 50) },
	func(s stallValue) proto.Message {
		return s.sometimes(subif(s.name("sub"), s.name([]string{"lo", "af"}[s.rnd.IntN(2)]), uint32(100+s.v)), 60)
	},
	func(s stallValue) proto.Message {
		bd := bridge(s.name("bd"), s.name("vx"), s.name("memif"))
		bd.Learn = s.v == 0
		return bd
	},
	func(s stallValue) proto.Message {
		return &l2.FIBEntry{
			PhysAddress: fmt.Sprintf("02:00:00:00:00:%02x", s.n), BridgeDomain: s.name("bd"),
			OutgoingInterface: s.name([]string{"vx", "memif"}[s.v]), StaticConfig: true,
		}
	},
	func(s stallValue) proto.Message {
		return &l3.Route{
			DstNetwork: fmt.Sprintf("172.16.%d.0/24", s.n), NextHopAddr: fmt.Sprintf("10.%d.%d.9", s.n, s.v), OutgoingInterface: s.name("lo"),
		}
	},
	func(s stallValue) proto.Message {
		return &l3.ARPEntry{
			Interface: s.name("tap"), IpAddress: fmt.Sprintf("10.%d.0.77", 100+s.n),
			PhysAddress: fmt.Sprintf("02:00:00:00:%02x:%02x", s.v, s.n), Static: true,
		}
	},
	func(stallValue) proto.Message { return &l3.VrfTable{Id: 1, Label: "one"} },
	func(s stallValue) proto.Message {
		kind := []interfaces.GreLink_Type{interfaces.GreLink_L3, interfaces.GreLink_TEB}[s.v]
		return s.sometimes(gre(s.name("gre"), "198.51.100.1", s.addr("198.51.100.%d"), kind), 70)
	},
	func(s stallValue) proto.Message {
		return &l3.Route{DstNetwork: fmt.Sprintf("172.17.%d.0/24", s.n), Type: l3.Route_DROP, VrfId: uint32(s.v)}
	},
	func(s stallValue) proto.Message {
		i := ipip(s.name("ipip"), s.addr("198.51.101.%d"), s.addr("198.51.102.%d"))
		i.Vrf = uint32(s.rnd.IntN(2))
		return i
	},
	func(s stallValue) proto.Message {
		return s.sometimes(gtpu(s.name("gtpu"), "198.51.103.1", s.addr("198.51.103.%d"), uint32(100+s.n)), 80)
	},
	func(s stallValue) proto.Message {
		i := ipsecInterface(s.name("ipsec"))
		if s.v == 1 {
			i.GetIpsec().TunnelMode = interfaces.IPSecLink_POINT_TO_MULTIPOINT
		}
		return s.sometimes(i, 90)
	},
	func(s stallValue) proto.Message {
		return vxlanGpe(s.name("gpe"), "192.0.3.1", s.addr("192.0.3.%d"), uint32(100*(s.n+1)+s.v))
	},
	func(s stallValue) proto.Message {
		i := wireguard(s.name("wg"))
		i.GetWireguard().Port = uint32(51820 + 10*s.n + s.v)
		return i
	},
	func(s stallValue) proto.Message {
		i := vmxnet3(fmt.Sprintf("vmxnet3-0/b/0/%d", s.n))
		i.GetVmxNet3().RxqSize = uint32(1024 * (1 + s.v))
		return i
	},
	func(s stallValue) proto.Message { return rdma(s.name("rdma"), s.name("eth")) },
	func(s stallValue) proto.Message {
		i := bond(s.name("bond"), uint32(10*s.n+s.v), s.name("rdma"))
		if s.rnd.IntN(2) == 0 {
			i.GetBond().BondedInterfaces = nil
		}
		return i
	},
	func(s stallValue) proto.Message {
		return xconnect(s.name("gre"), s.name([]string{"af", "bond"}[s.v]))
	},
	func(s stallValue) proto.Message {
		return &l3.ProxyARP{
			Ranges:     []*l3.ProxyARP_Range{arpRange(s.addr("10.9.0.%d"), "10.9.0.200", 0)},
			Interfaces: []*l3.ProxyARP_Interface{{Name: s.name("tap")}},
		}
	},
	func(s stallValue) proto.Message {
		return &interfaces.Interface{
			Name: s.name("un"), Type: interfaces.Interface_SOFTWARE_LOOPBACK, Enabled: s.v == 0, Unnumbered: unnumbered(s.name("lo")),
		}
	},
}
