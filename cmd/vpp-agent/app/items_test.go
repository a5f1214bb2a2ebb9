package app_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"go.fd.io/govpp/api"
	aclapi "go.fd.io/govpp/binapi/acl"
	"go.fd.io/govpp/binapi/acl_types"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"
	ipsecapi "go.fd.io/govpp/binapi/ipsec"
	"go.fd.io/govpp/binapi/ipsec_types"
	"go.fd.io/govpp/binapi/nat44_ed"
	"go.fd.io/govpp/binapi/nat_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/client"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
	ipsec "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipsec"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// bulk is many items of a type, and the requests by which VPP gets as many: the same ones,
// but for other names.
type bulk struct {
	items  []proto.Message
	raw    rawCalls
	weight int // of an item in the rates, such as the rules of a list; 0 is 1
}

// BenchmarkItems sends items through the whole agent into a VPP, as one change of a client, and
// compares that with what the same VPP takes over a connection that is always full. The budget is
// for a real VPP: the simulator takes its processors from the agent, and does much less for an
// item.
func BenchmarkItems(b *testing.B) {
	for _, kind := range []struct {
		name    string
		percent float64
		make    func(loop interface_types.InterfaceIndex) bulk
	}{
		{"routes", 50, manyRoutes},
		{"acl-rules", 60, manyACLs},
		{"nat-mappings", 60, manyMappings},
		{"ipsec-sas", 60, manySAs},
	} {
		b.Run(kind.name+"-simulator", func(b *testing.B) {
			b.ReportMetric(compareItems(b, vpptest.Simulator(b, vppsim.Options{}).Socket, kind.make), "%-of-raw")
		})
		b.Run(kind.name+"-real", func(b *testing.B) {
			percent := compareItems(b, realvpptest.Start(b, roomForRoutes).Socket, kind.make)
			infratest.AtLeast(b, kind.name+"-real", percent, "%", kind.percent)
		})
	}
}

// compareItems returns the rate of the agent in percent of the rate of the requests.
func compareItems(b *testing.B, socket string, many func(loop interface_types.InterfaceIndex) bulk) float64 {
	h := newHouse(b, network+"  nat44Global: {}\n")
	h.vpp(b, "binapi-socket-path: "+socket+"\n")
	h.write(b, "initfile.conf", "disable-initial-configuration: true\n")
	h.start(b)
	h.await(b, loopKey, pb.ValueState_CONFIGURED)
	h.await(b, "config/vpp/nat/v2/nat44-global", pb.ValueState_CONFIGURED)
	loop, ok := h.VPPIfPlugin.Interfaces().LookupByName("loop1")
	if !ok {
		b.Fatal("loop1 is not in the index")
	}
	all := many(interface_types.InterfaceIndex(loop.SwIfIndex))
	all.raw.connect(b, socket)
	c := client.NewLocal(h.Orchestrator)
	var through, limit time.Duration
	for range b.N {
		m := infratest.Medians(3,
			func() time.Duration { return all.raw.send(b, true) },
			func() time.Duration {
				return infratest.Took(func() { sendItems(b, c.ChangeRequest().Update(all.items...), len(all.items)) })
			},
			func() time.Duration { return all.raw.send(b, false) },
			func() time.Duration {
				return infratest.Took(func() { sendItems(b, c.ChangeRequest().Delete(all.items...), len(all.items)) })
			},
		)
		limit, through = limit+m[0], through+m[1]
	}
	n := float64(len(all.items) * max(all.weight, 1) * b.N)
	b.ReportMetric(n/limit.Seconds(), "raw/s")
	b.ReportMetric(n/through.Seconds(), "items/s")
	if err := h.agent.Stop(); err != nil {
		b.Fatal(err)
	}
	return 100 * float64(limit) / float64(through)
}

func sendItems(b *testing.B, r *client.ChangeRequest, n int) {
	results, err := r.Send(b.Context())
	if err != nil || len(results) != n {
		b.Fatalf("%d results, error %v", len(results), err)
	}
}

// atOnce items are sent in one change.
const atOnce = 20_000

func manyRoutes(loop interface_types.InterfaceIndex) bulk {
	all := bulk{raw: rawRoutes(loop, atOnce)}
	for i := range atOnce {
		all.items = append(all.items, &l3.Route{DstNetwork: destination(20, i).String(), NextHopAddr: "10.1.0.2", OutgoingInterface: "loop1"})
	}
	return all
}

// destination is the i-th network below <first>.0.0.0/8.
func destination(first byte, i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{first, byte(i >> 8), byte(i), 0}), 24)
}

// rawRoutes are n routes.
func rawRoutes(loop interface_types.InterfaceIndex, n int) rawCalls {
	nextHop := ip_types.AddressUnionIP4(netip.MustParseAddr("10.1.0.2").As4())
	return rawCalls{n: n, call: func(i int, add bool, _ api.Message) (request, reply api.Message) {
		return &ip.IPRouteAddDel{IsAdd: add, IsMultipath: true, Route: ip.IPRoute{
			Prefix: prefixOf(hostRoute(i + 1<<24)),
			NPaths: 1, Paths: []fib_types.FibPath{{SwIfIndex: uint32(loop), Weight: 1, Nh: fib_types.FibPathNh{Address: nextHop}}},
		}}, &ip.IPRouteAddDelReply{}
	}}
}

func prefixOf(p netip.Prefix) ip_types.Prefix {
	return ip_types.Prefix{Address: ip_types.Address{Un: ip_types.AddressUnionIP4(p.Addr().As4())}, Len: uint8(p.Bits())}
}

// manyACLs are lists of a hundred rules.
func manyACLs(interface_types.InterfaceIndex) bulk {
	const rules = 100
	all := bulk{weight: rules}
	for i := range atOnce / rules {
		list := &acl.ACL{Name: fmt.Sprint("acl", i)}
		for n := range rules {
			list.Rules = append(list.Rules, &acl.ACL_Rule{Action: acl.ACL_Rule_PERMIT, IpRule: &acl.ACL_Rule_IpRule{
				Ip: &acl.ACL_Rule_IpRule_Ip{SourceNetwork: destination(byte(i), n).String(), DestinationNetwork: "10.1.0.0/24"},
				Tcp: &acl.ACL_Rule_IpRule_Tcp{
					SourcePortRange:      &acl.ACL_Rule_IpRule_PortRange{UpperPort: 65535},
					DestinationPortRange: &acl.ACL_Rule_IpRule_PortRange{LowerPort: 80, UpperPort: 88},
				},
			}})
		}
		all.items = append(all.items, list)
	}
	all.raw = rawCalls{n: len(all.items), call: func(i int, add bool, added api.Message) (request, reply api.Message) {
		if !add {
			return &aclapi.ACLDel{ACLIndex: added.(*aclapi.ACLAddReplaceReply).ACLIndex}, &aclapi.ACLDelReply{}
		}
		list := &aclapi.ACLAddReplace{ACLIndex: ^uint32(0), Tag: fmt.Sprint("raw", i), Count: rules}
		for n := range rules {
			list.R = append(list.R, acl_types.ACLRule{
				IsPermit: acl_types.ACL_ACTION_API_PERMIT, Proto: ip_types.IP_API_PROTO_TCP,
				SrcPrefix: prefixOf(destination(byte(i), n)), DstPrefix: prefixOf(netip.MustParsePrefix("10.1.0.0/24")),
				SrcportOrIcmptypeLast: 65535, DstportOrIcmpcodeFirst: 80, DstportOrIcmpcodeLast: 88,
			})
		}
		return list, &aclapi.ACLAddReplaceReply{}
	}}
	return all
}

// manyMappings are NAT44 static mappings.
func manyMappings(interface_types.InterfaceIndex) bulk {
	var all bulk
	for i := range atOnce {
		all.items = append(all.items, &nat.DNat44{Label: fmt.Sprint("dnat", i), StMappings: []*nat.DNat44_StaticMapping{{
			ExternalIp: hostRoute(i).Addr().String(), ExternalPort: 80,
			LocalIps: []*nat.DNat44_StaticMapping_LocalIP{{LocalIp: "10.1.0.9", LocalPort: 8080}},
		}}})
	}
	all.raw = rawCalls{n: atOnce, call: func(i int, add bool, _ api.Message) (request, reply api.Message) {
		return &nat44_ed.Nat44AddDelStaticMappingV2{
			IsAdd: add, Flags: nat_types.NAT_IS_OUT2IN_ONLY, Tag: fmt.Sprint("raw", i), Protocol: 6,
			ExternalIPAddress: hostRoute(i + 1<<24).Addr().As4(), ExternalPort: 80, ExternalSwIfIndex: ^interface_types.InterfaceIndex(0),
			LocalIPAddress: ip_types.IP4Address{10, 1, 0, 9}, LocalPort: 8080,
		}, &nat44_ed.Nat44AddDelStaticMappingV2Reply{}
	}}
	return all
}

// manySAs are IPsec security associations in tunnel mode.
func manySAs(interface_types.InterfaceIndex) bulk {
	const key = "0123456789abcdef0123456789abcdef"
	var all bulk
	for i := range uint32(atOnce) {
		all.items = append(all.items, &ipsec.SecurityAssociation{
			Index: i, Spi: 1000 + i, Protocol: ipsec.SecurityAssociation_ESP, CryptoAlg: ipsec.CryptoAlg_AES_GCM_128, CryptoKey: key,
			TunnelSrcAddr: "10.1.0.1", TunnelDstAddr: hostRoute(int(i)).Addr().String(),
		})
	}
	data := []byte{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}
	all.raw = rawCalls{n: atOnce, call: func(i int, add bool, _ api.Message) (request, reply api.Message) {
		id := uint32(i + atOnce)
		if !add {
			return &ipsecapi.IpsecSadEntryDel{ID: id}, &ipsecapi.IpsecSadEntryDelReply{}
		}
		e := ipsec_types.IpsecSadEntryV3{
			SadID: id, Spi: 1000 + id, Protocol: ipsec_types.IPSEC_API_PROTO_ESP,
			CryptoAlgorithm: ipsec_types.IPSEC_API_CRYPTO_ALG_AES_GCM_128, CryptoKey: ipsec_types.Key{Length: 16, Data: data},
			Flags: ipsec_types.IPSEC_API_SAD_FLAG_IS_TUNNEL,
		}
		e.Tunnel.Src, e.Tunnel.Dst = prefixOf(netip.MustParsePrefix("10.1.0.1/32")).Address, prefixOf(hostRoute(i+1<<24)).Address
		return &ipsecapi.IpsecSadEntryAdd{Entry: e}, &ipsecapi.IpsecSadEntryAddReply{}
	}}
	return all
}

// rawCalls keep a connection full of requests.
type rawCalls struct {
	n int
	// call is the i-th request that adds or removes, and a message for the reply. added is the
	// reply to the addition, for its removal.
	call func(i int, add bool, added api.Message) (request, reply api.Message)

	conn              *binapi.Conn
	requests, replies []api.Message
}

func (r *rawCalls) connect(b *testing.B, socket string) {
	conn, err := binapi.Dial(b.Context(), binapi.Options{Socket: socket})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	r.conn, r.requests, r.replies = conn, make([]api.Message, r.n), make([]api.Message, r.n)
}

// send adds or removes all, and returns how long VPP took.
func (r *rawCalls) send(b *testing.B, add bool) time.Duration {
	const inFlight = 512
	for i := range r.n {
		r.requests[i], r.replies[i] = r.call(i, add, r.replies[i])
	}
	var futures [inFlight]binapi.Future
	start := time.Now()
	for i, req := range r.requests {
		at := i % inFlight
		if i >= inFlight {
			r.check(b, futures[at])
		}
		futures[at] = r.conn.Send(context.Background(), req, r.replies[i])
	}
	for _, f := range futures[:min(inFlight, r.n)] {
		r.check(b, f)
	}
	return time.Since(start)
}

func (r *rawCalls) check(b *testing.B, f binapi.Future) {
	if err := f.Result(); err != nil {
		b.Fatal(fmt.Errorf("raw request: %w", err))
	}
}
