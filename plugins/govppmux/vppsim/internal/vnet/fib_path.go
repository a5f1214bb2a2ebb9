package vnet

import (
	"bytes"
	"cmp"
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/ip_types"
)

// pathKind is what VPP makes of the fields of a path; the order is that of dumps.
type pathKind uint8

const (
	pathAttachedNextHop pathKind = iota
	pathAttached
	pathRecursive
	pathSpecial // drop and ICMP errors
	pathExclusive
	pathDeag // look up again in another table
	pathInterfaceRx
	pathUDPEncap
	pathReceive
	pathBIERImposition
	pathDVR
)

// fibPath is one path of a route.
type fibPath struct {
	kind       pathKind
	apiType    fib_types.FibPathType
	proto      fib_types.FibPathNhProto
	flags      fib_types.FibPathFlags
	weight     uint8
	preference uint8
	nextHop    [16]byte // IPv4 in the first four
	out        uint32   // sw_if_index, none without
	table      uint32   // ID of the table of a recursive path or a lookup
	object     uint32
	labels     []fib_types.FibMplsLabel
}

func (f family) pathProto() fib_types.FibPathNhProto {
	if f == ip6 {
		return fib_types.FIB_API_PATH_NH_PROTO_IP6
	}
	return fib_types.FIB_API_PATH_NH_PROTO_IP4
}

func dropPath(f family) fibPath {
	return fibPath{
		kind: pathSpecial, apiType: fib_types.FIB_API_PATH_TYPE_DROP,
		proto: f.pathProto(), weight: 1, out: none,
	}
}

// linkLocalPath is how the route of fe80::/10 looks in dumps: it leads to a lookup
// per interface that the API has no words for.
func linkLocalPath() fibPath {
	return fibPath{kind: pathExclusive, proto: ip6.pathProto(), weight: 1, out: none}
}

// localPath receives packets for an address of an interface.
func localPath(out uint32, addr netip.Addr) fibPath {
	p := attachedPath(out, addr)
	p.kind, p.apiType = pathReceive, fib_types.FIB_API_PATH_TYPE_LOCAL
	return p
}

// gleanPath is the path of a connected prefix.
func gleanPath(out uint32, f family) fibPath {
	return fibPath{kind: pathAttached, proto: f.pathProto(), weight: 1, out: out}
}

// attachedPath leads to a neighbour.
func attachedPath(out uint32, nextHop netip.Addr) fibPath {
	return fibPath{
		kind: pathAttachedNextHop, proto: familyOf(nextHop).pathProto(), weight: 1,
		nextHop: rawAddr(nextHop), out: out,
	}
}

func rawAddr(a netip.Addr) [16]byte {
	var raw [16]byte
	copy(raw[:], a.AsSlice())
	return raw
}

func (p fibPath) isAttached() bool { return p.kind == pathAttached }

// family is the address family of the next hop.
func (p *fibPath) family() family {
	if p.proto == fib_types.FIB_API_PATH_NH_PROTO_IP6 {
		return ip6
	}
	return ip4
}

// hostPrefix is the next hop as a prefix.
func (p *fibPath) hostPrefix() netip.Prefix {
	if p.family() == ip6 {
		return netip.PrefixFrom(netip.AddrFrom16(p.nextHop), 128)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte(p.nextHop[:4])), 32)
}

// identity compares what makes two paths the same; weight and preference do not.
func (p fibPath) identity(q fibPath) int {
	if c := cmp.Or(cmp.Compare(p.kind, q.kind), cmp.Compare(p.proto, q.proto)); c != 0 {
		return c
	}
	switch p.kind {
	case pathSpecial, pathReceive, pathExclusive:
		return 0
	case pathUDPEncap, pathBIERImposition:
		return cmp.Compare(p.object, q.object)
	}
	return cmp.Or(
		bytes.Compare(p.nextHop[:], q.nextHop[:]),
		cmp.Compare(p.out, q.out),
		cmp.Compare(p.table, q.table),
	)
}

func (p fibPath) same(q fibPath) bool { return p.identity(q) == 0 }

// compare is the order of paths in an entry.
func (p fibPath) compare(q fibPath) int {
	return cmp.Or(cmp.Compare(p.preference, q.preference), p.identity(q))
}

// decodePath checks and translates a path of the API for a route to prefix.
func (n *VNet) decodePath(in *fib_types.FibPath, prefix netip.Prefix) (fibPath, api.VPPApiError) {
	p := fibPath{
		apiType: in.Type, proto: in.Proto, flags: in.Flags &^ fib_types.FIB_API_PATH_FLAG_POP_PW_CW,
		weight: max(1, in.Weight), preference: in.Preference, out: none,
	}
	if in.NLabels > 0 {
		p.labels = append(p.labels, in.LabelStack[:min(16, in.NLabels)]...)
	}
	switch in.Type {
	case fib_types.FIB_API_PATH_TYPE_NORMAL, fib_types.FIB_API_PATH_TYPE_SOURCE_LOOKUP:
		p.apiType = fib_types.FIB_API_PATH_TYPE_NORMAL
		return n.decodeNormalPath(p, in, prefix)
	case fib_types.FIB_API_PATH_TYPE_LOCAL:
		p.kind, p.out = pathReceive, in.SwIfIndex
	case fib_types.FIB_API_PATH_TYPE_DROP,
		fib_types.FIB_API_PATH_TYPE_ICMP_UNREACH, fib_types.FIB_API_PATH_TYPE_ICMP_PROHIBIT:
		p.kind = pathSpecial
	case fib_types.FIB_API_PATH_TYPE_DVR:
		p.kind, p.out = pathDVR, in.SwIfIndex
	case fib_types.FIB_API_PATH_TYPE_INTERFACE_RX:
		p.kind, p.out = pathInterfaceRx, in.SwIfIndex
	case fib_types.FIB_API_PATH_TYPE_UDP_ENCAP:
		p.kind, p.object = pathUDPEncap, in.Nh.ObjID
	case fib_types.FIB_API_PATH_TYPE_BIER_IMP:
		p.kind, p.object = pathBIERImposition, in.Nh.ObjID
	case fib_types.FIB_API_PATH_TYPE_CLASSIFY:
		return p, api.NO_SUCH_TABLE
	default:
		p.kind = pathSpecial
	}
	return p, ok
}

// decodeNormalPath finds out which of the four kinds a normal path is: to a
// neighbour, onto a link, through another route, or through another table.
func (n *VNet) decodeNormalPath(p fibPath, in *fib_types.FibPath, prefix netip.Prefix) (fibPath, api.VPPApiError) {
	if in.Proto > fib_types.FIB_API_PATH_NH_PROTO_IP6 {
		return p, api.UNSPECIFIED
	}
	p.out, p.nextHop = in.SwIfIndex, in.Nh.Address.XXX_UnionData
	if p.family() == ip4 {
		clear(p.nextHop[4:])
	}
	hasNextHop := p.nextHop != [16]byte{}
	switch {
	case p.out != none && n.ifs.at(p.out) == nil:
		return p, api.NO_MATCHING_INTERFACE
	case p.out != none && hasNextHop:
		p.kind = pathAttachedNextHop
	case p.out != none && prefix.IsSingleIP():
		p.kind, p.nextHop = pathAttachedNextHop, rawAddr(prefix.Addr())
	case p.out != none:
		p.kind = pathAttached
	case !n.tableExists(p.family(), in.TableID):
		return p, api.NO_SUCH_FIB
	case !hasNextHop:
		p.kind, p.table = pathDeag, in.TableID
	case p.nextHop == rawAddr(prefix.Addr()):
		p.kind, p.apiType = pathSpecial, fib_types.FIB_API_PATH_TYPE_DROP
	default:
		p.kind, p.table = pathRecursive, in.TableID
	}
	return p, ok
}

// encode translates a path for a dump.
func (p *fibPath) encode() fib_types.FibPath {
	out := fib_types.FibPath{
		SwIfIndex: p.out, TableID: p.table,
		Weight: p.weight, Preference: p.preference,
		Type: p.apiType, Proto: p.proto,
		NLabels: uint8(len(p.labels)),
	}
	if p.kind != pathSpecial {
		out.Nh.Address = ip_types.AddressUnion{XXX_UnionData: p.nextHop}
	}
	if p.kind == pathUDPEncap || p.kind == pathBIERImposition {
		out.Nh.ObjID = p.object
	}
	for at, label := range p.labels {
		out.LabelStack[at] = label
		out.LabelStack[at].IsUniform = 0
	}
	return out
}
