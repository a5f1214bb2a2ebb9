package fib

import (
	"bytes"
	"cmp"
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/ip_types"
)

// Kind is what VPP makes of the fields of a path, in the order of dumps.
type Kind uint8

// The kinds of paths.
const (
	KindAttachedNextHop Kind = iota
	KindAttached
	KindRecursive
	KindSpecial // drop and ICMP errors
	KindExclusive
	KindDeag // look up again in another table
	KindInterfaceRx
	KindUDPEncap
	KindReceive
	KindBIERImposition
	KindDVR
)

// Path is one path of a route.
type Path struct {
	kind       Kind
	apiType    fib_types.FibPathType
	proto      fib_types.FibPathNhProto
	weight     uint8
	preference uint8
	nextHop    [16]byte // IPv4 in the first four
	out        uint32   // sw_if_index, None without
	table      uint32   // ID of the table of a recursive path or a lookup
	object     uint32
	life       int // deletions of its interface before the path was made
	labels     []fib_types.FibMplsLabel
}

func (f Family) pathProto() fib_types.FibPathNhProto {
	if f == IP6 {
		return fib_types.FIB_API_PATH_NH_PROTO_IP6
	}
	return fib_types.FIB_API_PATH_NH_PROTO_IP4
}

// Drop is the path of packets that are dropped.
func Drop(f Family) Path {
	return Path{
		kind: KindSpecial, apiType: fib_types.FIB_API_PATH_TYPE_DROP,
		proto: f.pathProto(), weight: 1, out: None,
	}
}

// linkLocal is how the route of fe80::/10 looks in dumps: it leads to a lookup
// per interface that the API has no words for.
func linkLocal() Path {
	return Exclusive(IP6)
}

// Exclusive is the path of packets that a plugin forwards in a way for which the API has no words.
func Exclusive(f Family) Path {
	return Path{kind: KindExclusive, proto: f.pathProto(), weight: 1, out: None}
}

// Local receives packets for an address of an interface.
func Local(out uint32, addr netip.Addr) Path {
	p := ToNeighbor(out, addr)
	p.kind, p.apiType = KindReceive, fib_types.FIB_API_PATH_TYPE_LOCAL
	return p
}

// Glean is the path of a connected prefix.
func Glean(out uint32, f Family) Path {
	return Path{kind: KindAttached, proto: f.pathProto(), weight: 1, out: out}
}

// ToNeighbor leads to a neighbour.
func ToNeighbor(out uint32, nextHop netip.Addr) Path {
	return Path{
		kind: KindAttachedNextHop, proto: FamilyOf(nextHop).pathProto(), weight: 1,
		nextHop: rawAddr(nextHop), out: out,
	}
}

func rawAddr(a netip.Addr) [16]byte {
	var raw [16]byte
	copy(raw[:], a.AsSlice())
	return raw
}

// Family is the address family of the next hop.
func (p *Path) Family() Family {
	if p.proto == fib_types.FIB_API_PATH_NH_PROTO_IP6 {
		return IP6
	}
	return IP4
}

// hostPrefix is the next hop as a prefix.
func (p *Path) hostPrefix() netip.Prefix {
	if p.Family() == IP6 {
		return netip.PrefixFrom(netip.AddrFrom16(p.nextHop), 128)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte(p.nextHop[:4])), 32)
}

// identity compares what makes two paths the same; weight and preference do not.
func (p Path) identity(q Path) int {
	if c := cmp.Or(cmp.Compare(p.kind, q.kind), cmp.Compare(p.proto, q.proto)); c != 0 {
		return c
	}
	switch p.kind {
	case KindSpecial, KindReceive, KindExclusive:
		return 0
	case KindUDPEncap, KindBIERImposition:
		return cmp.Compare(p.object, q.object)
	}
	return cmp.Or(
		bytes.Compare(p.nextHop[:], q.nextHop[:]),
		cmp.Compare(p.out, q.out),
		cmp.Compare(p.table, q.table),
	)
}

// Same says whether two paths differ in weight and preference at most.
func (p Path) Same(q Path) bool { return p.identity(q) == 0 }

// Compare is the order of paths in an entry.
func (p Path) Compare(q Path) int {
	return cmp.Or(cmp.Compare(p.preference, q.preference), p.identity(q))
}

// Decode checks and translates a path of the API for a route to prefix; exists says
// whether a sw_if_index is in use. The error is VPP's retval, 0 for success.
func (f *Tables) Decode(in *fib_types.FibPath, prefix netip.Prefix, exists func(uint32) bool) (Path, api.VPPApiError) {
	p := Path{
		apiType: in.Type, proto: in.Proto, weight: max(1, in.Weight),
		preference: in.Preference, out: None,
	}
	if in.NLabels > 0 {
		p.labels = append(p.labels, in.LabelStack[:min(16, in.NLabels)]...)
	}
	switch in.Type {
	case fib_types.FIB_API_PATH_TYPE_NORMAL, fib_types.FIB_API_PATH_TYPE_SOURCE_LOOKUP:
		p.apiType = fib_types.FIB_API_PATH_TYPE_NORMAL
		return f.decodeNormal(p, in, prefix, exists)
	case fib_types.FIB_API_PATH_TYPE_LOCAL:
		p.kind, p.out = KindReceive, in.SwIfIndex
	case fib_types.FIB_API_PATH_TYPE_DROP:
		p.kind, p.out = KindSpecial, f.dropVia
		switch {
		case p.out == None:
		case prefix.IsSingleIP():
			p.kind, p.nextHop = KindAttachedNextHop, rawAddr(prefix.Addr())
		default:
			p.kind = KindAttached
		}
	case fib_types.FIB_API_PATH_TYPE_ICMP_UNREACH, fib_types.FIB_API_PATH_TYPE_ICMP_PROHIBIT:
		p.kind = KindSpecial
	case fib_types.FIB_API_PATH_TYPE_DVR:
		p.kind, p.out = KindDVR, in.SwIfIndex
	case fib_types.FIB_API_PATH_TYPE_INTERFACE_RX:
		p.kind, p.out = KindInterfaceRx, in.SwIfIndex
	case fib_types.FIB_API_PATH_TYPE_UDP_ENCAP:
		p.kind, p.object = KindUDPEncap, in.Nh.ObjID
	case fib_types.FIB_API_PATH_TYPE_BIER_IMP:
		p.kind, p.object = KindBIERImposition, in.Nh.ObjID
	case fib_types.FIB_API_PATH_TYPE_CLASSIFY:
		return p, api.NO_SUCH_TABLE
	default:
		p.kind = KindSpecial
	}
	return p, 0
}

// decodeNormal finds out which of the four kinds a normal path is: to a
// neighbour, onto a link, through another route, or through another table.
func (f *Tables) decodeNormal(p Path, in *fib_types.FibPath, prefix netip.Prefix, exists func(uint32) bool) (Path, api.VPPApiError) {
	if in.Proto > fib_types.FIB_API_PATH_NH_PROTO_IP6 {
		return p, api.UNSPECIFIED
	}
	p.out, p.nextHop = in.SwIfIndex, in.Nh.Address.XXX_UnionData
	if p.Family() == IP4 {
		clear(p.nextHop[4:])
	}
	hasNextHop := p.nextHop != [16]byte{}
	switch {
	case p.out != None && !exists(p.out):
		return p, api.NO_MATCHING_INTERFACE
	case p.out != None && hasNextHop:
		p.kind = KindAttachedNextHop
	case p.out != None && prefix.IsSingleIP():
		p.kind, p.nextHop = KindAttachedNextHop, rawAddr(prefix.Addr())
	case p.out != None:
		p.kind = KindAttached
	case f.Table(p.Family(), in.TableID) == nil:
		return p, api.NO_SUCH_FIB
	case !hasNextHop:
		p.kind, p.table = KindDeag, in.TableID
	case p.nextHop == rawAddr(prefix.Addr()):
		p.kind, p.apiType = KindSpecial, fib_types.FIB_API_PATH_TYPE_DROP
	default:
		p.kind, p.table = KindRecursive, in.TableID
	}
	return p, 0
}

// Encode translates a path for a dump.
func (p *Path) Encode() fib_types.FibPath {
	out := fib_types.FibPath{
		SwIfIndex: p.out, TableID: p.table,
		Weight: p.weight, Preference: p.preference,
		Type: p.apiType, Proto: p.proto,
		NLabels: uint8(len(p.labels)),
	}
	if p.kind != KindSpecial {
		out.Nh.Address = ip_types.AddressUnion{XXX_UnionData: p.nextHop}
	}
	if p.kind == KindUDPEncap || p.kind == KindBIERImposition {
		out.Nh.ObjID = p.object
	}
	for at, label := range p.labels {
		out.LabelStack[at] = label
		out.LabelStack[at].IsUniform = 0
	}
	return out
}
