//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be understood or refused

package vpptest_test

import (
	"strings"
	"testing"

	"go.fd.io/govpp/api"
	greapi "go.fd.io/govpp/binapi/gre"
	gtpuapi "go.fd.io/govpp/binapi/gtpu"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"
	ipipapi "go.fd.io/govpp/binapi/ipip"
	ipsecapi "go.fd.io/govpp/binapi/ipsec"
	vxlanapi "go.fd.io/govpp/binapi/vxlan"
	gpeapi "go.fd.io/govpp/binapi/vxlan_gpe"
	wireguardapi "go.fd.io/govpp/binapi/wireguard"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func vxlan(name, src, dst string, vni uint32) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_VXLAN_TUNNEL, Enabled: true,
		Link: &interfaces.Interface_Vxlan{Vxlan: &interfaces.VxlanLink{SrcAddress: src, DstAddress: dst, Vni: vni}},
	}
}

func vxlanGpe(name, src, dst string, vni uint32) *interfaces.Interface {
	i := vxlan(name, src, dst, vni)
	i.GetVxlan().Gpe = &interfaces.VxlanLink_Gpe{Protocol: interfaces.VxlanLink_Gpe_IP4}
	return i
}

func gre(name, src, dst string, t interfaces.GreLink_Type) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_GRE_TUNNEL, Enabled: true,
		Link: &interfaces.Interface_Gre{Gre: &interfaces.GreLink{TunnelType: t, SrcAddr: src, DstAddr: dst}},
	}
}

func ipip(name, src, dst string) *interfaces.Interface {
	l := &interfaces.IPIPLink{SrcAddr: src, DstAddr: dst}
	if dst == "" {
		l.TunnelMode = interfaces.IPIPLink_POINT_TO_MULTIPOINT
	}
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_IPIP_TUNNEL, Enabled: true, Link: &interfaces.Interface_Ipip{Ipip: l},
	}
}

func gtpu(name, src, dst string, teid uint32) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_GTPU_TUNNEL, Enabled: true,
		Link: &interfaces.Interface_Gtpu{Gtpu: &interfaces.GtpuLink{SrcAddr: src, DstAddr: dst, Teid: teid}},
	}
}

func ipsecInterface(name string) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_IPSEC_TUNNEL, Enabled: true,
		Link: &interfaces.Interface_Ipsec{Ipsec: &interfaces.IPSecLink{}},
	}
}

func wireguard(name string) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_WIREGUARD_TUNNEL, Enabled: true,
		Link: &interfaces.Interface_Wireguard{Wireguard: &interfaces.WireguardLink{
			PrivateKey: "gIjXzrQfIFf80d0O8hJRVrWoKCtn0ROKtKnY8xDpkFM=", Port: 51820, SrcAddr: "192.0.2.1",
		}},
	}
}

func TestVxlan(t *testing.T) {
	kind{
		make: func() *interfaces.Interface {
			i := vxlan("vxlan1", "192.0.2.1", "192.0.2.2", 10)
			i.PhysAddress, i.IpAddresses = "02:00:00:00:00:07", []string{"10.1.1.1/24"}
			return i
		},
		relink: func(i *interfaces.Interface) { i.GetVxlan().Vni = 11 },
		byHand: func(_ uint32, i *interfaces.Interface) (api.Message, api.Message) {
			e := i.GetVxlan()
			return &vxlanapi.VxlanAddDelTunnelV3{
				SrcAddress: address(e.SrcAddress), DstAddress: address(e.DstAddress), Vni: e.Vni, McastSwIfIndex: noIndex,
			}, &vxlanapi.VxlanAddDelTunnelV3Reply{}
		},
		real: true,
	}.run(t)
}

const noIndex = ^interface_types.InterfaceIndex(0)

// address is an address for VPP.
func address(text string) (a ip_types.Address) {
	addr, err := ipconv.ParseAddr(text)
	if err != nil {
		panic(err)
	}
	return ipconv.Address(addr)
}

func TestVxlanGpe(t *testing.T) {
	kind{
		make:   func() *interfaces.Interface { return vxlanGpe("gpe1", "192.0.2.1", "192.0.2.2", 10) },
		relink: func(i *interfaces.Interface) { i.GetVxlan().Gpe.Protocol = interfaces.VxlanLink_Gpe_ETHERNET },
		byHand: func(_ uint32, i *interfaces.Interface) (api.Message, api.Message) {
			e := i.GetVxlan()
			return &gpeapi.VxlanGpeAddDelTunnelV2{
				Local: address(e.SrcAddress), Remote: address(e.DstAddress), Vni: e.Vni, Protocol: 1, McastSwIfIndex: noIndex,
			}, &gpeapi.VxlanGpeAddDelTunnelV2Reply{}
		},
		real: true,
	}.run(t)
}

func TestGre(t *testing.T) {
	kind{
		make: func() *interfaces.Interface {
			i := gre("gre1", "2001:db8::1", "2001:db8::2", interfaces.GreLink_L3)
			i.IpAddresses = []string{"10.1.1.1/24"}
			return i
		},
		relink: func(i *interfaces.Interface) {
			i.GetGre().TunnelType, i.GetGre().SessionId = interfaces.GreLink_ERSPAN, 7
		},
		byHand: func(_ uint32, i *interfaces.Interface) (api.Message, api.Message) {
			return &greapi.GreTunnelAddDel{Tunnel: greapi.GreTunnel{
				Src: address(i.GetGre().SrcAddr), Dst: address(i.GetGre().DstAddr),
			}}, &greapi.GreTunnelAddDelReply{}
		},
		real: true,
	}.run(t)
}

func TestIpip(t *testing.T) {
	kind{
		make: func() *interfaces.Interface {
			i := ipip("ipip1", "192.0.2.1", "192.0.2.2")
			i.IpAddresses, i.Vrf = []string{"10.1.1.1/24"}, 7
			return i
		},
		needs:  func() values { return of(&l3.VrfTable{Id: 7}) },
		relink: func(i *interfaces.Interface) { i.Link = ipip("", "192.0.2.3", "").Link },
		byHand: func(idx uint32, _ *interfaces.Interface) (api.Message, api.Message) {
			return &ipipapi.IpipDelTunnel{SwIfIndex: interface_types.InterfaceIndex(idx)}, &ipipapi.IpipDelTunnelReply{}
		},
		real: true,
	}.run(t)
}

func TestGtpu(t *testing.T) {
	kind{
		make: func() *interfaces.Interface { return gtpu("gtpu1", "192.0.2.1", "192.0.2.2", 10) },
		relink: func(i *interfaces.Interface) {
			i.GetGtpu().RemoteTeid, i.GetGtpu().DecapNext = 11, interfaces.GtpuLink_IP4
		},
		byHand: func(_ uint32, i *interfaces.Interface) (api.Message, api.Message) {
			return &gtpuapi.GtpuAddDelTunnel{
				SrcAddress: address(i.GetGtpu().SrcAddr), DstAddress: address(i.GetGtpu().DstAddr), Teid: 10, McastSwIfIndex: noIndex,
			}, &gtpuapi.GtpuAddDelTunnelReply{}
		},
		real: true,
	}.run(t)
}

func TestIpsecInterface(t *testing.T) {
	kind{
		make: func() *interfaces.Interface {
			i := ipsecInterface("ipsec1")
			i.IpAddresses = []string{"10.1.1.1/24"}
			return i
		},
		relink: func(i *interfaces.Interface) { i.GetIpsec().TunnelMode = interfaces.IPSecLink_POINT_TO_MULTIPOINT },
		byHand: func(idx uint32, _ *interfaces.Interface) (api.Message, api.Message) {
			return &ipsecapi.IpsecItfDelete{SwIfIndex: interface_types.InterfaceIndex(idx)}, &ipsecapi.IpsecItfDeleteReply{}
		},
		real: true,
	}.run(t)
}

func TestWireguardInterface(t *testing.T) {
	kind{
		make: func() *interfaces.Interface {
			i := wireguard("wg1")
			i.IpAddresses = []string{"10.1.1.1/24"}
			return i
		},
		relink: func(i *interfaces.Interface) { i.GetWireguard().Port = 51821 },
		byHand: func(idx uint32, _ *interfaces.Interface) (api.Message, api.Message) {
			return &wireguardapi.WireguardInterfaceDelete{SwIfIndex: interface_types.InterfaceIndex(idx)}, &wireguardapi.WireguardInterfaceDeleteReply{}
		},
		real: true,
	}.run(t)
}

// What is read back is what was asked for, in all variants of the links.
func TestTunnelLinks(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(of(loop("group", "192.0.2.9/24"), &l3.VrfTable{Id: 5}, &l3.VrfTable{Id: 6},
			&l3.VrfTable{Id: 5, Protocol: l3.VrfTable_IPV6}))
		group := vxlan("mcast", "192.0.2.1", "239.1.1.1", 12)
		group.GetVxlan().Multicast = "group"
		inVrf := vxlan("vrf", "2001:db8::1", "2001:db8::2", 1<<24-1)
		inVrf.Vrf = 5
		gpe := vxlanGpe("gpe", "192.0.2.1", "192.0.2.4", 13)
		gpe.GetVxlan().Gpe.DecapVrfId = 6
		teb := gre("teb", "192.0.2.1", "192.0.2.2", interfaces.GreLink_TEB)
		teb.PhysAddress, teb.GetGre().OuterFibId = "02:00:00:00:00:01", 6
		many := ipip("many", "2001:db8::1", "")
		many.Vrf = 5
		mobile := gtpu("mobile", "192.0.2.1", "192.0.2.2", 14)
		mobile.GetGtpu().EncapVrfId, mobile.GetGtpu().RemoteTeid, mobile.GetGtpu().DecapNextNode = 6, 15, 3
		six := vxlanGpe("six", "2001:db8::1", "2001:db8::3", 16)
		six.GetVxlan().Gpe.Protocol = interfaces.VxlanLink_Gpe_NSH
		all := []*interfaces.Interface{group, inVrf, gpe, teb, many, mobile, six}
		for _, i := range all {
			b.Must(of(i))
			allConfigured(t, b, of(i))
			wantLink(t, b, i)
			if got := readOne(b, i.Name); got.GetVrf() != i.Vrf {
				t.Errorf("VRF of %s is %d, expected %d", i.Name, got.GetVrf(), i.Vrf)
			}
			b.InSync()
		}
		// Interfaces of tunnels that are gone are used again, as if they were new.
		for _, i := range all {
			b.Must(deleted(of(i)))
		}
		for _, i := range all {
			i.Name, i.Enabled = "other-"+i.Name, false
			b.Must(of(i))
			wantLink(t, b, i)
		}
		b.InSync()
		for _, i := range all {
			if got := readOne(b, i.Name); got.GetEnabled() {
				t.Errorf("%s is up", i.Name)
			}
		}
	})
}

// The table of the tunnel is gone, or was changed by hand.
func TestVrfOfTunnel(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	i := vxlan("v", "192.0.2.1", "192.0.2.2", 10)
	i.Vrf = 5
	b.Must(of(i))
	b.Want(states{ifKey("v"): pending})
	b.Must(of(&l3.VrfTable{Id: 5}))
	b.Want(states{ifKey("v"): configured, "vpp/interface/v/vrf/5/ip-version/v4": configured})
	b.Must(deleted(of(&l3.VrfTable{Id: 5})))
	b.Want(states{ifKey("v"): pending})
	moved := proto.CloneOf(i)
	moved.Vrf = 0
	b.Must(of(moved))
	b.Want(states{ifKey("v"): configured})
	b.InSync()
}

// A tunnel that VPP has under another name: the error tells which.
func TestTunnelConflicts(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		for _, make := range []func(string) *interfaces.Interface{
			func(n string) *interfaces.Interface { return vxlan(n, "192.0.2.1", "192.0.2.2", 1) },
			func(n string) *interfaces.Interface { return vxlanGpe(n, "192.0.2.1", "192.0.2.2", 1) },
			func(n string) *interfaces.Interface {
				return gre(n, "192.0.2.1", "192.0.2.2", interfaces.GreLink_L3)
			},
			func(n string) *interfaces.Interface { return ipip(n, "192.0.2.1", "192.0.2.2") },
			func(n string) *interfaces.Interface { return gtpu(n, "192.0.2.1", "192.0.2.2", 1) },
		} {
			first, second := make("first"), make("second")
			b.Must(of(first))
			err := b.Commit(of(second))
			if want := `VPP has it already, as interface "first"`; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, expected %q", first.Type, err, want)
			}
			b.Must(deleted(of(first, second)))
		}
	})
}

func TestInvalidTunnels(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	type change = func(*interfaces.Interface)
	wantInvalid(t, b, vxlan("v", "192.0.2.1", "192.0.2.2", 1), map[string]change{
		"vxlan.src_address: empty":                               func(i *interfaces.Interface) { i.GetVxlan().SrcAddress = "" },
		"vxlan.dst_address: \"x\": expected an IP address":       func(i *interfaces.Interface) { i.GetVxlan().DstAddress = "x" },
		"vxlan.dst_address: 192.0.2.1 is the same":               func(i *interfaces.Interface) { i.GetVxlan().DstAddress = "192.0.2.1" },
		"vxlan.dst_address: 2001:db8::1, expected an address of": func(i *interfaces.Interface) { i.GetVxlan().DstAddress = "2001:db8::1" },
		"vxlan.vni: 16777216, expected at most":                  func(i *interfaces.Interface) { i.GetVxlan().Vni = 1 << 24 },
		"vxlan.multicast: empty, expected an interface":          func(i *interfaces.Interface) { i.GetVxlan().DstAddress = "239.0.0.1" },
		"vxlan.multicast: is the interface itself":               func(i *interfaces.Interface) { i.GetVxlan().Multicast = "v" },
		"vxlan.gpe.protocol: UNKNOWN":                            func(i *interfaces.Interface) { i.GetVxlan().Gpe = &interfaces.VxlanLink_Gpe{} },
		"vxlan.gpe.decap_vrf_id: 5, expected 0 for protocol IP6": func(i *interfaces.Interface) {
			i.GetVxlan().Gpe = &interfaces.VxlanLink_Gpe{Protocol: interfaces.VxlanLink_Gpe_IP6, DecapVrfId: 5}
		},
		"phys_address: a VXLAN-GPE tunnel has no MAC address": func(i *interfaces.Interface) {
			i.PhysAddress, i.GetVxlan().Gpe = "02:00:00:00:00:01", &interfaces.VxlanLink_Gpe{Protocol: interfaces.VxlanLink_Gpe_IP4}
		},
	})
	wantInvalid(t, b, gre("g", "192.0.2.1", "192.0.2.2", interfaces.GreLink_ERSPAN), map[string]change{
		"gre.tunnel_type: UNKNOWN":  func(i *interfaces.Interface) { i.GetGre().TunnelType = 0 },
		"gre.session_id: 1024":      func(i *interfaces.Interface) { i.GetGre().SessionId = 1024 },
		"gre.src_addr: empty":       func(i *interfaces.Interface) { i.GetGre().SrcAddr = "" },
		"gre.dst_addr: \"192.0.2\"": func(i *interfaces.Interface) { i.GetGre().DstAddr = "192.0.2" },
		"gre.session_id: 1, expected 0 for type TEB": func(i *interfaces.Interface) {
			i.GetGre().TunnelType, i.GetGre().SessionId = interfaces.GreLink_TEB, 1
		},
		"phys_address: a GRE tunnel of type L3": func(i *interfaces.Interface) {
			i.GetGre().TunnelType, i.PhysAddress = interfaces.GreLink_L3, "02:00:00:00:00:01"
		},
	})
	wantInvalid(t, b, ipip("p", "192.0.2.1", "192.0.2.2"), map[string]change{
		"ipip.src_addr: empty": func(i *interfaces.Interface) { i.GetIpip().SrcAddr = "" },
		"ipip.dst_addr: empty": func(i *interfaces.Interface) { i.GetIpip().DstAddr = "" },
		"ipip.tunnel_mode: 9":  func(i *interfaces.Interface) { i.GetIpip().TunnelMode = 9 },
		"ipip.dst_addr: 192.0.2.2, expected none": func(i *interfaces.Interface) {
			i.GetIpip().TunnelMode = interfaces.IPIPLink_POINT_TO_MULTIPOINT
		},
	})
	wantInvalid(t, b, gtpu("t", "192.0.2.1", "192.0.2.2", 1), map[string]change{
		"gtpu.src_addr: empty":  func(i *interfaces.Interface) { i.GetGtpu().SrcAddr = "" },
		"gtpu.multicast: empty": func(i *interfaces.Interface) { i.GetGtpu().DstAddr = "239.0.0.1" },
		"gtpu.decap_next: 9":    func(i *interfaces.Interface) { i.GetGtpu().DecapNext = 9 },
		"gtpu.decap_next_node: 3, but decap_next is IP4": func(i *interfaces.Interface) {
			i.GetGtpu().DecapNext, i.GetGtpu().DecapNextNode = interfaces.GtpuLink_IP4, 3
		},
	})
	wantInvalid(t, b, ipsecInterface("s"), map[string]change{
		"ipsec.tunnel_mode: 9": func(i *interfaces.Interface) { i.GetIpsec().TunnelMode = 9 },
		"ipsec.local_spi: security associations are items of their own": func(i *interfaces.Interface) { i.GetIpsec().LocalSpi = 5 }, //nolint:staticcheck // what old configurations have
	})
	wantInvalid(t, b, wireguard("w"), map[string]change{
		"wireguard.private_key: expected 32 bytes in base64": func(i *interfaces.Interface) { i.GetWireguard().PrivateKey = "c2hvcnQ=" },
		"wireguard.src_addr: empty":                          func(i *interfaces.Interface) { i.GetWireguard().SrcAddr = "" },
		"wireguard.port: 65536, expected at most 65535":      func(i *interfaces.Interface) { i.GetWireguard().Port = 65536 },
	})
}
