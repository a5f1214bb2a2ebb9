package descriptor

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/l3xc"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// l3xconnect sends all packets of one version of IP that an interface receives
// along paths.
type l3xconnect struct {
	SwIfIndex interface_types.InterfaceIndex
	IPv6      bool
	Paths     []vppcalls.Path // sorted
}

// sortPaths orders paths: VPP does not care.
func sortPaths(paths []vppcalls.Path) {
	slices.SortFunc(paths, func(a, b vppcalls.Path) int {
		return cmp.Or(cmp.Compare(a.SwIfIndex, b.SwIfIndex), a.NextHop.Compare(b.NextHop))
	})
}

// l3xconnects are the cross-connects of VPP. VPP does not fill in their version of IP, which
// follows from the next hops.
var l3xconnects = item.Declare("L3 cross-connect", "l3xc", item.Variant[l3xconnect]{
	Change: func(x l3xconnect, add bool) (request, reply api.Message) {
		if !add {
			return &l3xc.L3xcDel{SwIfIndex: x.SwIfIndex, IsIP6: x.IPv6}, &l3xc.L3xcDelReply{}
		}
		req := &l3xc.L3xcUpdate{L3xc: l3xc.L3xc{SwIfIndex: x.SwIfIndex, IsIP6: x.IPv6, NPaths: uint8(len(x.Paths))}}
		for _, p := range x.Paths {
			req.L3xc.Paths = append(req.L3xc.Paths, p.Message(x.IPv6))
		}
		return req, &l3xc.L3xcUpdateReply{}
	},
	Dumps: []item.Dump[l3xconnect]{item.List(&l3xc.L3xcDump{SwIfIndex: interface_types.InterfaceIndex(vppcalls.NoInterface)},
		func(d *l3xc.L3xcDetails) (x l3xconnect, ok bool) {
			x.SwIfIndex = d.L3xc.SwIfIndex
			for _, p := range d.L3xc.Paths {
				x.IPv6 = p.Proto == fib_types.FIB_API_PATH_NH_PROTO_IP6
				x.Paths = append(x.Paths, vppcalls.PathOf(p))
			}
			sortPaths(x.Paths)
			return x, true
		})},
})

// l3xcID distinguishes cross-connects.
type l3xcID struct {
	in   uint32
	ipv6 bool
}

// NewL3XConnect describes L3 cross-connects. One sends all packets of one version of IP that an
// interface receives along paths, whatever their destination. The interface has our tag, so
// a cross-connect on it is ours too. It must go before the interface does: VPP would keep it
// for the next interface with the same index. A change creates it again: VPP 22.10 to 26.06
// take other paths but continue forwarding along those that the cross-connect was created with
// (l3xc_update in src/plugins/l3xc/l3xc.c).
func NewL3XConnect(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*l3.L3XConnect, l3xconnect, l3xcID]{
		Name: L3XConnectName, Model: model.L3XConnectModel, Operation: l3xconnects,
		Resolve: resolveL3XC,
		ID:      func(x l3xconnect) l3xcID { return l3xcID{uint32(x.SwIfIndex), x.IPv6} },
		Value: func(n *item.Names, x l3xconnect) *l3.L3XConnect {
			v := &l3.L3XConnect{Interface: n.Interface(x.SwIfIndex)}
			if x.IPv6 {
				v.Protocol = l3.L3XConnect_IPV6
			}
			for _, p := range x.Paths {
				v.Paths = append(v.Paths, l3xcPathValue(n, p))
				if _, ok := n.LookupInterface(p.SwIfIndex); !ok && p.SwIfIndex != vppcalls.NoInterface {
					kvs.AddUnmodeled(v, fmt.Sprintf("path over interface %d, which has no tag", p.SwIfIndex))
				}
			}
			return v
		},
		Gone: []api.VPPApiError{api.INVALID_VALUE},
	})
}

func resolveL3XC(r *item.Resolver, v *l3.L3XConnect) l3xconnect {
	x := l3xconnect{IPv6: v.GetProtocol() == l3.L3XConnect_IPV6}
	r.DependsOn("target-interface-exists", ifmodel.InterfaceModel.KeyFor(v.GetInterface()))
	x.SwIfIndex = r.SwIfIndex(v.GetInterface())
	if _, ok := l3.L3XConnect_Protocol_name[int32(v.GetProtocol())]; !ok {
		r.Fail("protocol", "%d, expected IPV4 or IPV6", v.GetProtocol())
	}
	if n := len(v.GetPaths()); n == 0 || n > maxByte {
		r.Fail("paths", "%d paths, expected 1 to %d", n, maxByte)
	}
	type pathID struct {
		out uint32
		hop netip.Addr
	}
	seen, named := map[pathID]bool{}, map[string]bool{"": true}
	for n, p := range v.GetPaths() {
		field := fmt.Sprintf("paths[%d]", n)
		path := resolveL3XCPath(r, field, p, x.IPv6)
		if id := (pathID{path.SwIfIndex, path.NextHop}); seen[id] {
			r.Fail(field, "is listed twice")
		} else {
			seen[id] = true
		}
		if name := p.GetOutgoingInterface(); !named[name] {
			named[name] = true
			r.DependsOn("outgoing-interface-exists-"+name, ifmodel.InterfaceModel.KeyFor(name))
		}
		x.Paths = append(x.Paths, path)
	}
	sortPaths(x.Paths)
	return x
}

func resolveL3XCPath(r *item.Resolver, field string, p *l3.L3XConnect_Path, ipv6 bool) vppcalls.Path {
	out := vppcalls.Path{
		SwIfIndex: vppcalls.NoInterface, NextHop: netip.IPv4Unspecified(),
		Weight:     uint8(max(p.GetWeight(), 1)),
		Preference: uint8(p.GetPreference()),
	}
	if ipv6 {
		out.NextHop = netip.IPv6Unspecified()
	}
	if p.GetOutgoingInterface() != "" {
		out.SwIfIndex = uint32(r.SwIfIndex(p.GetOutgoingInterface()))
	}
	if p.GetNextHopAddr() == "" {
		if p.GetOutgoingInterface() == "" {
			r.Fail(field+".next_hop_addr, "+field+".outgoing_interface", "both empty, expected at least one")
		}
		return out
	}
	hop, err := ipconv.ParseAddr(p.GetNextHopAddr())
	switch {
	case err != nil:
		r.Fail(field+".next_hop_addr", "%w", err)
	case hop.Is6() != ipv6:
		r.Fail(field+".next_hop_addr", "%s, expected an address of the protocol of the cross-connect", hop)
	case hop.IsUnspecified() && p.GetOutgoingInterface() == "":
		r.Fail(field+".next_hop_addr", "%s, expected the address of a next hop, as there is no outgoing_interface", hop)
	default:
		out.NextHop = hop
	}
	return out
}

// l3xcPathValue translates a path; an interface without a name is left out.
func l3xcPathValue(n *item.Names, p vppcalls.Path) *l3.L3XConnect_Path {
	out := &l3.L3XConnect_Path{Weight: uint32(p.Weight), Preference: uint32(p.Preference)}
	if !p.NextHop.IsUnspecified() {
		out.NextHopAddr = p.NextHop.String()
	}
	if p.SwIfIndex != vppcalls.NoInterface {
		out.OutgoingInterface, _ = n.LookupInterface(p.SwIfIndex)
	}
	return out
}
