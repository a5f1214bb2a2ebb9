package natplugin

import (
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	vpp64 "go.fd.io/govpp/binapi/nat64"
	"go.fd.io/govpp/binapi/nat_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/natplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	nat64 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat64"
)

// allProtocols selects the bindings of all protocols (nat64_db_bib_walk).
const allProtocols = 255

type staticBIB = vpp64.Nat64AddDelStaticBib

// bibID is what VPP has once.
type bibID struct {
	addr  ip_types.IP6Address
	port  uint16
	vrf   uint32
	proto uint8
}

var staticBIBs = item.Declare("NAT64 static BIB", nat64Plugin, item.Variant[staticBIB]{
	Change: func(b staticBIB, add bool) (request, reply api.Message) {
		b.IsAdd = add
		return &b, &vpp64.Nat64AddDelStaticBibReply{}
	},
	Dumps: []item.Dump[staticBIB]{item.List(&vpp64.Nat64BibDump{Proto: allProtocols},
		func(d *vpp64.Nat64BibDetails) (staticBIB, bool) {
			return staticBIB{IAddr: d.IAddr, OAddr: d.OAddr, IPort: d.IPort, OPort: d.OPort, VrfID: d.VrfID, Proto: d.Proto},
				d.Flags&nat_types.NAT_IS_STATIC != 0 && protocolOf64(d.Proto) >= 0
		})},
})

// protocols64 are protocols by their numbers in IP.
var protocols64 = map[nat64.StaticBIB_Protocol]uint8{
	nat64.StaticBIB_TCP: 6, nat64.StaticBIB_UDP: 17, nat64.StaticBIB_ICMP: 1,
}

// protocolOf64 returns the protocol with a number, -1 for others.
func protocolOf64(number uint8) nat64.StaticBIB_Protocol {
	for p, n := range protocols64 {
		if n == number {
			return p
		}
	}
	return -1
}

// NewNAT64StaticBIB describes static bindings. With worker threads VPP makes them a little
// later.
func NewNAT64StaticBIB(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewEntry(vpp, nil, item.Entry[*nat64.StaticBIB, staticBIB, bibID]{
		Name: NAT64StaticBIBName, Model: model.NAT64StaticBIBModel, Operation: staticBIBs,
		Resolve: func(r *item.Resolver, v *nat64.StaticBIB) staticBIB {
			dependsOnNAT64(r)
			number, known := protocols64[v.GetProtocol()]
			if !known {
				r.Fail("protocol", "%d, expected TCP, UDP or ICMP", v.GetProtocol())
			}
			return staticBIB{
				IAddr: ip6(r, "inside_addr", v.GetInsideAddr()), OAddr: ip4(r, "outside_addr", v.GetOutsideAddr()),
				IPort: uint16(v.GetInsidePort()), OPort: uint16(v.GetOutsidePort()),
				VrfID: r.Table(v.GetVrfId(), anyIP6), Proto: number,
			}
		},
		ID: func(b staticBIB) bibID { return bibID{b.IAddr, b.IPort, b.VrfID, b.Proto} },
		Value: func(_ *item.Names, b staticBIB) *nat64.StaticBIB {
			return &nat64.StaticBIB{
				InsideAddr: netip.AddrFrom16(b.IAddr).String(), InsidePort: uint32(b.IPort),
				OutsideAddr: netip.AddrFrom4(b.OAddr).String(), OutsidePort: uint32(b.OPort), Protocol: protocolOf64(b.Proto), VrfId: b.VrfID,
			}
		},
		Exists: exists, Gone: gone,
		Explain: map[api.VPPApiError]string{
			api.INVALID_VALUE:   "outside_addr, outside_port: another binding or session has them",
			api.INVALID_VALUE_2: "outside_port: not one of the worker of inside_addr, which VPP chooses",
		},
	})
}

// ip6 returns an IPv6 address of one host.
func ip6(r *item.Resolver, field, text string) ip_types.IP6Address {
	addr, err := ipconv.ParseAddr(text)
	if err != nil || !addr.Is6() || addr.IsUnspecified() || addr.IsMulticast() {
		r.Fail(field, "%q, expected the IPv6 address of one host", text)
		return ip_types.IP6Address{}
	}
	return addr.As16()
}
